"""Fast reader of list columns: decodes Parquet pages directly into the rows of a matrix.

PyArrow computes the repetition and definition levels of every number in a list, which takes most of its
time. This reader copies lists of float32 or float64 that are null or have one common length, run by run, into
the memory they are clustered in (native/parquet_lists.hpp). Everything else, and everything that it cannot
prove PyArrow would read in the same way, is unsupported and left to PyArrow, which also reports faults.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import FileIO
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types

from viewpass.kernels.backend import native
from viewpass.kernels.grid import Array
from viewpass.kernels.pool import Pool

CODECS = {0: None, 1: "snappy", 6: "zstd"}
FLOAT_TYPES = {"FLOAT": np.dtype(np.float32), "DOUBLE": np.dtype(np.float64)}
MOST_HEADER = 2**10  # bytes
MOST_PAGE = 2**25
MOST_BATCH = 2**31  # bytes; a larger size stated by a file is not trusted
NONE = np.empty(0, dtype=np.uint8)


class UnsupportedError(Exception):
    """The column cannot be read here and is left to PyArrow."""


@dataclass(frozen=True)
class ListColumn:
    """A list column: its number in the file, its types, and the definition level of a value."""

    name: str
    leaf: int
    type: Any
    dtype: np.dtype[Any]
    value_level: int
    nullable: bool


def plain_lists(opened: pq.ParquetFile, columns: Sequence[str]) -> list[ListColumn]:
    """Return the columns that this reader supports, judging by the schema."""
    schema, fields = opened.schema, opened.schema_arrow
    if native is None or any(fields.names.count(name) != 1 for name in columns):
        return []
    roots = [schema.column(number).path.split(".")[0] for number in range(len(schema))]
    found = []
    for name in columns:
        field = fields.field(name)
        if roots.count(name) != 1 or not _is_plain(field.type):
            continue
        number = roots.index(name)
        leaf = schema.column(number)
        dtype = np.dtype(field.type.value_type.to_pandas_dtype())
        value_level = 1 + int(field.nullable) + int(field.type.value_field.nullable)
        levels = leaf.max_repetition_level, leaf.max_definition_level
        if FLOAT_TYPES.get(leaf.physical_type) == dtype and levels == (1, value_level):
            found.append(ListColumn(name, number, field.type, dtype, value_level, field.nullable))
    return found


def _is_plain(type: Any) -> bool:
    lists = isinstance(type, pa.ListType | pa.LargeListType | pa.FixedSizeListType)
    return lists and type.value_type in (pa.float32(), pa.float64())


class ListReader:
    """Reads one column of one file, from the given column chunks, in batches of any size."""

    def __init__(self, file: FileIO, column: ListColumn, chunks: Sequence[Any]) -> None:
        assert native is not None
        self._file, self._column, self._pool = file, column, Pool()
        self._chunks = list(chunks)
        self._chunk: Any = None
        self._at = self._end = 0  # in the file
        self._body = self._offsets = NONE
        kind = native.FloatLists if column.dtype == np.float32 else native.DoubleLists
        self._lists = kind(column.value_level, column.nullable)
        self._next_page()
        fixed = types.is_fixed_size_list(column.type)
        self.width = column.type.list_size if fixed else self._lists.first_length()
        if self.width == 0:
            raise UnsupportedError

    def read(self, n_rows: int) -> Any:
        """Read the next rows as an Arrow array of the column's type."""
        n_values = n_rows * self.width
        if n_values * self._column.dtype.itemsize > MOST_BATCH:
            raise UnsupportedError
        rows = self._pool.lend(n_values, self._column.dtype)
        present = np.empty(n_rows, dtype=np.uint8)
        matrix = rows.reshape(n_rows, self.width)
        n_done = self._lists.place(matrix, present, 0)
        while n_done < n_rows or not self._lists.is_settled:
            self._next_page()
            n_done = self._lists.place(matrix, present, n_done)
        return self._array(rows, present)

    def _array(self, rows: Array, present: Array) -> Any:
        type, n_rows, n_present = self._column.type, len(present), int(np.count_nonzero(present))
        if n_present == 0:
            return pa.nulls(n_rows, type)
        mask = None
        if n_present < n_rows:
            mask = pa.py_buffer(np.packbits(present, bitorder="little"))
        values = pa.Array.from_buffers(type.value_type, len(rows), [None, pa.py_buffer(rows)], 0)
        buffers = [mask]
        if not types.is_fixed_size_list(type):
            dtype = np.int64 if types.is_large_list(type) else np.int32
            if len(self._offsets) <= n_rows:
                self._offsets = self.width * np.arange(n_rows + 1, dtype=dtype)
            buffers.append(pa.py_buffer(self._offsets))
        return pa.Array.from_buffers(type, n_rows, buffers, n_rows - n_present, children=[values])

    def _next_page(self) -> None:
        """Decode the next page of values."""
        assert native is not None
        while not self._lists.needs_page:
            self._next_chunk()
        while self._lists.needs_page:
            header = native.page_header(self._bytes(min(MOST_HEADER, self._end - self._at)))
            self._at += header.length
            most = max(header.packed_size, header.full_size)
            if header.packed_size > self._end - self._at or most > MOST_PAGE:
                raise UnsupportedError
            body = self._bytes(header.packed_size)
            self._at += header.packed_size
            levels, packed = body[: header.levels_size], body[header.levels_size :]
            values = self._unpacked(packed, header.full_size - len(levels), header.is_packed)
            if header.is_dictionary:
                self._lists.set_dictionary(header, values)
            else:
                self._lists.begin_page(header, levels, values)

    def _next_chunk(self) -> None:
        if not self._chunks:
            raise UnsupportedError
        self._chunk = self._chunks.pop(0)
        self._lists.begin_chunk(self._chunk)
        self._at, self._end = self._chunk.first, self._chunk.first + self._chunk.length

    def _bytes(self, n_bytes: int) -> Array:
        """Read the next bytes of the file into a buffer that the following call reuses."""
        if len(self._body) < n_bytes:
            self._body = np.empty(n_bytes + n_bytes // 4, dtype=np.uint8)
        return _read_at(self._file, self._at, self._body[:n_bytes])

    def _unpacked(self, packed: Array, n_bytes: int, is_packed: bool) -> Array:
        """Decompress a page whose codec states its size: after a shorter one, memory would be undefined."""
        assert native is not None
        codec = CODECS[self._chunk.codec] if is_packed and (len(packed) or n_bytes) else None
        stated = len(packed) if codec is None else native.stated_size(self._chunk, packed)
        if stated != n_bytes:
            raise UnsupportedError
        if codec is None:
            return packed
        return np.frombuffer(pa.Codec(codec).decompress(pa.py_buffer(packed), n_bytes), dtype=np.uint8)


class PlainRows:
    """Reads batches of list columns from a local file, which it keeps open."""

    def __init__(self, path: str, opened: Any, columns: list[ListColumn], groups: list[int]) -> None:
        self._schema = pa.schema([opened.schema_arrow.field(column.name) for column in columns])
        self._file = FileIO(path)
        try:
            chunks = [_chunks(self._file, opened, column, groups) for column in columns]
            self.n_rows = sum(chunk.n_rows for chunk in chunks[0])
            self._readers = [ListReader(self._file, *both) for both in zip(columns, chunks, strict=True)]
        except ValueError as problem:
            self.close()
            raise UnsupportedError from problem
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def batches(self, lengths: Iterator[int]) -> Iterator[pa.RecordBatch]:
        """Yield batches of these lengths until the end of the rows."""
        left = self.n_rows
        while left:
            n_rows = min(next(lengths), left)
            try:
                arrays = [reader.read(n_rows) for reader in self._readers]
            except ValueError as problem:
                raise UnsupportedError from problem
            yield pa.RecordBatch.from_arrays(arrays, schema=self._schema)
            left -= n_rows


def _chunks(file: FileIO, opened: Any, column: ListColumn, groups: Sequence[int]) -> list[Any]:
    """Locate the column in these row groups by our own footer parser; damaged footers can crash PyArrow's."""
    assert native is not None
    end = file.seek(0, 2) - 8
    size = int.from_bytes(_read_at(file, end, np.empty(4, dtype=np.uint8)).tobytes(), "little")
    footer = _read_at(file, end - size, np.empty(size, dtype=np.uint8))
    is_double = column.dtype == np.float64
    chunks = native.column_chunks(footer, end - size, column.leaf, is_double, column.value_level)
    if len(chunks) != opened.metadata.num_row_groups:
        raise UnsupportedError
    return [chunks[group] for group in groups]


def _read_at(file: FileIO, at: int, target: Array) -> Array:
    """Fill the target with bytes of the file."""
    if at < 0:
        raise UnsupportedError
    file.seek(at)
    n_read = 0
    while n_read < len(target):
        n_more = file.readinto(target.data[n_read:])
        if not n_more:
            raise UnsupportedError
        n_read += n_more
    return target
