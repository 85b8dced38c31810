"""Lists of numbers, one a row, as the rows of a matrix: where they lie, if Arrow's layout allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import types

from viewpass.errors import DataError
from viewpass.kernels.grid import Array, Integers, Mask
from viewpass.sources.arrow.batches import Batch
from viewpass.sources.arrow.columns import ViewColumns, flat


class Rows(NamedTuple):
    """Rows of a view in one batch; `packed` holds the present ones only."""

    values: Array
    present: Mask | None  # None: every row
    packed: bool


def read_lists(
    batches: Sequence[Batch], view: ViewColumns, width: int | None
) -> tuple[Array | None, Mask | None]:
    """The matrix of a view and which rows have it; None for a view that none of them has."""
    parts = []
    for batch in batches:
        rows = _rows(batch, view.columns[0], width)
        if width is None and rows.values.shape[1]:
            width = rows.values.shape[1]
        parts.append(rows)
    if not width:
        return None, None
    if len(parts) == 1 and not (parts[0].packed and parts[0].present is not None):
        only = parts[0]
        return np.asarray(only.values, dtype=view.dtype), only.present
    return _joined(parts, list(map(len, batches)), width, view)


def _joined(
    parts: Sequence[Rows], lengths: Sequence[int], width: int, view: ViewColumns
) -> tuple[Array, Mask | None]:
    matrix = np.empty((sum(lengths), width), dtype=view.dtype)
    mask = None if all(part.present is None for part in parts) else np.ones(len(matrix), dtype=bool)
    start = 0
    for part, length in zip(parts, lengths, strict=True):
        here = matrix[start : start + length]
        if part.present is None:
            here[:] = part.values
        else:
            assert mask is not None
            mask[start : start + length] = part.present
            here[part.present] = part.values if part.packed else part.values[part.present]
            here[~part.present] = 0
        start += length
    return matrix, mask


def _rows(batch: Batch, column: str, width: int | None) -> Rows:
    array = batch.rows.column(column)
    while isinstance(array, pa.ExtensionArray):
        array = array.storage
    if types.is_fixed_size_list(array.type):
        return _fixed(array, batch, column)
    return _varying(whole_lists(array), batch, column, width)


def _fixed(array: pa.FixedSizeListArray, batch: Batch, column: str) -> Rows:
    """A null list has values, too (null ones if it comes from Parquet), so every row is in its place."""
    width = array.type.list_size
    present = valid(array)
    values = array.values.slice(array.offset * width, len(array) * width)
    if values.null_count:
        faulty = _torn(values, width)
        _refuse_nulls(faulty if present is None else faulty & present, batch, column)
    return Rows(flat(values).reshape(len(array), width), present, packed=False)


def _varying(array: pa.ListArray, batch: Batch, column: str, width: int | None) -> Rows:
    present = valid(array)
    offsets = offsets_of(array)
    lengths = np.diff(offsets)
    if present is None:
        present = None if lengths.all() else lengths > 0
    else:
        present &= lengths > 0  # an empty list says nothing: a missing view
        lengths[~present] = 0
    if not len(lengths) or not (wide := int(lengths.max())):
        return Rows(np.zeros((0, width or 0)), np.zeros(len(lengths), dtype=bool), packed=True)
    if width is None:
        width = int(lengths[lengths > 0][0])
    if wide != width or (lengths.min() if present is None else lengths[present].min()) != width:
        odd = (lengths != width) if present is None else present & (lengths != width)
        row = int(np.flatnonzero(odd)[0])
        raise DataError(
            f"{batch.place(column, row)}: a list of {lengths[row]} values where {width} were expected. The "
            "lists of a view must have the same length; null stands for a missing view."
        )
    first, last = int(offsets[0]), int(offsets[-1])
    values = array.values.slice(first, last - first)
    numbers = flat(values)
    n_present = len(lengths) if present is None else int(present.sum())
    if last - first != n_present * width:  # null lists that hold values nonetheless
        places = (offsets[:-1][present] - first)[:, None] + np.arange(width)
        numbers = numbers[places.ravel()]
        values = values.take(pa.array(places.ravel()))
    if values.null_count:
        faulty = _torn(values, width)
        rows = np.arange(len(lengths)) if present is None else np.flatnonzero(present)
        _refuse_nulls(np.isin(np.arange(len(lengths)), rows[faulty]), batch, column)
    return Rows(numbers.reshape(n_present, width), present, packed=True)


def valid(array: pa.Array) -> Mask | None:
    """Which values are not null; None if all are there."""
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
    """Lists whose values stand one after the other; those of list views need not."""
    if types.is_list(array.type) or types.is_large_list(array.type):
        return array
    present = valid(array)
    lengths = np.asarray(array.value_lengths().fill_null(0), dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    mask = None if present is None else pa.array(~present)
    return pa.LargeListArray.from_arrays(pa.array(offsets), array.flatten(), mask=mask)


def offsets_of(array: pa.Array) -> Integers:
    """Where each list begins among the values, and where the last one ends."""
    dtype = np.dtype(np.int64 if types.is_large_list(array.type) else np.int32)
    buffer = array.buffers()[1]
    if buffer is None or buffer.size == 0:
        return np.zeros(1, dtype=np.int64)
    place = array.offset * dtype.itemsize
    offsets: Integers = np.frombuffer(buffer, dtype=dtype, count=len(array) + 1, offset=place)
    return offsets


def _torn(values: pa.Array, width: int) -> Mask:
    """Which of the lists, `width` values each, hold a null."""
    if width % 8 == 0 and values.offset % 8 == 0:  # a list is whole bytes of the mask
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
