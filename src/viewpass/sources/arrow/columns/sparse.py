"""Conversion of `struct<indices, values>` or `list<struct<index, value>>` columns to a CSR matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import scipy.sparse
from pyarrow import types

from viewpass.errors import DataError
from viewpass.kernels.grid import Array, Integers, Mask
from viewpass.sources.arrow.batches import Batch
from viewpass.sources.arrow.columns.layout import ViewColumns, flat
from viewpass.sources.arrow.columns.lists import offsets_of, valid, whole_lists


class SparseRows(NamedTuple):
    """The arrays of a CSR matrix, in Arrow's memory."""

    ends: Integers  # where each row begins, and where the last one ends
    indices: Integers
    values: Array
    present: Mask | None


def read_sparse(batches: Sequence[Batch], view: ViewColumns) -> tuple[Any, Mask | None]:
    """Return the CSR matrix of a view and the mask of the rows that have it."""
    assert view.width is not None
    parts = [_rows(batch, view.columns[0], view.width) for batch in batches]
    n_values = sum(len(part.values) for part in parts)
    kind = np.int32 if max(n_values, view.width) < 2**31 else np.int64
    matrix = scipy.sparse.csr_array((sum(map(len, batches)), view.width), dtype=view.dtype)
    # Assigned one by one: the constructor would copy short slices of long arrays.
    matrix.indices = _together([part.indices for part in parts]).astype(kind, copy=False)
    matrix.data = _together([part.values for part in parts]).astype(view.dtype, copy=False)
    befores = np.cumsum([0, *(len(part.values) for part in parts)])
    ends = [part.ends[1:] + before for part, before in zip(parts, befores[:-1], strict=True)]
    matrix.indptr = np.concatenate([np.zeros(1, dtype=kind), *ends]).astype(kind, copy=False)
    if all(part.present is None for part in parts):
        return matrix, None
    lengths = (len(part.ends) - 1 for part in parts)
    return matrix, _together([_mask(part.present, n) for part, n in zip(parts, lengths, strict=True)])


def _together(arrays: Sequence[Array]) -> Array:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _rows(batch: Batch, column: str, width: int) -> SparseRows:
    array = batch.rows.column(column)
    present = valid(array)
    if types.is_struct(array.type):
        ends, indices = _list(array.field("indices"))
        others, values = _list(array.field("values"))
        uneven = np.flatnonzero(np.diff(ends) != np.diff(others))
        if len(uneven):
            row = int(uneven[0])
            raise DataError(
                f"{batch.place(column, row)}: {np.diff(ends)[row]} indices and {np.diff(others)[row]} values."
            )
    else:
        ends, pairs = _list(array)
        if pairs.null_count:
            _refuse(batch, column, ends, ~_mask(valid(pairs), len(pairs)), "an entry is null")
        indices, values = pairs.field("index"), pairs.field("value")
    for part, name in ((indices, "index"), (values, "value")):
        if part.null_count:
            _refuse(batch, column, ends, ~_mask(valid(part), len(part)), f"a null as {name}")
    places = flat(indices)
    if len(places) and (places.min() < 0 or places.max() >= width):
        outside = (places < 0) | (places >= width)
        wrong = places[np.flatnonzero(outside)[0]]
        _refuse(batch, column, ends, outside, f"index {wrong} lies outside the {width} columns of the view")
    return SparseRows(ends, places, flat(values), present)


def _list(array: pa.Array) -> tuple[Integers, pa.Array]:
    """Return the ends of the lists, counted from the first value, and the values; a null list is empty."""
    array = whole_lists(array)
    offsets = offsets_of(array)
    ends = offsets - offsets[0]
    values = array.values.slice(int(offsets[0]), int(ends[-1]))
    present = valid(array)
    if present is not None and np.diff(ends)[~present].any():  # null lists that take up space
        kept = np.repeat(present, np.diff(ends))
        values = values.filter(pa.array(kept))
        ends = np.concatenate([ends[:1], np.cumsum(np.where(present, np.diff(ends), 0))])
    return ends, values


def _mask(present: Mask | None, length: int) -> Mask:
    return np.ones(length, dtype=bool) if present is None else present


def _refuse(batch: Batch, column: str, ends: Integers, faulty: Mask, what: str) -> None:
    row = int(np.searchsorted(ends, np.flatnonzero(faulty)[0], side="right")) - 1
    raise DataError(f"{batch.place(column, row)}: {what}.")
