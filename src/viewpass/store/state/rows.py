"""Stores the rows of a sample; read by state/learning.py."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from viewpass.errors import DataError, FileError
from viewpass.kernels.grid import MOST_ROWS, Array
from viewpass.store.container.fields import Fields, Rule
from viewpass.views.chunk import Chunk, Oddities, Schema
from viewpass.views.rows import MeasuredRows

FLOAT_KINDS, WHOLE_TYPES, CSR_PARTS = (np.float32, np.float64), (np.int32, np.int64), ("data", "indices")
ARRAYS = {  # n rows, d columns, v views, m stored numbers; NaN is a missing view
    "dense": Rule(FLOAT_KINDS, "n d", finite=False),
    "data": Rule(FLOAT_KINDS, "m", finite=False),
    "indices": Rule(WHOLE_TYPES, "m", 0),
    "indptr": Rule(WHOLE_TYPES, "n", 0),
    "observed": Rule(np.bool_, "n v"),
    "copies": Rule(np.int64, "n", 0, MOST_ROWS),
    "gaps": Rule(np.bool_, "n d"),
    "lacking": Rule(np.int32, "n v"),
}


def pack_chunk(chunk: Chunk, name: str, arrays: dict[str, Array]) -> dict[str, Any]:
    """Convert rows to JSON and arrays, in their own columns, without ids, which are not needed again."""
    kinds: list[str | None] = []
    for v, view in enumerate(chunk.own_views):
        if view is None:
            kinds.append(None)
        elif scipy.sparse.issparse(view):
            kinds.append("sparse")
            for part in ("data", "indices", "indptr"):
                arrays[f"{name}.{v}.{part}"] = getattr(view, part)
        else:
            kinds.append("dense")
            arrays[f"{name}.{v}"] = view
    if chunk.observed is not None:
        arrays[f"{name}.observed"] = chunk.observed
    if chunk.copies is not None:
        arrays[f"{name}.copies"] = chunk.copies
    for v, gaps in enumerate(chunk.gaps):
        if gaps is not None:
            arrays[f"{name}.gaps.{v}"] = gaps
    if chunk.odd.lacking is not None:
        arrays[f"{name}.lacking"] = chunk.odd.lacking
    return {
        "kinds": kinds,
        "widths": list(chunk.schema.widths),
        "n_rows": chunk.n_rows,
        "masked": chunk.observed is not None,
        "weighted": chunk.copies is not None,
        "stated": chunk.stated,
        "gaps": [gaps is not None for gaps in chunk.gaps],
    }


def unpack_chunk(stored: Fields, name: str, schema: Schema | None) -> Chunk:
    """Restore rows; refuse those that a stream would refuse."""
    kinds, widths = stored.list("kinds", str, None), stored.list("widths", int, None)
    stored.need(schema is not None and len(kinds) == len(widths) == len(schema.names), "kinds")
    assert schema is not None
    n_rows = stored.number("n_rows", least=1)
    observed = None
    if stored.truth("masked"):
        observed = stored.array(f"{name}.observed", ARRAYS["observed"], n=n_rows, v=len(kinds))
    try:
        views = [_view(stored, f"{name}.{v}", kinds[v], (n_rows, widths[v])) for v in range(len(kinds))]
        chunk = Chunk.of(views, names=schema.names, observed=observed)
        schema.merged(chunk.schema)
        MeasuredRows(chunk).measure()
    except (DataError, ValueError, TypeError, IndexError, OverflowError) as problem:
        raise FileError(f"the rows it holds cannot be read ({problem}).") from problem
    chunk = replace(chunk, stated=stored.truth("stated"))
    if stored.truth("weighted"):
        copies = stored.array(f"{name}.copies", ARRAYS["copies"], n=n_rows)
        chunk = replace(chunk, copies=copies)
    if held := stored.list("gaps", bool):
        stored.need(
            len(held) == len(kinds) and all(kinds[v] == "dense" for v in np.flatnonzero(held)), "gaps"
        )
        rule, sizes = ARRAYS["gaps"], zip(held, widths, strict=True)
        gaps = (
            stored.array(f"{name}.gaps.{v}", rule, n=n_rows, d=width) if there else None
            for v, (there, width) in enumerate(sizes)
        )
        chunk = replace(chunk, gaps=tuple(gaps))
        if f"{name}.lacking" in stored.arrays:
            lacking = stored.array(f"{name}.lacking", ARRAYS["lacking"], n=n_rows, v=len(kinds))
            sound = all(
                (np.abs(own) <= (width or 0)).all() for own, width in zip(lacking.T, widths, strict=True)
            )
            stored.need(sound, "lacking")
            chunk = replace(chunk, odd=Oddities(lacking=lacking))
    return chunk


def _view(stored: Fields, name: str, kind: str | None, shape: tuple[int, int | None]) -> Any:
    stored.need(kind in ("dense", "sparse", None) and (kind is None) == (shape[1] is None), name)
    if kind is None:
        return None
    if kind == "dense":
        return stored.array(name, ARRAYS["dense"], n=shape[0], d=shape[1])
    starts = stored.array(f"{name}.indptr", ARRAYS["indptr"], n=shape[0] + 1)
    stored.need(bool((np.diff(starts) >= 0).all() and starts[0] == 0), name)
    data, indices = (stored.array(f"{name}.{part}", ARRAYS[part], m=int(starts[-1])) for part in CSR_PARTS)
    return scipy.sparse.csr_array((data, indices, starts), shape=shape)
