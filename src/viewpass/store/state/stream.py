"""Stores a stream: plan, generator, model, warm-up rows; read by `vp.load` (OPIMC) and resumed runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from viewpass.core.model import StreamState
from viewpass.core.plan import Plan, Rules
from viewpass.core.step.workspace import Workspace
from viewpass.core.stream import Stream
from viewpass.errors import DataError, FileError
from viewpass.kernels.grid import Array
from viewpass.store.container.fields import MOST_STARTS, MOST_UPDATES, Fields
from viewpass.store.container.generators import generator_from, generator_state
from viewpass.store.container.values import from_plain, to_plain
from viewpass.store.state.model import (
    CONSENSUS,
    pack_model,
    pack_schema,
    unpack_model,
    unpack_schema,
    view_weights,
    weight_unit,
)
from viewpass.store.state.reservoir import pack_reservoir, unpack_reservoir
from viewpass.store.state.row_counts import pack_counts, unpack_counts
from viewpass.store.state.rows import pack_chunk, unpack_chunk
from viewpass.views.chunk import Chunk, Schema
from viewpass.views.gaps import CHOICES
from viewpass.views.projection import LEAST_COLUMNS, MOST_COLUMNS
from viewpass.views.rows import MeasuredRows
from viewpass.views.scaling import NAMES

FREE_NUMBERS, NUMBERS_PER_BYTE = 2**20, 4  # of first centres: in any case, and per byte of rows that are held
FREE_ANCHORS = 200  # beyond the rows: cutting their graph takes the cube of their number
SEED_SETS = 20  # numbers per centre that seeding takes besides
INITS = ("auto", "k-means++", "random")
FILLS = ("mean", "zero-filled-mean", None)


def pack_stream(stream: Stream, arrays: dict[str, Array]) -> dict[str, Any]:
    """Convert everything a stream needs to continue; arrays are added to `arrays`."""
    at, plan = stream.state, stream.plan
    init = "random" if stream.started else plan.init  # it is not needed after the start
    return {
        "plan": {
            "n_clusters": plan.n_clusters,
            "n_anchors": plan.n_anchors,
            "consensus": plan.consensus,
            "alpha": plan.rules.alpha,
            "max_iter": int(plan.rules.max_iter),
            "tol": to_plain(float(plan.rules.tol), "tol", arrays),
            "fill": plan.rules.fill,
            "init": to_plain(init, "init of the stream", arrays),
            "warmup": int(plan.warmup),
            "scale": list(plan.scale),
            "view_weights": list(plan.weights) if isinstance(plan.weights, tuple) else plan.weights,
            "reservoir": plan.reservoir,
            "n_init": plan.n_init,
            **({} if plan.weight_unit == 1 else {"weight_unit": plan.weight_unit}),
            **({"auto_alpha": True} if plan.auto_alpha else {}),
            **({"adaptive": True} if plan.adaptive else {}),
            **({} if plan.projection is None else {"projection": plan.projection}),
            **({"spares": True} if plan.spares else {}),
            **({} if plan.missing_entries == "refuse" else {"missing_entries": plan.missing_entries}),
        },
        "random": generator_state(stream.rng),
        "schema": None if at.schema is None else pack_schema(at.schema, arrays),
        "model": None if at.model is None else pack_model(at.model, arrays),
        "gathered": [pack_chunk(chunk, f"gathered.{c}", arrays) for c, chunk in enumerate(at.gathered)],
        "reservoir": pack_reservoir(at.reservoir, arrays),
        **pack_counts(at.read if at.model is None else replace(at.read, n_all_zero=(), n_gaps=())),
    }


def check_start(stream: Stream) -> None:
    """Refuse a stream whose first centres would be far larger than the rows it holds to make them from."""
    if stream.started:
        return
    plan, held = stream.plan, stream.gathered
    n_rows = sum(chunk.n_rows for chunk in held)
    n_bytes = sum(view.data.nbytes for chunk in held for view in chunk.views if view is not None)
    n_centres = max(plan.n_clusters or 1, min(plan.n_anchors or 0, n_rows))
    n_columns = sum(width or 0 for width in stream.schema.widths)
    too_large = n_centres * (n_columns + SEED_SETS) > FREE_NUMBERS + NUMBERS_PER_BYTE * n_bytes
    if too_large or (plan.consensus != "plain" and n_centres > n_rows + FREE_ANCHORS):
        raise FileError(
            f"the model has no centres yet, and {n_rows:,} rows are too few for {n_centres:,} clusters of "
            f"{n_columns:,} columns. Fit it to more rows before it is saved."
        )


def unpack_stream(stored: Fields, workspace: Workspace) -> Stream:
    """Restore a stream after checking every part."""
    plan = _plan(stored.part("plan"))
    assert isinstance(plan.rules.alpha, float)
    rng = generator_from(stored.get("random"))
    stored.need(isinstance(rng, np.random.Generator), "random")
    assert isinstance(rng, np.random.Generator)
    stream = Stream(plan, rng, workspace)
    schema = None if stored.get("schema") is None else unpack_schema(stored.part("schema"))
    model = None if stored.get("model") is None else unpack_model(stored.part("model"), plan.rules.alpha)
    read = unpack_counts(stored, schema)
    stored.need(schema is None or len(plan.scale) in (0, len(schema.names)), "scale")
    if schema is not None and isinstance(plan.weights, tuple):
        stored.need(len(plan.weights) == len(schema.names), "view_weights")
    gathered = [
        unpack_chunk(Fields(entry, stored.arrays), f"gathered.{c}", schema)
        for c, entry in enumerate(stored.list("gathered", dict))
    ]
    shown = schema
    for chunk in gathered:  # each fits the schema: do they fit each other?
        shown = chunk.schema if shown is None else _merged(shown, chunk.schema)
    stored.need(shown == schema, "widths")
    if model is not None:
        mine = model.read  # which knows all of them
        fits = (mine.n_rows, mine.n_without_views, model.schema) == (
            read.n_rows,
            read.n_without_views,
            schema,
        )
        stored.need(fits and not gathered, "model")
        same = (mine.n_copies, model.weight_unit) == (read.n_copies, plan.weight_unit)
        stored.need(same, "weight_unit")
        spare = plan.spares and model.consensus == "merge"
        stored.need(plan.consensus in ("auto", model.consensus) or spare, "consensus")
        growing = plan.spares or (plan.adaptive and model.consensus != "plain")
        was_cut = model.consensus == "merge" and not plan.spares  # centres alone, cut into fewer
        stored.need((model.growth is not None) == growing or (model.growth is None and was_cut), "growth")
        stored.need(plan.n_clusters in (None, model.n_clusters), "n_clusters")
    else:
        stored.need(read.n_seen == 0, "n_rows")  # warm-up rows are counted when they are labelled
    sound = plan.weight_unit == 1 or all(chunk.copies is not None for chunk in gathered)
    stored.need(sound, "weight_unit")
    n_gathered = sum(_n_seen(chunk, plan) for chunk in gathered)
    reservoir = unpack_reservoir(stored, schema, plan.reservoir, model)
    read = read if model is None else model.read
    stream.state = StreamState(schema, model, gathered, n_gathered, read, reservoir)
    return stream


def _merged(one: Schema, other: Schema) -> Schema:
    try:
        return one.merged(other)
    except DataError as problem:
        raise FileError(f"the rows it holds do not fit each other ({problem}).") from problem


def _plan(stored: Fields) -> Plan:
    tol = from_plain(stored.get("tol"), stored.arrays)
    stored.need(isinstance(tol, float) and tol >= 0, "tol")
    fill = stored.get("fill")
    stored.need(fill in FILLS, "fill")
    n_clusters, n_anchors = _number(stored, "n_clusters"), None
    consensus = "plain"
    if "consensus" in stored.values:  # version 1 has no anchors
        consensus, n_anchors = stored.text("consensus"), _number(stored, "n_anchors")
    stored.need(consensus in ("auto", *CONSENSUS), "consensus")
    init = from_plain(stored.get("init"), stored.arrays)
    stored.need(_sound_init(init, n_clusters), "init")
    rules = Rules(stored.decimal("alpha"), stored.number("max_iter", least=1, most=MOST_UPDATES), tol, fill)
    scale = tuple(stored.list("scale", str) if "scale" in stored.values else [])  # version 1 has none
    stored.need(all(name in NAMES for name in scale), "scale")
    missing_entries = stored.text("missing_entries") if "missing_entries" in stored.values else "refuse"
    stored.need(missing_entries in CHOICES, "missing_entries")
    weights = "auto" if stored.values.get("view_weights") == "auto" else view_weights(stored, None)
    return Plan(
        *(n_clusters, rules, init, stored.number("warmup")),
        scale=scale,
        n_anchors=n_anchors,
        consensus=consensus,
        weights=weights,
        reservoir=stored.number("reservoir") if "reservoir" in stored.values else 0,
        n_init=stored.number("n_init", least=1, most=MOST_STARTS) if "n_init" in stored.values else 1,
        weight_unit=weight_unit(stored),
        missing_entries=missing_entries,
        auto_alpha="auto_alpha" in stored.values and stored.truth("auto_alpha"),
        adaptive="adaptive" in stored.values and stored.truth("adaptive"),
        projection=_columns(stored),
        spares="spares" in stored.values and stored.truth("spares"),
    )


def _columns(stored: Fields) -> int | str | None:
    """Columns that views are mapped to; older files do not have it."""
    if stored.values.get("projection") in (None, "auto"):
        return "auto" if "projection" in stored.values else None
    return stored.number("projection", least=LEAST_COLUMNS, most=MOST_COLUMNS)


def _number(stored: Fields, name: str) -> int | None:
    return None if stored.get(name) is None else stored.number(name, least=1)


def _sound_init(init: Any, n_clusters: int | None) -> bool:
    """Check `init`: a name, labels or memberships of the first rows, or centres of each view."""
    if isinstance(init, str):
        return init in INITS
    if isinstance(init, list):
        sound = all(isinstance(part, np.ndarray) and part.dtype == np.float64 for part in init)
        return sound and all(part.ndim == 2 and len(part) == n_clusters for part in init)
    if not isinstance(init, np.ndarray) or not np.isfinite(init).all():
        return False
    if init.ndim == 1:
        most = n_clusters or 0
        return init.dtype == np.int64 and bool((init >= 0).all() and (init < most).all())
    return init.ndim == 2 and init.shape[1] == n_clusters and bool((init >= 0).all())


def _n_seen(chunk: Chunk, plan: Plan) -> int:
    weights = None if isinstance(plan.weights, str) else plan.weights
    rows = MeasuredRows(chunk, weights=weights).measure()
    return int(rows.counted.sum())
