"""Fitted factorisations as JSON and arrays for model files, and back, with checks.

An offline one is stored without its rows: bases and centres, enough to predict. An online one is stored
with the coefficients of the rows read, which its k-means needs, and continues to the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from viewpass.baselines.algorithms.offline import OfflineFactors
from viewpass.baselines.algorithms.omvc import FAR, Basis, OMVCStream
from viewpass.baselines.algorithms.onmf import ONMFStream
from viewpass.baselines.algorithms.rows import RunningMean
from viewpass.baselines.algorithms.stored_rows import StoredRows
from viewpass.baselines.algorithms.stream import ChunkFactors, FactorStream
from viewpass.errors import FileError
from viewpass.kernels.grid import Array, Floats
from viewpass.store.container.fields import MOST_COUNTED, Fields, Rule
from viewpass.store.state.model import pack_schema, unpack_schema
from viewpass.views.chunk import Schema

# Products of these stay finite. Coefficients are kept without their gauge, which may be far from 1.
LARGE, LARGEST = 1e60, 1e90
MOST_EMPTY = 2**20  # rows without any view beyond as many as have one: the file does not hold them
MOST_EMPTY_CLUSTERS = 2**16  # beyond the rows with a view
CLOSE = 1e-3  # relative difference of sums that were added and subtracted in another order

ARRAYS = {  # K clusters or components, d columns, v views, n rows with a view, c chunks
    "rows": Rule(np.int64, "c", 0, MOST_COUNTED),
    "n_kept": Rule(np.int64, "c", 0, MOST_COUNTED),
    "kept": Rule(np.int64, "n", 0),
    "coefficients": Rule(np.float64, "n K", 0.0, LARGEST),
    "weights": Rule(np.float64, "n", 0.0, 1.0),
    "curve": Rule(np.float64, "*"),
    "running": Rule(np.int64, "v 2", 0, MOST_COUNTED),
    "totals": Rule(np.float64, "v", 0.0),
    "mean": Rule(np.float64, "d"),
    "centres": Rule(np.float64, "K K", -LARGE, LARGE),
    "basis": Rule(np.float64, "d K", -LARGE, LARGE),
    "H": Rule(np.float64, "K K", -LARGE, LARGE),
    "sums": Rule(np.float64, "d K", -LARGE, LARGE),
    "fill": Rule(np.float64, "d", 0.0, 1 + CLOSE),
    "V": Rule(np.float64, "d K", 0.0, LARGE),
    "A": Rule(np.float64, "d K", -LARGE, LARGE),
    "B": Rule(np.float64, "K K", -LARGE, LARGE),
    "gauge": Rule(np.float64, "K", FAR, 1 / FAR),
    "squares": Rule(np.float64, "v", 0.0, LARGE),
    "agreeing": Rule(np.float64, "v v K", -LARGEST, LARGEST),
    "lengths": Rule(np.float64, "v K", -LARGEST, LARGEST),
}


# ---- parts


def _pack_some(name: str, values: Sequence[Floats | None], arrays: dict[str, Array]) -> list[bool]:
    """Store one array per view, where there is one; returns where."""
    for v, value in enumerate(values):
        if value is not None:
            arrays[f"{name}.{v}"] = np.ascontiguousarray(value, dtype=np.float64)
    return [value is not None for value in values]


def _some(stored: Fields, name: str, there: list[bool], schema: Schema, rank: int = 0) -> list[Floats | None]:
    """Restore one array per view, where there is one: only a view whose width is known can have one."""
    stored.need(len(there) == len(schema.names), name)
    found: list[Floats | None] = []
    for v, (is_there, width) in enumerate(zip(there, schema.widths, strict=True)):
        stored.need(not is_there or width is not None, name)
        found.append(stored.array_of(f"{name}.{v}", ARRAYS, d=width, K=rank) if is_there else None)
    return found


def _totals(stored: Fields, n_views: int) -> list[float | None]:
    """What the views were divided by; stored as 0 for a view without rows."""
    found = stored.array_of("totals", ARRAYS, v=n_views)
    return [float(total) if total > 0 else None for total in found]


def _clipped(stored: Fields, n_views: int) -> set[int]:
    found = stored.list("clipped", int)
    stored.need(all(0 <= v < n_views for v in found), "clipped")
    return set(found)


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
    centres = stored.array_of("centres", ARRAYS, K=n_clusters)
    curve = stored.array_of("curve", ARRAYS)
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
        bases=_some(stored, "basis", there, schema, n_clusters),
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
    counts = stored.array_of("running", ARRAYS, v=n_views)
    n_rows = sum(chunk.n_rows for chunk in chunks)
    stored.need(bool((counts[:, 0] <= counts[:, 1]).all() and (counts <= n_rows).all()), "running")
    sums = _some(stored, "mean", stored.list("means", bool), schema)
    for total, (n_present, n_rows) in zip(sums, counts.tolist(), strict=True):
        running = RunningMean()
        running.sums, running.n_present, running.n_rows = total, n_present, n_rows
        stored.need(total is not None or not n_present, "means")
        stream.runnings.append(running)
    stream.schema, stream.chunks = schema, chunks
    if isinstance(stream, OMVCStream):
        _take_omvc(stored, stream, schema)
    elif isinstance(stream, ONMFStream):
        _take_onmf(stored, stream, schema)
    stream.curve = stored.array_of("curve", ARRAYS).tolist()
    stream.place = stored.number("place", least=len(chunks), most=len(chunks))
    stream.n_iter = stored.number("n_iter")
    stream.n_last = stored.number("n_last", most=stream.n_rows)
    stream.seed = stored.number("seed", most=2**31)
    stream.clipped = _clipped(stored, n_views)


def _chunks(stored: Fields, rank: int, n_parts: int, n_weighed: int) -> list[ChunkFactors]:
    rows = stored.array_of("rows", ARRAYS, c=None)
    n_kept = stored.array_of("n_kept", ARRAYS, c=len(rows))
    stored.need(bool(len(rows) and (n_kept <= rows).all()), "n_kept")
    kept = stored.array_of("kept", ARRAYS, n=None)
    n_all = len(kept)
    stored.need(sum(n_kept.tolist()) == n_all and sum(rows.tolist()) <= 2 * n_all + MOST_EMPTY, "kept")
    cuts = np.cumsum(n_kept)[:-1]
    places = np.split(kept, cuts)
    for n_rows, place in zip(rows.tolist(), places, strict=True):
        sound = not len(place) or bool(place[-1] < n_rows and (np.diff(place) > 0).all())
        stored.need(sound, "kept")
    found = [
        np.split(stored.array_of(f"coefficients.{c}", ARRAYS, n=n_all, K=rank), cuts) for c in range(n_parts)
    ]
    weights = [np.split(stored.array_of(f"weights.{v}", ARRAYS, n=n_all), cuts) for v in range(n_weighed)]
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
    rank, there = stream.n_clusters, stored.list("bases", bool)
    stream.bases = _some(stored, "basis", there, schema, rank)
    stored.need(all(basis is None or (basis >= 0).all() for basis in stream.bases), "basis")
    # Rows have length 1 and are not negative, so the sums over them follow from their coefficients, or
    # are bounded by them.
    G = np.concatenate([chunk.coefficients[0] for chunk in stream.chunks])
    largest = (1 + CLOSE) * G.sum(axis=0)
    sums = _some(stored, "sums", there, schema, rank)
    stored.need(all(value is None or (np.abs(value) <= largest).all() for value in sums), "sums")
    stream.sums = [np.zeros((0, rank)) if value is None else value for value in sums]
    stream.H, H = stored.array_of("H", ARRAYS, K=rank), G.T @ G
    stored.need(bool((np.abs(stream.H - H) <= CLOSE * np.trace(H)).all()), "H")
    stream.squares = float(stored.array_of("squares", ARRAYS, v=1)[0])
    stored.need(stream.squares <= (1 + CLOSE) * len(G) * len(schema.names), "squares")
    for running in stream.runnings:
        most = (1 + CLOSE) * running.n_present
        stored.need(running.sums is None or bool((np.abs(running.sums) <= most).all()), "mean")
    if stored.get("fills") is not None:
        stream.means = _some(stored, "fill", stored.list("fills", bool), schema)


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
    V, A, B, gauges = (_some(stored, name, there, schema, rank) for name in ("V", "A", "B", "gauge"))
    squares = stored.array_of("squares", ARRAYS, v=n_views)
    stream.totals = _totals(stored, n_views)
    stored.need(all(total is not None for total, t in zip(stream.totals, there, strict=True) if t), "totals")
    for running, total in zip(stream.runnings, stream.totals, strict=True):
        sums = np.abs(running.sums).max() if running.sums is not None else 0.0
        stored.need(total is None or sums <= LARGE * total, "mean")
    for parts in zip(V, A, B, gauges, squares.tolist(), new, strict=True):
        stream.bases.append(Basis.restored(*parts) if parts[0] is not None else None)
    stream._agreeing = stored.array_of("agreeing", ARRAYS, v=n_views, K=rank).copy()
    stream._lengths = stored.array_of("lengths", ARRAYS, v=n_views, K=rank).copy()
    stream.scanned = [StoredRows(rank) for _ in schema.names]
