"""Stores what a model keeps of the rows it has read: settings, sample, and the model of the last solve."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from viewpass.kernels.grid import Array
from viewpass.sample.sample import Sample, Size, view_bytes
from viewpass.solve.plan import SHAPES, Plan
from viewpass.store.container.fields import Fields, Rule
from viewpass.store.container.values import from_plain, to_plain
from viewpass.store.state.model import (
    pack_model,
    pack_schema,
    unpack_model,
    unpack_schema,
    view_weights,
    weight_unit,
)
from viewpass.store.state.rows import pack_chunk, unpack_chunk
from viewpass.store.state.stream import (
    check_bucket,
    pack_horizon,
    pack_identities,
    unpack_horizon,
    unpack_identities,
    unpack_receipt,
)
from viewpass.streams.horizon import Bucket, Buckets
from viewpass.streams.identities import Identities
from viewpass.sums.rules import Rules, Workspace, left_out
from viewpass.tally.learning import ALL_ROWS, Learning, Segment, whole_segment
from viewpass.views.chunk import Chunk, Schema
from viewpass.views.gaps import GAP_RULES
from viewpass.views.projection import LEAST_COLUMNS, MOST_COLUMNS
from viewpass.views.scaling import SCALE_NAMES

MOST_SOLVE_UPDATES, MOST_SEED = 1000, 2**63  # a plan has 20 updates; seeds are drawn below 2^63
FARTHEST = 2**62  # time, in microseconds
ROW_KEYS, ROW_NUMBERS = Rule(np.int64, "n"), Rule(np.int64, "n", 0)
SEGMENTS = {name: Rule(np.int64, "n", 0) for name in ("segment_starts", "segment_sizes")}
SEGMENTS |= {name: Rule(np.int64, "n", -1) for name in ("segment_numbers", "segment_ids")}


def pack_learning(learning: Learning, arrays: dict[str, Array], *, rows: bool = True) -> dict[str, Any]:
    """Convert all that a model goes on from; `rows`: with the sample."""
    schema, model, solved_at = learning.schema, learning.solved or learning.early, learning.solved_at
    identities = learning.identities
    if not rows and (learning.solved is None or learning.horizon.changing):
        shown, identities, _ = learning.shown(Workspace(1))
        model, solved_at = replace(shown, calibration=None), learning.n_rows
    return {
        "plan": pack_plan(learning.plan),
        "seed": learning.seed,
        "n_rows": learning.n_rows,
        "solved_at": solved_at,
        "schema": None if schema is None else pack_schema(schema, arrays),
        "sample": pack_sample(learning.buckets.open, arrays, rows=rows),
        "model": None if model is None else pack_model(model, arrays),
        **_pack_stream(learning, identities, arrays, rows=rows),
    }


def _pack_stream(
    learning: Learning, identities: Identities, arrays: dict[str, Array], *, rows: bool
) -> dict[str, Any]:
    """What a stream has besides; nothing where clusters are numbered as the first ones were."""
    if not learning.horizon.changing and identities.plain and not learning.receipts:
        return {}
    buckets = []
    for number, bucket in enumerate(learning.buckets.closed if rows else ()):
        sample = pack_sample(bucket.sample, arrays, name=f"bucket{number}")
        buckets.append({"start": bucket.start, "stop": bucket.stop, "ends": bucket.ends, "sample": sample})
    return {
        "horizon": pack_horizon(learning.horizon),
        "time": learning.time,
        "identities": pack_identities(identities, arrays, rows=rows),
        "buckets": buckets,
        "bucket_start": learning.buckets.start if rows else 0,
        "receipts": [list(receipt) for receipt in learning.receipts],
    }


def _unpack_buckets(
    stored: Fields, open_bucket: Sample, plan: Plan, schema: Schema | None, n_rows: int
) -> Buckets:
    """Restore the buckets of a stream, which follow each other."""
    closed, row = [], None
    for number, each in enumerate(stored.list("buckets", dict)):
        part = Fields(each, stored.arrays)
        start, stop = part.number("start", most=n_rows), part.number("stop", most=n_rows)
        half_life = open_bucket.size.half_life
        sample = unpack_sample(part.part("sample"), schema, plan, name=f"bucket{number}", half_life=half_life)
        stored.need(sample.size == open_bucket.size and row in (None, start), "buckets")
        check_bucket(stored, start, stop, sample)
        closed.append(Bucket(start, stop, sample, part.number("ends", least=-FARTHEST, most=FARTHEST)))
        row = stop
    start = stored.number("bucket_start", most=n_rows)
    stored.need(row in (None, start), "bucket_start")
    if open_bucket.n_rows:
        check_bucket(stored, start, n_rows, open_bucket)
    return Buckets(open_bucket, closed, start)


def unpack_learning(stored: Fields) -> Learning:
    """Restore it after checking every part."""
    plan = unpack_plan(stored.part("plan"))
    schema = stored.maybe("schema", unpack_schema)
    horizon = unpack_horizon(stored.part("horizon")) if "horizon" in stored.values else ALL_ROWS
    sample = unpack_sample(stored.part("sample"), schema, plan, half_life=horizon.half_life)
    found = Learning(plan, stored.number("seed", most=MOST_SEED), sample, horizon)
    found.schema, found.n_rows, found.solved_at = schema, stored.number("n_rows"), stored.number("solved_at")
    if "horizon" in stored.values:
        found.buckets = _unpack_buckets(stored, sample, plan, schema, found.n_rows)
        sample = found.sample
        found.time = (
            None if stored.get("time") is None else stored.number("time", least=-FARTHEST, most=FARTHEST)
        )
        stored.need(horizon.duration is None or found.time is not None or not found.n_rows, "time")
        found.receipts = tuple(unpack_receipt(stored, each) for each in stored.list("receipts", list))
    check_sample(stored, plan, schema, sample, found.n_rows)
    if stored.get("model") is not None:
        assert isinstance(plan.rules.alpha, float)
        model = unpack_model(stored.part("model"))
        early = model.labelled is None  # its rows are all in the sample, and there are more
        stored.need(not early or sample.n_rows == found.n_rows, "model")
        stored.need(model.schema == schema and model.weight_unit == plan.weight_unit, "model")
        least = 1 if horizon.changing or early else found.n_rows
        stored.need(least <= model.n_rows <= found.n_rows, "n_rows")
        stored.need(0 < found.solved_at <= found.n_rows, "solved_at")
        stored.need(plan.n_clusters in (None, model.n_clusters), "n_clusters")
        found.solved, found.early = (None, model) if early else (model, None)
        found.identities = Identities.first(model.n_clusters)
        if "identities" in stored.values:
            found.identities = unpack_identities(stored.part("identities"), model.n_clusters, schema)
        found.segments = () if early else whole_segment(model, found.identities.ids)
    else:
        stored.need(found.solved_at == 0 and sample.n_rows == found.n_rows, "solved_at")
    if found.solved is None:
        stored.need(len(np.unique(sample.numbers)) == found.n_rows, "sample.numbers")
    return found


def check_sample(stored: Fields, plan: Plan, schema: Schema | None, sample: Sample, n_rows: int) -> None:
    """Refuse settings of other views, and rows that were not among those read."""
    names = () if schema is None else schema.names
    stored.need(schema is None or len(plan.scale) == len(names), "scale")
    stored.need(schema is None or plan.weights is None or len(plan.weights) == len(names), "view_weights")
    stored.need(sample.n_rows <= n_rows and int(sample.numbers.max(initial=-1)) < n_rows, "n_rows")
    stored.need(plan.weight_unit == 1 or sample.chunk is None or sample.chunk.copies is not None, "copies")
    if schema is not None and sample.chunk is not None:
        stored.need(schema.merged(sample.chunk.schema).widths == schema.widths, "widths")


def pack_segments(segments: tuple[Segment, ...], arrays: dict[str, Array]) -> None:
    """Convert what clusters are called now whose numbers rows got when they were read."""
    arrays["segment_starts"] = np.array([segment.start for segment in segments], dtype=np.int64)
    arrays["segment_sizes"] = np.array([len(segment.numbers) for segment in segments], dtype=np.int64)
    numbers = [number for segment in segments for number in segment.numbers.tolist()]
    arrays["segment_numbers"] = np.array(numbers, dtype=np.int64)
    ids = [id for segment in segments for id in segment.ids.tolist()]
    arrays["segment_ids"] = np.array(ids, dtype=np.int64)


def unpack_segments(stored: Fields, learning: Learning) -> tuple[Segment, ...]:
    """Restore it: the rows of the present model come last, under its own numbers."""
    n_clusters = 0 if learning.solved is None else learning.solved.n_clusters
    starts = stored.array_of("segment_starts", SEGMENTS, n=None)
    sizes = stored.array_of("segment_sizes", SEGMENTS, n=len(starts))
    numbers = stored.array_of("segment_numbers", SEGMENTS, n=None)
    stored.need(bool((sizes <= len(numbers)).all()) and int(sizes.sum()) == len(numbers), "segment_sizes")
    sound = starts[:1].tolist() == [0] * bool(n_clusters) and bool((np.diff(starts) > 0).all())
    stored.need(sound and int(starts.max(initial=0)) <= learning.n_rows, "segment_starts")
    ids = stored.array_of("segment_ids", SEGMENTS, n=len(numbers))
    stored.need(bool((ids < max(learning.identities.next_id, 1)).all()), "segment_ids")
    ends = sizes.cumsum()[:-1]
    parts = np.split(numbers.astype(np.int32), ends) if len(starts) else []
    stored.need(bool((numbers < n_clusters).all()), "segment_numbers")
    stored.need(not parts or parts[-1].tolist() == list(range(n_clusters)), "segment_numbers")
    return tuple(map(Segment, starts.tolist(), parts, np.split(ids, ends)))


def pack_sample(
    sample: Sample, arrays: dict[str, Array], *, rows: bool = True, name: str = "sample"
) -> dict[str, Any]:
    """Convert the rows of a sample."""
    chunk = None
    if rows and sample.chunk is not None:
        arrays[f"{name}.keys"], arrays[f"{name}.numbers"] = sample.keys.view(np.int64), sample.numbers
        chunk = pack_chunk(_plainest(sample.chunk), name, arrays)
    return {
        "rows": sample.size.rows,
        "n_clusters": sample.size.n_clusters,
        "widths": list(sample.widths),
        "chunk": chunk,
    }


def _plainest(chunk: Chunk) -> Chunk:
    """The same rows without masks that mark none of them: rows that have left may have needed those."""
    observed = None if chunk.observed is None or chunk.observed.all() else chunk.observed
    lacking = chunk.odd.lacking
    lacking = None if lacking is None or not lacking.any() else lacking
    gaps = tuple(None if mask is None or not mask.any() else mask for mask in chunk.gaps)
    if lacking is None and all(mask is None for mask in gaps):
        gaps = ()
    return replace(chunk, observed=observed, gaps=gaps, odd=replace(chunk.odd, lacking=lacking))


def unpack_sample(
    stored: Fields, schema: Schema | None, plan: Plan, *, name: str = "sample", half_life: int | None = None
) -> Sample:
    """Restore a sample; without rows where the file has none."""
    rows, n_clusters = (stored.number_or_none(what, least=1) for what in ("rows", "n_clusters"))
    size = Size(rows, n_clusters, left_out(plan.weights), half_life)
    widths = tuple(stored.list("widths", int))
    stored.need(all(0 <= width < 2**40 for width in widths), "widths")
    if stored.get("chunk") is None:
        return Sample(size, widths=widths)
    part = stored.part("chunk")
    chunk = unpack_chunk(part, name, schema)
    keys = stored.array(f"{name}.keys", ROW_KEYS, n=chunk.n_rows).view(np.uint64)
    numbers = stored.array(f"{name}.numbers", ROW_NUMBERS, n=chunk.n_rows)
    stored.need(bool((keys[1:] >= keys[:-1]).all()), f"{name}.keys")
    own = view_bytes(chunk)
    stored.need(len(widths) == len(own) and all(map(int.__ge__, widths, own)), "widths")
    stored.need(chunk.n_rows <= size.of(sum(widths)), "sample")
    return Sample(size, chunk, keys, numbers, widths)


def pack_plan(plan: Plan) -> dict[str, Any]:
    """Convert the settings of a solve."""
    return {
        "n_clusters": plan.n_clusters,
        "n_anchors": plan.n_anchors,
        "consensus": plan.consensus,
        "alpha": plan.rules.alpha,
        "auto_alpha": plan.auto_alpha,
        "robust": plan.robust,
        "max_iter": int(plan.rules.max_iter),
        "tol": to_plain(float(plan.rules.tol), "tol", {}),
        "scale": list(plan.scale),
        "view_weights": None if plan.weights is None else list(plan.weights),
        "weight_unit": plan.weight_unit,
        "missing_entries": plan.missing_entries,
        "projection": plan.projection,
    }


def unpack_plan(stored: Fields) -> Plan:
    """Restore the settings of a solve."""
    tol = from_plain(stored.get("tol"), stored.arrays)
    stored.need(isinstance(tol, float) and tol >= 0, "tol")
    n_clusters, n_anchors = (stored.number_or_none(name, least=1) for name in ("n_clusters", "n_anchors"))
    consensus, gaps = stored.text("consensus"), stored.text("missing_entries")
    stored.need(consensus in SHAPES, "consensus")
    stored.need(gaps in GAP_RULES, "missing_entries")
    scale = tuple(stored.list("scale", str))
    stored.need(all(name in SCALE_NAMES for name in scale), "scale")
    projection = stored.get("projection")
    if projection not in (None, "auto"):
        projection = stored.number("projection", least=LEAST_COLUMNS, most=MOST_COLUMNS)
    max_iter = stored.number("max_iter", least=1, most=MOST_SOLVE_UPDATES)
    return Plan(
        n_clusters,
        Rules(stored.decimal("alpha"), max_iter, tol, "mean"),
        scale=scale,
        n_anchors=n_anchors,
        consensus=consensus,
        weights=view_weights(stored, None),
        weight_unit=weight_unit(stored),
        missing_entries=gaps,
        auto_alpha=stored.truth("auto_alpha"),
        robust=stored.truth("robust"),
        projection=projection,
    )
