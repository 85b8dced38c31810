"""Stores rows that a stream keeps (warm-up, reservoir); read by state/stream.py and state/reservoir.py."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from viewpass.errors import DataError, FileError
from viewpass.kernels.grid import MOST_ROWS, Array
from viewpass.store.container.fields import Fields
from viewpass.views.chunk import Chunk, Schema
from viewpass.views.rows import MeasuredRows


def pack_chunk(chunk: Chunk, name: str, arrays: dict[str, Array]) -> dict[str, Any]:
    """Convert rows to JSON and arrays, without their ids, which are not needed again."""
    kinds: list[str | None] = []
    for v, view in enumerate(chunk.views):
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
    return {
        "kinds": kinds,
        "widths": list(chunk.schema.widths),
        "n_rows": chunk.n_rows,
        "start": chunk.start,
        "masked": chunk.observed is not None,
        **({} if chunk.copies is None else {"weighted": True}),
        **({"stated": True} if chunk.stated else {}),
    }


def unpack_chunk(stored: Fields, name: str, schema: Schema | None) -> Chunk:
    """Restore rows; refuse those that a stream would refuse."""
    kinds, widths = stored.list("kinds", str, None), stored.list("widths", int, None)
    stored.need(schema is not None and len(kinds) == len(widths) == len(schema.names), "kinds")
    assert schema is not None
    n_rows = stored.number("n_rows", least=1)
    observed = None
    if stored.truth("masked"):
        observed = stored.array(f"{name}.observed", np.bool_, (n_rows, len(kinds)))
    try:
        views = [_view(stored, f"{name}.{v}", kinds[v], (n_rows, widths[v])) for v in range(len(kinds))]
        chunk = Chunk.of(views, names=schema.names, observed=observed, start=stored.number("start"))
        schema.merged(chunk.schema)
        MeasuredRows(chunk).measure()
    except (DataError, ValueError, TypeError, IndexError, OverflowError) as problem:
        raise FileError(f"the rows it holds cannot be read ({problem}).") from problem
    chunk = replace(chunk, stated="stated" in stored.values and stored.truth("stated"))
    if "weighted" in stored.values and stored.truth("weighted"):
        copies = stored.array(f"{name}.copies", np.int64, (n_rows,))
        stored.need(bool((copies >= 0).all() and (copies <= MOST_ROWS).all()), "weighted")
        chunk = replace(chunk, copies=copies)
    return chunk


def _view(stored: Fields, name: str, kind: str | None, shape: tuple[int, int | None]) -> Any:
    stored.need(kind in ("dense", "sparse", None) and (kind is None) == (shape[1] is None), name)
    if kind is None:
        return None
    if kind == "dense":
        return stored.array(name, _float_type(stored, name), shape)
    data = stored.array(f"{name}.data", _float_type(stored, f"{name}.data"), (None,))
    indices, indptr = stored.arrays.get(f"{name}.indices"), stored.arrays.get(f"{name}.indptr")
    stored.need(indices is not None and indptr is not None, name)
    assert indices is not None
    assert indptr is not None
    whole = all(part.dtype.kind == "i" and part.ndim == 1 for part in (indices, indptr))
    stored.need(whole and len(indptr) == shape[0] + 1, name)
    stored.need(bool((np.diff(indptr) >= 0).all() and indptr[0] == 0), name)
    stored.need(len(data) == len(indices) == indptr[-1], name)
    return scipy.sparse.csr_array((data, indices, indptr), shape=shape)


def _float_type(stored: Fields, name: str) -> Any:
    array = stored.arrays.get(name)
    stored.need(array is not None and array.dtype.kind == "f", name)
    assert array is not None
    return array.dtype
