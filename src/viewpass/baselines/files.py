"""Fitted factorisations as JSON and arrays for model files, and back, with checks.

An offline one is stored without its rows: bases and centres, enough to predict. An online one is stored
with the coefficients of the rows read, which its k-means needs, and continues to the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from viewpass.baselines.algorithms.offline import OfflineFactors
from viewpass.baselines.algorithms.omvc import Basis, OMVCStream
from viewpass.baselines.algorithms.onmf import ONMFStream
from viewpass.baselines.algorithms.rows import RunningMean
from viewpass.baselines.algorithms.stored_rows import StoredRows
from viewpass.baselines.algorithms.stream import ChunkFactors, FactorStream
from viewpass.errors import FileError
from viewpass.kernels.grid import Array, Floats
from viewpass.store.container.fields import Fields
from viewpass.store.state.model import pack_schema, unpack_schema
from viewpass.views.chunk import Schema

Shape = tuple[int | None, ...]
MOST = 1e90  # products of scaled values stay finite


# ---- parts


def _pack_some(name: str, values: Sequence[Floats | None], arrays: dict[str, Array]) -> list[bool]:
    """Store one array per view, where there is one; returns where."""
    for v, value in enumerate(values):
        if value is not None:
            arrays[f"{name}.{v}"] = np.ascontiguousarray(value, dtype=np.float64)
    return [value is not None for value in values]


def _some(
    stored: Fields, name: str, there: list[bool], shapes: Sequence[Shape], most: float = MOST
) -> list[Floats | None]:
    stored.need(len(there) == len(shapes), name)
    return [
        _finite(stored, f"{name}.{v}", shape, most) if is_there else None
        for v, (is_there, shape) in enumerate(zip(there, shapes, strict=True))
    ]


def _finite(stored: Fields, name: str, shape: Shape, most: float = np.finfo(float).max) -> Floats:
    array = stored.array(name, np.float64, shape)
    stored.need(bool((np.abs(array) <= most).all()), name)
    return array


def _totals(stored: Fields, n_views: int) -> list[float | None]:
    """What the views were divided by; stored as 0 for a view without rows."""
    found = _finite(stored, "totals", (n_views,))
    stored.need(bool((found >= 0).all()), "totals")
    return [float(total) if total > 0 else None for total in found]


def _clipped(stored: Fields, n_views: int) -> set[int]:
    found = stored.list("clipped", int)
    stored.need(all(0 <= v < n_views for v in found), "clipped")
    return set(found)


def _widths(schema: Schema, rank: int) -> list[Shape]:
    return [(width, rank) for width in schema.widths]


# ---- offline


def pack_offline(state: OfflineFactors, centres: Floats, arrays: dict[str, Array]) -> dict[str, Any]:
    """Bases, centres and counts."""
    arrays["centres"] = np.ascontiguousarray(centres)
    arrays["curve"] = np.array(state.curve)
    arrays["totals"] = np.array([total or 0.0 for total in state.totals])
    return {
        "schema": pack_schema(state.schema, arrays),
        "bases": _pack_some("basis", state.bases, arrays),
        "n_rows": state.n_rows,
        "n_unseen": state.n_without_views,
        "n_iter": state.n_iter,
        "seed": state.seed,
        "clipped": sorted(state.clipped),
    }


def unpack_offline(stored: Fields, n_clusters: int) -> OfflineFactors:
    """The fitted state, without the rows of the fit."""
    schema = unpack_schema(stored.part("schema"))
    n_views = len(schema.names)
    centres = _finite(stored, "centres", (n_clusters, n_clusters), MOST)
    curve = _finite(stored, "curve", (None,))
    stored.need(len(curve) > 0, "curve")
    n_rows, n_without_views = stored.number("n_rows", least=1), stored.number("n_unseen")
    stored.need(n_without_views < n_rows, "n_unseen")
    totals = _totals(stored, n_views)
    there = stored.list("bases", bool)
    stored.need(there == [total is not None for total in totals], "bases")
    return OfflineFactors(
        schema=schema,
        n_rows=n_rows,
        n_without_views=n_without_views,
        kept=None,
        bases=_some(stored, "basis", there, _widths(schema, n_clusters)),
        totals=totals,
        agreed=None,
        curve=curve.tolist(),
        n_iter=stored.number("n_iter", least=1),
        seed=stored.number("seed", most=2**31),
        clipped=_clipped(stored, n_views),
        groups=(centres, np.empty(0, dtype=np.int32)),
    )


# ---- online


def pack_factor_stream(stream: FactorStream, arrays: dict[str, Array]) -> dict[str, Any]:
    """Everything a factorisation needs to continue with further chunks."""
    assert stream.schema is not None
    chunks, rank = stream.chunks, stream.n_clusters
    arrays["rows"] = np.array([chunk.n_rows for chunk in chunks], dtype=np.int64)
    arrays["n_kept"] = np.array([len(chunk.kept) for chunk in chunks], dtype=np.int64)
    arrays["kept"] = np.concatenate([np.empty(0, dtype=np.int64), *(chunk.kept for chunk in chunks)])
    parts, weighed = len(chunks[0].coefficients), len(chunks[0].weights)
    for c in range(parts):
        found = [chunk.coefficients[c] for chunk in chunks]
        arrays[f"coefficients.{c}"] = np.concatenate([np.empty((0, rank)), *found])
    for v in range(weighed):
        arrays[f"weights.{v}"] = np.concatenate([np.empty(0), *(chunk.weights[v] for chunk in chunks)])
    arrays["curve"] = np.array(stream.curve, dtype=np.float64)
    arrays["running"] = np.array(
        [[running.n_present, running.n_rows] for running in stream.runnings], dtype=np.int64
    )
    own = _pack_omvc(stream, arrays) if isinstance(stream, OMVCStream) else _pack_onmf(stream, arrays)
    return {
        "schema": pack_schema(stream.schema, arrays),
        "means": _pack_some("mean", [running.sums for running in stream.runnings], arrays),
        "place": stream.place,
        "n_iter": stream.n_iter,
        "n_last": stream.n_last,
        "seed": stream.seed,
        "clipped": sorted(stream.clipped),
        **own,
    }


def unpack_factor_stream(stored: Fields, stream: FactorStream) -> None:
    """Restore a stored state into a stream that has read nothing."""
    schema = unpack_schema(stored.part("schema"))
    n_views = len(schema.names)
    omvc = isinstance(stream, OMVCStream)
    chunks = _chunks(stored, stream.n_clusters, n_views if omvc else 1, n_views if omvc else 0)
    counts = stored.array("running", np.int64, (n_views, 2))
    stored.need(bool((counts >= 0).all() and (counts[:, 0] <= counts[:, 1]).all()), "running")
    sums = _some(stored, "mean", stored.list("means", bool), [(width,) for width in schema.widths], np.inf)
    for total, (n_present, n_rows) in zip(sums, counts.tolist(), strict=True):
        running = RunningMean()
        running.sums, running.n_present, running.n_rows = total, n_present, n_rows
        stored.need(total is not None or not n_present, "means")
        stream.runnings.append(running)
    if isinstance(stream, OMVCStream):
        _take_omvc(stored, stream, schema)
    elif isinstance(stream, ONMFStream):
        _take_onmf(stored, stream, schema)
    stream.schema, stream.chunks = schema, chunks
    stream.curve = _finite(stored, "curve", (None,)).tolist()
    stream.place = stored.number("place", most=len(chunks))
    stream.n_iter = stored.number("n_iter")
    stream.n_last = stored.number("n_last", most=stream.n_rows)
    stream.seed = stored.number("seed", most=2**31)
    stream.clipped = _clipped(stored, n_views)


def _chunks(stored: Fields, rank: int, n_parts: int, n_weighed: int) -> list[ChunkFactors]:
    rows = stored.array("rows", np.int64, (None,))
    n_kept = stored.array("n_kept", np.int64, rows.shape)
    stored.need(bool(len(rows) and (n_kept >= 0).all() and (n_kept <= rows).all()), "n_kept")
    kept = stored.array("kept", np.int64, (None,))
    n_all = len(kept)
    stored.need(int(n_kept.sum()) == n_all, "kept")
    cuts = np.cumsum(n_kept)[:-1]
    places = np.split(kept, cuts)
    for n_rows, place in zip(rows.tolist(), places, strict=True):
        sound = not len(place) or bool(place[0] >= 0 and place[-1] < n_rows and (np.diff(place) > 0).all())
        stored.need(sound, "kept")
    found = [
        np.split(_finite(stored, f"coefficients.{c}", (n_all, rank), MOST), cuts) for c in range(n_parts)
    ]
    weights = [np.split(_finite(stored, f"weights.{v}", (n_all,), 1.0), cuts) for v in range(n_weighed)]
    stored.need(all((part >= 0).all() for parts in (*found, *weights) for part in parts), "coefficients")
    return [
        ChunkFactors(n_rows, place, [part[p] for part in found], [weight[p] for weight in weights])
        for p, (n_rows, place) in enumerate(zip(rows.tolist(), places, strict=True))
    ]


def _pack_onmf(stream: FactorStream, arrays: dict[str, Array]) -> dict[str, Any]:
    assert isinstance(stream, ONMFStream)
    arrays["H"], arrays["squares"] = stream.H, np.array([stream.squares])
    means = stream.means or [None] * len(stream.bases)
    there = [basis is not None for basis in stream.bases]
    _pack_some("sums", [s if t else None for s, t in zip(stream.sums, there, strict=True)], arrays)
    return {
        "bases": _pack_some("basis", stream.bases, arrays),
        "fills": None if stream.means is None else _pack_some("fill", means, arrays),
    }


def _take_onmf(stored: Fields, stream: ONMFStream, schema: Schema) -> None:
    rank = stream.n_clusters
    there, shapes = stored.list("bases", bool), _widths(schema, rank)
    stream.bases = _some(stored, "basis", there, shapes)
    sums = _some(stored, "sums", there, shapes)
    stream.sums = [np.zeros((0, rank)) if value is None else value for value in sums]
    stream.H = _finite(stored, "H", (rank, rank), MOST)
    stream.squares = float(_finite(stored, "squares", (1,))[0])
    if stored.get("fills") is not None:
        lengths = [(width,) for width in schema.widths]
        stream.means = _some(stored, "fill", stored.list("fills", bool), lengths)


def _pack_omvc(stream: OMVCStream, arrays: dict[str, Array]) -> dict[str, Any]:
    if stream.settings.scanned:
        raise FileError(
            "an OMVC with accept='scanned' keeps a copy of all rows, which a model file does not hold: "
            "save one with accept='sums'."
        )
    bases = stream.bases
    arrays["totals"] = np.array([total or 0.0 for total in stream.totals or []])
    arrays["agreeing"], arrays["lengths"] = stream._agreeing, stream._lengths
    arrays["squares"] = np.array([0.0 if basis is None else basis.squares for basis in bases])
    for name in ("V", "A", "B", "gauge"):
        _pack_some(name, [None if basis is None else getattr(basis, name) for basis in bases], arrays)
    return {"bases": [None if basis is None else basis.new for basis in bases]}


def _take_omvc(stored: Fields, stream: OMVCStream, schema: Schema) -> None:
    rank, n_views = stream.n_clusters, len(schema.names)
    new = stored.list("bases", bool, None)
    there = [value is not None for value in new]
    shapes = _widths(schema, rank)
    V, A = (_some(stored, name, there, shapes) for name in ("V", "A"))
    B = _some(stored, "B", there, [(rank, rank)] * n_views)
    gauges = _some(stored, "gauge", there, [(rank,)] * n_views)
    squares = _finite(stored, "squares", (n_views,))
    stream.totals = _totals(stored, n_views)
    stored.need(all(total is not None for total, t in zip(stream.totals, there, strict=True) if t), "totals")
    for parts in zip(V, A, B, gauges, squares.tolist(), new, strict=True):
        stream.bases.append(Basis.restored(*parts) if parts[0] is not None else None)
    stream._agreeing = _finite(stored, "agreeing", (n_views, n_views, rank), MOST)
    stream._lengths = _finite(stored, "lengths", (n_views, rank), MOST)
    stream.scanned = [StoredRows(rank) for _ in schema.names]
