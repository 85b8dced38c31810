"""Stores a model: schema, statistics, centres, scaling, anchor graph; read by `vp.load`.

Centres, sums and counts are stored exactly: a restored model gives the same labels, and learning more
rows gives the same bits as if it had never been stored.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from viewpass.errors import FileError
from viewpass.graph.soft_assignment import MAX_ROWS, sparse_links
from viewpass.kernels.grid import (
    FEWEST_GROUPED,
    GRID,
    MANY_NEIGHBOURS,
    MOST_ROWS,
    SQUARE_STEP,
    UNIT,
    WEIGHT_UNIT,
    Array,
    Floats,
    Labels,
    Links,
)
from viewpass.model.choice import Choice, Curve
from viewpass.model.model import ANCHORED, Model
from viewpass.store.container.fields import MOST_DECIMAL, Fields, Rule, store_each, store_within
from viewpass.store.container.values import from_plain, to_plain
from viewpass.store.state.rows import pack_census, pack_counts, unpack_census, unpack_counts
from viewpass.sums.centres import Centres
from viewpass.sums.rules import Weights
from viewpass.sums.statistics import Statistics
from viewpass.views.chunk import Schema
from viewpass.views.gaps import MOST_SPREADS, Completion, Prototypes
from viewpass.views.projection import LEAST_COLUMNS, MOST_COLUMNS, Projection, ViewMap
from viewpass.views.rows import Kept, Lengthy
from viewpass.views.scaling import LEARNT, Scale, Scaling

CONSENSUS = ("plain", "neighbours", *ANCHORED)
MOST_LENGTH = 2.0**40  # of rows that keep theirs
ROUNDED = 1.0 + 1e-6  # the square of a row that was shortened to length 1, at most
MOST_ON_CURVE = 2**20  # on a curve of scores
MOST_TEXT = 1000  # characters of a reason or name of a choice
FARTHEST = 1e30  # of centres, means and factors: their products stay finite, as float32, too
ARRAYS = {  # K clusters (or anchors), d columns
    "sums": Rule(np.int64, "K d"),
    "counts": Rule(np.int64, "K", 0, MOST_ROWS),
    "known": Rule(np.bool_, "K"),
    "centres": Rule(np.float64, "K d", -FARTHEST, FARTHEST),
    "weights": Rule(np.float64, "d", np.nextafter(0.0, 1.0)),
    "mean": Rule(np.float64, "d"),
    "fill": Rule(np.float64, "d"),
    "gap_mean": Rule(np.float64, "d"),
    "gap_spread": Rule(np.float64, "d", np.nextafter(0.0, 1.0)),
    "prototypes": Rule(np.float64, "p d", -MOST_SPREADS, MOST_SPREADS),
    "column_sums": Rule(np.int64, "K d"),
    "directions": Rule(np.float64, "m d", -1.0, 1.0),
    "map_mean": Rule(np.float64, "d", -1.0, 1.0),
    "links": Rule(np.int64, "K K", 0),  # of few anchors
    "link_counts": Rule(np.int64, "K", 0),
    "link_columns": Rule(np.int64, "n", 0),
    "link_values": Rule(np.int64, "n", 1),
    "numbers": Rule(np.int64, "n", 1, MOST_ON_CURVE),
    "values": Rule(np.float64, "n"),
    "errors": Rule(np.float64, "n", 0),
    "loss_curve": Rule(np.float64, "*"),
}


def pack_schema(schema: Schema, arrays: dict[str, Array]) -> dict[str, Any]:
    """Convert the names, widths and columns of the views to JSON."""
    columns = [
        to_plain(schema.columns_of(name), f"the column names of view {name!r}", arrays)
        for name in schema.names
    ]
    return {"names": list(schema.names), "widths": list(schema.widths), "columns": columns}


def unpack_schema(stored: Fields) -> Schema:
    """Restore a schema."""
    names, widths = stored.list("names", str), stored.list("widths", int, None)
    columns = tuple(from_plain(value, stored.arrays) for value in stored.list("columns"))
    stored.need(len(names) == len(widths) == len(columns) and len(set(names)) == len(names) > 0, "names")
    stored.need(all(width is None or width > 0 for width in widths), "widths")
    for width, given in zip(widths, columns, strict=True):
        sound = given is None or (isinstance(given, tuple) and len(given) == width)
        stored.need(sound, "columns")
    known = columns if any(given is not None for given in columns) else ()
    return Schema(tuple(names), tuple(widths), known)


def pack_model(model: Model, arrays: dict[str, Array]) -> dict[str, Any]:
    """Convert a model to JSON; its arrays are added to `arrays`."""
    scaling, centres, links = model.scaling, model.centres, model.links
    for v, (values, known) in enumerate(zip(centres.values, centres.known, strict=True)):
        arrays[f"known.{v}"] = known
        if values is not None:
            arrays[f"centres.{v}"] = np.asarray(values)
    store_each(arrays, scaling.views, weights="weights", mean="mean", fill="fill")
    completion = () if scaling.completion is None else scaling.completion.views
    store_each(arrays, completion, gap_mean="mean", gap_spread="spread", prototypes="values")
    projection = () if scaling.projection is None else scaling.projection.views
    store_each(arrays, projection, directions="directions", map_mean="mean")
    if links is not None and links.shape[0] < FEWEST_GROUPED:
        arrays["links"] = links.toarray()
    elif links is not None:
        arrays["link_counts"] = np.diff(links.indptr).astype(np.int64)
        arrays["link_columns"] = links.indices.astype(np.int64)
        arrays["link_values"] = links.data
    if model.curve is not None:
        for name in Curve._fields:
            arrays[name] = getattr(model.curve, name)
    arrays["loss_curve"] = np.array(model.loss_curve, dtype=np.float64)
    labelled = None
    if model.labelled is not None:
        own: dict[str, Array] = {}
        labelled = _pack_sums(model.labelled, own)
        store_within(arrays, "labelled", own)
    return {
        "schema": pack_schema(model.schema, arrays),
        "n_clusters": model.total.n_clusters,
        "consensus": model.consensus,
        "asked": model.n_clusters,
        "curve": model.curve is not None,
        "choices": [_pack_choice(choice) for choice in model.choices],
        "alpha": list(model.alpha),
        "centred": [values is not None for values in centres.values],
        "scales": list(scaling.names),
        "parameters": [0.0 if scale is None else scale.parameter for scale in scaling.views],
        "kinds_chosen": list(scaling.chosen),
        "longest": scaling.longest,
        "view_weights": None if model.weights is None else list(model.weights),
        "weight_unit": model.weight_unit,
        "n_iter": model.n_iter,
        "numbers": None if model.numbers is None else model.numbers.tolist(),
        "census": pack_census(model.census, arrays),
        "labelled": labelled,
        **_pack_sums(model.widened(model.schema), arrays),
        **pack_counts(model.read),
    }


def _pack_sums(total: Statistics, arrays: dict[str, Array]) -> dict[str, Any]:
    """Sums and counts, those in the columns that mapped views had before, and sums of squared lengths."""
    for v in range(len(total.counts)):
        arrays[f"sums.{v}"], arrays[f"counts.{v}"] = total.steps[v], total.counts[v]
        if total.unmapped is not None and total.unmapped.widths[v]:
            arrays[f"column_sums.{v}"] = total.unmapped.steps[v]
    return {"kept": [None if own is None else list(own) for own in total.kept]}


def _sums(
    stored: Fields, schema: Schema, scaling: Scaling, n_clusters: int, n_rows: int, centred: list[bool]
) -> Statistics:
    """The sums restored; no row is longer than 1, so they are bounded by their counts."""
    sums, counts = list[Array](), list[Array]()
    for v, (name, width) in enumerate(zip(schema.names, scaling.widths(schema.widths), strict=True)):
        any_width = None if centred[v] else 0  # `init` may give centres of a view that no row has had
        sums.append(stored.array_of(f"sums.{v}", ARRAYS, K=n_clusters, d=width or any_width))
        counts.append(stored.array_of(f"counts.{v}", ARRAYS, K=n_clusters))
        _check_sums(sums[v], counts[v], n_rows, name)
    made = Statistics(n_clusters, [steps.shape[1] for steps in sums])
    for v, steps in enumerate(sums):
        made.steps[v][:], made.counts[v][:] = steps, counts[v]
    if scaling.projection is not None:
        views = zip(scaling.projection.views, schema.widths, strict=True)
        made.unmapped = own = Statistics(
            n_clusters, [0 if map_ is None else width or 0 for map_, width in views]
        )
        for v, (name, width) in enumerate(zip(schema.names, own.widths, strict=True)):
            if width:
                own.steps[v][:] = stored.array_of(f"column_sums.{v}", ARRAYS, K=n_clusters, d=width)
                own.counts[v][:] = made.counts[v]
                _check_sums(own.steps[v], own.counts[v], n_rows, name)
    made.kept = _kept(stored, scaling, made, n_rows)
    return made


def _numbers(stored: Fields, asked: int) -> Labels | None:
    """The numbers of the clusters that anchors form."""
    if stored.get("numbers") is None:
        return None
    numbers = stored.list("numbers", int)
    stored.need(sorted(numbers) == list(range(asked)), "numbers")
    return np.array(numbers, dtype=np.int32)


def _completion(stored: Fields, schema: Schema) -> Completion | None:
    """What fills values that rows lack by those of similar rows, restored."""
    n_prototypes, found = None, list[Prototypes | None]()
    for v, width in enumerate(schema.widths):
        if f"prototypes.{v}" not in stored.arrays:
            found.append(None)
            continue
        stored.need(width is not None, "widths")
        values = stored.array_of(f"prototypes.{v}", ARRAYS, p=n_prototypes, d=width)
        n_prototypes = len(values)
        stored.need(n_prototypes > 0, "prototypes")
        mean = stored.array_of(f"gap_mean.{v}", ARRAYS, d=width)
        found.append(Prototypes(mean, stored.array_of(f"gap_spread.{v}", ARRAYS, d=width), values))
    return None if n_prototypes is None else Completion(tuple(found))


def _projection(stored: Fields, schema: Schema) -> Projection | None:
    """The map of views to fewer columns, restored."""
    found = list[ViewMap | None]()
    for v, width in enumerate(schema.widths):
        if f"directions.{v}" not in stored.arrays:
            found.append(None)
            continue
        stored.need(width is not None, "widths")
        directions = stored.array_of(f"directions.{v}", ARRAYS, m=None, d=width)
        stored.need(LEAST_COLUMNS <= len(directions) <= MOST_COLUMNS, "directions")
        found.append(ViewMap(directions, stored.array_of(f"map_mean.{v}", ARRAYS, d=width)))
    return Projection(tuple(found)) if any(found) else None


def _kept(stored: Fields, scaling: Scaling, total: Statistics, n_rows: int) -> Kept:
    """Restore the sums of squared lengths, which no row makes larger than its count."""
    kept, found = stored.list("kept", list, None), list[Lengthy | None]()
    if scaling.lengths is None:
        stored.need(not kept, "kept")
        return ()
    if not kept:
        stored.need(not total.flat_counts.any(), "kept")
        return ()
    stored.need([own is not None for own in kept] == list(scaling.lengths.kept), "kept")
    for own, n_present in zip(kept, total.n_present, strict=True):
        if own is None:
            found.append(None)
            continue
        stored.need(len(own) == 2 and all(type(n) is int and n >= 0 for n in own), "kept")
        stored.need(own[0] * SQUARE_STEP <= n_present * ROUNDED and own[1] <= n_rows, "kept")
        found.append(Lengthy(*own))
    return tuple(found)


def unpack_model(stored: Fields) -> Model:
    """Restore a model after checking every part."""
    schema = unpack_schema(stored.part("schema"))
    n_clusters = stored.number("n_clusters", least=1)
    read, unit = unpack_counts(stored, schema), weight_unit(stored)
    centred = stored.list("centred", bool)
    stored.need(len(centred) == len(schema.names), "centred")
    scaling = _scaling(stored, schema)
    total = _sums(stored, schema, scaling, n_clusters, read.n_with_views, centred)
    views: list[Floats | None] = []
    known = []
    for v, (width, counts) in enumerate(zip(total.widths, total.counts, strict=True)):
        known.append(stored.array_of(f"known.{v}", ARRAYS, K=n_clusters))
        if not centred[v]:
            stored.need(not counts.any() and not known[v].any(), "centred")
        views.append(stored.array_of(f"centres.{v}", ARRAYS, K=n_clusters, d=width) if centred[v] else None)
    consensus = stored.text("consensus")
    stored.need(consensus in CONSENSUS, "consensus")
    asked = stored.number("asked", least=1, most=n_clusters)
    stored.need(consensus in ANCHORED or asked == n_clusters, "asked")
    labelled = None
    if stored.get("labelled") is not None:
        everywhere = [False] * len(centred)
        labelled = _sums(stored.within("labelled"), schema, scaling, asked, read.n_with_views, everywhere)
    return Model(
        schema,
        total,
        Centres(views, known),
        scaling,
        _alpha(stored, len(schema.names)),
        read,
        stored.number("n_iter"),
        stored.array_of("loss_curve", ARRAYS).tolist(),
        consensus=consensus,
        n_clusters=asked,
        links=_links(stored, n_clusters, read.n_counted) if consensus == "graph" else None,
        weights=view_weights(stored, len(schema.names)),
        curve=_curve(stored),
        choices=_choices(stored),
        weight_unit=unit,
        census=unpack_census(stored, n_clusters if labelled is None else asked, read.n_rows),
        labelled=labelled,
        numbers=_numbers(stored, asked),
    )


def _alpha(stored: Fields, n_views: int) -> tuple[float, ...]:
    """Restore the ridge of each view."""
    values = stored.list("alpha", float, int)
    stored.need(len(values) == n_views and all(0 <= value <= MOST_DECIMAL for value in values), "alpha")
    return tuple(map(float, values))


def weight_unit(stored: Fields) -> int:
    """The unit of sample weights."""
    unit = stored.number("weight_unit")
    stored.need(unit in (1, WEIGHT_UNIT), "weight_unit")
    return unit


def _curve(stored: Fields) -> Curve | None:
    """Restore the score of each number of clusters."""
    if not stored.truth("curve"):
        return None
    numbers = stored.array_of("numbers", ARRAYS, n=None)
    values = stored.array_of("values", ARRAYS, n=len(numbers))
    errors = stored.array_of("errors", ARRAYS, n=len(numbers))
    stored.need(len(numbers) > 0 and bool((np.diff(numbers) > 0).all()), "curve")
    return Curve(numbers, values, errors)


def _pack_choice(choice: Choice) -> dict[str, Any]:
    return {
        "what": choice.what,
        "chosen": choice.chosen,
        "scores": list(map(list, choice.scores.items())),
        "error": choice.error,
        "reason": choice.reason,
    }


def _choices(stored: Fields) -> tuple[Choice, ...]:
    """Restore what was chosen from the sample."""
    found = []
    for each in stored.list("choices", dict):
        one = Fields(each, {})
        texts = [one.text(name) for name in ("what", "chosen", "reason")]
        pairs = one.list("scores", list)
        sound = all(list(map(type, pair)) == [str, float] and math.isfinite(pair[1]) for pair in pairs)
        stored.need(sound and max(map(len, texts)) <= MOST_TEXT, "choices")
        what, chosen, reason = texts
        found.append(Choice(what, chosen, dict(pairs), one.decimal("error"), reason))
    return tuple(found)


def view_weights(stored: Fields, n_views: int | None) -> Weights | None:
    """Restore the weights of the views, the largest of which is 1."""
    if stored.get("view_weights") is None:
        return None
    weights = tuple(float(weight) for weight in stored.list("view_weights", float, int))
    stored.need(n_views in (None, len(weights)), "view_weights")
    stored.need(max(weights, default=0.0) == 1.0 and min(weights) >= 0.0, "view_weights")
    return weights


def _links(stored: Fields, n_anchors: int, n_rows: int) -> Links:
    """Restore the anchor graph: a sum of z z', of no more rows than were read."""
    if "links" in stored.arrays:
        links = sparse_links(stored.array_of("links", ARRAYS, K=n_anchors), n_anchors)
    else:
        counts = stored.array_of("link_counts", ARRAYS, K=n_anchors)
        columns = stored.array_of("link_columns", ARRAYS, n=None)
        values = stored.array_of("link_values", ARRAYS, n=len(columns))
        inside = bool((counts <= n_anchors).all() and (columns < n_anchors).all())
        stored.need(inside and int(counts.sum()) == len(columns), "link_counts")
        owners = np.repeat(np.arange(n_anchors), counts)
        places = owners * n_anchors + columns
        stored.need(bool((np.diff(places) > 0).all()), "link_columns")
        links = sparse_links((values, (owners, columns)), n_anchors)
    most = (UNIT + MANY_NEIGHBOURS) ** 2 * float(n_rows)  # the weights in z are rounded
    symmetric = n_rows <= MAX_ROWS and (links != links.T).nnz == 0
    stored.need(symmetric and float(links.sum(dtype=np.float64)) <= most, "links")
    return links


