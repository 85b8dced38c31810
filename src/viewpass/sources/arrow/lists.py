"""Conversion of list columns to a matrix, one list per row, without copying where Arrow's layout allows.

Columns `struct<indices, values>` or `list<struct<index, value>>` become a CSR matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import scipy.sparse
from pyarrow import types

from viewpass.errors import DataError
from viewpass.kernels.grid import Array, Integers, Mask
from viewpass.kernels.pool import Pool
from viewpass.sources.arrow.batches import Batch
from viewpass.sources.arrow.layout import ViewColumns, flat


class ListRows(NamedTuple):
    """Rows of a view in one batch; if only present rows have values, `places` gives the index of each row."""

    values: Array
    present: Mask | None  # None: every row
    places: Integers | None = None


def read_lists(
    batches: Sequence[Batch], view: ViewColumns, width: int | None, pool: Pool
) -> tuple[Array | None, Mask | None]:
    """Return the matrix of a view and the mask of the rows that have it; None if no row has it.

    Values that must be copied go into memory borrowed from `pool`.
    """
    parts = []
    for batch in batches:
        rows = _rows(batch, view, width)
        if width is None and rows.values.shape[1]:
            width = rows.values.shape[1]
        parts.append(rows)
    if not width or not any(len(part.values) for part in parts):
        return None, None
    if len(parts) == 1 and parts[0].places is None and view.quantised is None:
        return np.asarray(parts[0].values, dtype=view.dtype), parts[0].present
    return _joined(parts, list(map(len, batches)), width, view, pool)


def _joined(
    parts: Sequence[ListRows], lengths: Sequence[int], width: int, view: ViewColumns, pool: Pool
) -> tuple[Array, Mask | None]:
    matrix = pool.lend(sum(lengths) * width, view.dtype).reshape(sum(lengths), width)
    mask = None if all(part.present is None for part in parts) else np.ones(len(matrix), dtype=bool)
    start = 0
    for part, length in zip(parts, lengths, strict=True):
        here = matrix[start : start + length]
        if part.places is None:
            _write(part.values, view, here)
        elif not len(part.values):
            here[:] = 0
        elif view.quantised is not None:
            _write(part.values.take(part.places, axis=0, mode="clip"), view, here)
        else:  # an absent row gets the values of the row before it, which are not used
            np.take(np.asarray(part.values, dtype=view.dtype), part.places, axis=0, out=here, mode="clip")
        if part.present is not None:
            assert mask is not None
            mask[start : start + length] = part.present
        start += length
    return matrix, mask


def _write(values: Array, view: ViewColumns, out: Array) -> None:
    """Write values as they are clustered."""
    if view.quantised is not None and len(values):
        view.quantised.widened(values.view(view.quantised.dtype), out)
    else:
        out[:] = values


def _rows(batch: Batch, view: ViewColumns, width: int | None) -> ListRows:
    column = view.columns[0]
    array = batch.rows.column(column)
    while isinstance(array, pa.ExtensionArray):
        array = array.storage
    if types.is_fixed_size_binary(array.type):
        assert view.quantised is not None
        return _of_bytes(array, view.quantised.dtype)
    if types.is_fixed_size_list(array.type):
        return _fixed(array, batch, column)
    return _varying(whole_lists(array), batch, column, width)


def _fixed(array: pa.FixedSizeListArray, batch: Batch, column: str) -> ListRows:
    """Read fixed-size lists: null lists take up space, too, so row i is at position i."""
    width = array.type.list_size
    if width == 0:  # empty lists are missing views
        return ListRows(np.empty((0, 0)), np.zeros(len(array), dtype=bool))
    present = valid(array)
    values = array.values.slice(array.offset * width, len(array) * width)
    return _in_place(values, present, width, batch, column)


def _in_place(values: pa.Array, present: Mask | None, width: int, batch: Batch, column: str) -> ListRows:
    """Read lists that all take up `width` values, whether they are present or not."""
    if values.null_count:
        faulty = _with_nulls(values, width)
        _refuse_nulls(faulty if present is None else faulty & present, batch, column)
    return ListRows(flat(values).reshape(-1, width), present)


def _of_bytes(array: pa.FixedSizeBinaryArray, dtype: np.dtype[Any]) -> ListRows:
    """Read bytes: those of nulls take up space, too."""
    each, buffer = array.type.byte_width, array.buffers()[1]
    width = each // dtype.itemsize
    if buffer is None:
        return ListRows(np.zeros((len(array), width), dtype=dtype), valid(array))
    values = np.frombuffer(buffer, np.uint8, count=len(array) * each, offset=array.offset * each)
    return ListRows(values.view(dtype).reshape(len(array), width), valid(array))


def _varying(array: pa.ListArray, batch: Batch, column: str, width: int | None) -> ListRows:
    present, offsets = valid(array), offsets_of(array)
    lengths = np.diff(offsets)
    if width is None:
        width = _first_length(lengths, present)
    if width and present is not None and (lengths == width).all():  # null lists take up space, too
        values = array.values.slice(int(offsets[0]), len(lengths) * width)
        return _in_place(values, present, width, batch, column)
    counted = _counted(present, len(lengths))
    if not _in_order(offsets, counted, width):
        held = lengths > 0 if present is None else present & (lengths > 0)
        present = None if held.all() else held  # an empty list is a missing view
        _refuse_ragged(lengths, held, width, batch, column)
        counted = _counted(present, len(lengths))
    n_present = int(counted[-1]) if len(counted) else 0
    first, last = int(offsets[0]), int(offsets[-1])
    values = array.values.slice(first, last - first)
    if last - first != n_present * width:  # null lists that take up space
        begins = (offsets[:-1] if present is None else offsets[:-1][present]) - first
        values = values.take(pa.array((begins[:, None] + np.arange(width)).ravel()))
    if values.null_count:
        faulty = np.zeros(len(lengths), dtype=bool)
        faulty[slice(None) if present is None else present] = _with_nulls(values, width)
        _refuse_nulls(faulty, batch, column)
    numbers = flat(values).reshape(n_present, width)
    return ListRows(numbers, present, None if present is None else counted - 1)


def _first_length(lengths: Integers, present: Mask | None) -> int:
    held = lengths > 0 if present is None else present & (lengths > 0)
    return int(lengths[held.argmax()]) if held.any() else 0


def _counted(present: Mask | None, n_rows: int) -> Integers:
    """Count the present lists up to each row."""
    if present is None:
        return np.arange(1, n_rows + 1, dtype=np.int32)
    return np.cumsum(present, dtype=np.int32)


def _in_order(offsets: Integers, counted: Integers, width: int) -> bool:
    """Check in one comparison that every present list has the width and no null list takes up space."""
    return bool((offsets[1:] - offsets[0] == counted * offsets.dtype.type(width)).all())


def _refuse_ragged(lengths: Integers, held: Mask, width: int, batch: Batch, column: str) -> None:
    odd = held & (lengths != width)
    if odd.any():
        row = int(odd.argmax())
        raise DataError(
            f"{batch.place(column, row)}: a list of {lengths[row]} values where {width} were expected. The "
            "lists of a view must have the same length; null stands for a missing view."
        )


def valid(array: pa.Array) -> Mask | None:
    """Return the mask of values that are not null; None if none is null."""
    if not array.null_count:
        return None
    bits = array.buffers()[0]
    first = array.offset // 8
    read = np.frombuffer(
        bits, dtype=np.uint8, offset=first, count=(array.offset + len(array) + 7) // 8 - first
    )
    start = array.offset - 8 * first
    return np.unpackbits(read, bitorder="little")[start : start + len(array)].view(bool)


def whole_lists(array: pa.Array) -> pa.Array:
    """Return lists whose values are contiguous and in order, which those of list views need not be."""
    if types.is_list(array.type) or types.is_large_list(array.type):
        return array
    present = valid(array)
    lengths = np.asarray(array.sizes, dtype=np.int64)  # that of a null may be any
    if present is not None:
        lengths = np.where(present, lengths, 0)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    mask = None if present is None else pa.array(~present)
    return pa.LargeListArray.from_arrays(pa.array(offsets), array.flatten(), mask=mask)


def offsets_of(array: pa.Array) -> Integers:
    """Return where each list begins among the values, and where the last one ends."""
    dtype = np.dtype(np.int64 if types.is_large_list(array.type) else np.int32)
    buffer = array.buffers()[1]
    if buffer is None or buffer.size == 0:
        return np.zeros(1, dtype=np.int64)
    place = array.offset * dtype.itemsize
    offsets: Integers = np.frombuffer(buffer, dtype=dtype, count=len(array) + 1, offset=place)
    return offsets


def _with_nulls(values: pa.Array, width: int) -> Mask:
    """Return which lists, of `width` values each, contain a null."""
    if width % 8 == 0 and values.offset % 8 == 0:  # every list fills whole bytes of the bitmap
        start, count = values.offset // 8, len(values) // 8
        bits = np.frombuffer(values.buffers()[0], dtype=np.uint8, offset=start, count=count)
        return np.asarray((bits.reshape(-1, width // 8) != 255).any(axis=1))
    whole = valid(values)
    assert whole is not None
    return np.asarray(~whole.reshape(-1, width).all(axis=1))


def _refuse_nulls(faulty: Mask, batch: Batch, column: str) -> None:
    if faulty.any():
        row = int(np.flatnonzero(faulty)[0])
        raise DataError(
            f"{batch.place(column, row)}: a null within the list. A view must be whole or absent: make the "
            "whole list null, or fill the value in."
        )


def read_numbers(batches: Sequence[Batch], view: ViewColumns) -> Array:
    """Return the matrix of a view; a row of nulls becomes a row of NaN, which is a missing view."""
    matrix = np.empty((sum(map(len, batches)), len(view.columns)), dtype=view.dtype)
    start = 0
    for batch in batches:
        rows = matrix[start : start + len(batch)]
        for place, name in enumerate(view.columns):
            column = batch.rows.column(name)
            rows[:, place] = flat(column)
            present = valid(column)
            if present is not None:
                rows[~present, place] = np.nan
        start += len(batch)
    return matrix


class SparseRows(NamedTuple):
    """The arrays of a CSR matrix, in Arrow's memory."""

    ends: Integers  # where each row begins, and where the last one ends
    indices: Integers
    values: Array
    present: Mask | None


def read_sparse(batches: Sequence[Batch], view: ViewColumns) -> tuple[Any, Mask | None]:
    """Return the CSR matrix of a view and the mask of the rows that have it."""
    assert view.width is not None
    parts = [_sparse_rows(batch, view.columns[0], view.width) for batch in batches]
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


def _sparse_rows(batch: Batch, column: str, width: int) -> SparseRows:
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