def _scaling(stored: Fields, schema: Schema) -> Scaling:
    """Restore the scaling of the views."""
    names = stored.list("scales", str)
    stored.need(len(names) == len(schema.names), "scales")
    parameters = stored.list("parameters", float, int)
    stored.need(len(parameters) == len(names), "parameters")
    parts = zip(names, schema.widths, parameters, strict=True)
    views = tuple(_scale(stored, v, *own) for v, own in enumerate(parts))
    chosen = tuple(stored.list("kinds_chosen", bool))
    stored.need(len(chosen) in (0, len(names)), "kinds_chosen")
    found = Scaling(views, _completion(stored, schema), _projection(stored, schema), chosen)
    stored.need(stored.decimal("longest") == found.longest, "longest")
    return found


def _scale(stored: Fields, v: int, name: str, width: int | None, parameter: float) -> Scale | None:
    learns = name in ("counts", "composition")
    stored.need(0.0 < parameter < FARTHEST if learns else parameter == 0.0, "parameters")
    centred, filled = (f"{array}.{v}" in stored.arrays for array in ("mean", "fill"))
    fill = stored.array_of(f"fill.{v}", ARRAYS, d=width) if filled else None
    if name == "unit":
        stored.need(not centred and filled == (f"weights.{v}" in stored.arrays), "scales")
        if fill is None:
            return None
        weights = stored.array_of(f"weights.{v}", ARRAYS, d=width)
        stored.need(bool((weights == 1.0).all()), "scales")
        return Scale(name, weights, fill=fill)
    stored.need(name in LEARNT and width is not None and not (centred and name == "idf"), "scales")
    weights = stored.array_of(f"weights.{v}", ARRAYS, d=width)
    if name == "euclidean":
        mapped = any(array.startswith("directions.") for array in stored.arrays)
        longest = 0.0 if mapped else stored.decimal("longest")  # mapped rows are of unit length
        stored.need(mapped or (1.0 <= longest <= MOST_LENGTH and math.frexp(longest)[0] == 0.5), "longest")
        stored.need(centred and bool((weights == weights[0]).all()), "scales")
        return Scale(name, weights, stored.array_of(f"mean.{v}", ARRAYS, d=width), longest, fill)
    mean = stored.array_of(f"mean.{v}", ARRAYS, d=width) if centred else None
    stored.need(centred or name not in ("composition", "binary"), "scales")
    return Scale(name, weights, mean, fill=fill, parameter=float(parameter))


def _check_sums(steps: Array, counts: Array, n_rows: int, name: str) -> None:
    """Refuse sums that exceed their counts: no row is longer than 1."""
    reach = np.maximum(steps.max(axis=1, initial=0), -steps.min(axis=1, initial=0).astype(np.float64))
    if int(counts.sum()) > n_rows or (reach > counts * GRID).any():
        raise FileError(f"the sums of view {name!r} do not match their counts.")
