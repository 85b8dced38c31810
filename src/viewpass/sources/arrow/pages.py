"""Columns of lists straight from the pages of a Parquet file, every row in its place.

PyArrow reads any column; for lists it works out the levels of every single number, which takes most of its
time. Here rows of one width (or none) of float32 or float64 are taken run by run into the memory they are
clustered in. Whatever is not as plain as that is odd, and PyArrow's: it reads the rows again, or says what
is wrong with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import FileIO
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types

from viewpass.kernels import pages
from viewpass.kernels.grid import Array
from viewpass.kernels.pool import Pool
from viewpass.sources.arrow import headers
from viewpass.sources.arrow.headers import Page, read_header

ENCODINGS = {"PLAIN", "RLE", "RLE_DICTIONARY", "PLAIN_DICTIONARY"}
CODECS = {"SNAPPY": "snappy", "ZSTD": "zstd", "GZIP": "gzip", "BROTLI": "brotli", "UNCOMPRESSED": None}
ITEMS = {"FLOAT": 4, "DOUBLE": 8}
MOST_HEADER = 2**10
MOST_PAGE = 2**25  # bytes; of larger ones too many would be in memory


class OddError(Exception):
    """The column is not plain: let PyArrow read it."""


@dataclass(frozen=True)
class ListColumn:
    """A column of lists: its leaf in the file, and the levels that tell a value, and a list that has any."""

    name: str
    leaf: int
    type: Any
    item: int
    whole: int
    least: int


def plain_lists(opened: pq.ParquetFile, columns: Sequence[str]) -> list[ListColumn]:
    """The columns that may be read here, as far as the footer tells."""
    schema, about = opened.schema, opened.metadata
    leaves: dict[str, list[int]] = {}
    for number in range(len(schema)):
        leaves.setdefault(schema.column(number).path.split(".")[0], []).append(number)
    found = []
    if any(name not in opened.schema_arrow.names for name in columns):
        return []
    for name in columns:
        field = opened.schema_arrow.field(name)
        mine = leaves.get(name, [])
        if len(mine) != 1 or not _is_plain(field.type):
            continue
        leaf = schema.column(mine[0])
        item = ITEMS.get(leaf.physical_type, 0)
        least = int(field.nullable) + 1
        whole = least + int(field.type.value_field.nullable)
        levels = leaf.max_repetition_level, leaf.max_definition_level
        if item != field.type.value_type.bit_width // 8 or levels != (1, whole):
            continue
        if all(_is_known(about.row_group(g).column(mine[0])) for g in range(about.num_row_groups)):
            found.append(ListColumn(name, mine[0], field.type, item, whole, least))
    return found


def _is_plain(type: Any) -> bool:
    lists = types.is_list(type) or types.is_large_list(type) or types.is_fixed_size_list(type)
    return bool(lists) and bool(types.is_float32(type.value_type) or types.is_float64(type.value_type))


def _is_known(chunk: Any) -> bool:
    return chunk.compression in CODECS and set(chunk.encodings) <= ENCODINGS and not chunk.file_path


class ListReader:
    """One column of one file, from a row group on. Rows come in batches as large as they are asked for."""

    def __init__(self, file: FileIO, column: ListColumn, about: Any, groups: Sequence[int]) -> None:
        self._file, self._column, self._pool = file, column, Pool()
        self._chunks = [(about.row_group(g).column(column.leaf), about.row_group(g).num_rows) for g in groups]
        self._at = self._end = self._entries = 0  # in the file; entries that the column chunk still has
        self._rows = 0  # that the row group still has
        self._codec: Any = None
        self._known: Any = None  # the dictionary: where it lies, values, what keeps it
        self._held: list[Any] = []  # what the state points to
        self._body = np.empty(0, dtype=np.uint8)
        self._state = np.zeros(pages.N_STATES, dtype=np.int64)
        self._address: int = self._state.__array_interface__["data"][0]
        self.width = column.type.list_size if types.is_fixed_size_list(column.type) else self._first_width()
        if self.width == 0:
            raise OddError
        self._offsets: Array = np.empty(0)

    def _first_width(self) -> int:
        self._next_page()
        before = self._state.copy()
        width: int = pages.kernel("length")(self._address, self._column.whole, self._column.least)
        self._state[:] = before
        return width

    def read(self, n_rows: int) -> Any:
        """The next rows, as an Arrow array of the column's type."""
        column, state = self._column, self._state
        rows = self._pool.lend(n_rows * self.width * column.item, np.uint8)
        present = np.empty(n_rows, dtype=np.uint8)
        addresses = [part.__array_interface__["data"][0] for part in (rows, present)]
        state[pages.ROW] = state[pages.N_PRESENT] = 0
        while state[pages.ROW] < n_rows or state[pages.LACKING]:
            if state[pages.ENTRIES] == 0:
                self._next_page()
            before = int(state[pages.ROW])
            settings = n_rows, self.width, column.item, column.whole, column.least
            if pages.kernel("place")(self._address, *addresses, *settings) != pages.GO_ON:
                raise OddError
            self._rows -= int(state[pages.ROW]) - before
        return self._array(rows, present, int(state[pages.N_PRESENT]))

    def _array(self, rows: Array, present: Array, n_present: int) -> Any:
        type, n_rows = self._column.type, len(present)
        if n_present == 0:
            return pa.nulls(n_rows, type)
        mask = None
        if n_present < n_rows:
            mask = pa.py_buffer(np.packbits(present, bitorder="little"))
        n_values = n_rows * self.width
        values = pa.Array.from_buffers(type.value_type, n_values, [None, pa.py_buffer(rows)], 0)
        buffers = [mask]
        if not types.is_fixed_size_list(type):
            dtype = np.int64 if types.is_large_list(type) else np.int32
            if len(self._offsets) <= n_rows:
                self._offsets = self.width * np.arange(n_rows + 1, dtype=dtype)
            buffers.append(pa.py_buffer(self._offsets))
        return pa.Array.from_buffers(type, n_rows, buffers, n_rows - n_present, children=[values])

    # ---- pages

    def _next_page(self) -> None:
        """Lay the next page of values out."""
        while self._state[pages.ENTRIES] == 0:
            if self._entries == 0:
                self._next_chunk()
            about = self._header()
            if about.kind == headers.INDEX:
                self._at += about.packed
            elif about.kind == headers.DICTIONARY:
                self._take_dictionary(about)
            else:
                self._take_values(about)

    def _next_chunk(self) -> None:
        if self._rows or self._state[pages.LACKING] or not self._chunks:
            raise OddError
        chunk, self._rows = self._chunks.pop(0)
        first = chunk.dictionary_page_offset if chunk.has_dictionary_page else None
        self._at = min(chunk.data_page_offset, first or chunk.data_page_offset)
        self._end = self._at + chunk.total_compressed_size
        self._entries, self._known = chunk.num_values, None
        codec = CODECS[chunk.compression]
        self._codec = None if codec is None else pa.Codec(codec)

    def _header(self) -> Page:
        try:
            about = read_header(self._bytes(min(MOST_HEADER, self._end - self._at), 0).tobytes())
        except (ValueError, IndexError) as problem:
            raise OddError from problem
        self._at += about.length
        if about.packed > self._end - self._at or max(about.packed, about.unpacked) > MOST_PAGE:
            raise OddError
        return about

    def _bytes(self, n_bytes: int, onward: int) -> Array:
        """Bytes of the file from here on, good until the next are read; `onward`: go on after so many."""
        if len(self._body) < n_bytes:
            self._body = np.empty(n_bytes + n_bytes // 4, dtype=np.uint8)
        part = self._body[:n_bytes]
        self._file.seek(self._at)
        n_read = 0
        while n_read < n_bytes:
            n_more = self._file.readinto(part.data[n_read:])
            if not n_more:
                raise OddError
            n_read += n_more
        self._at += onward
        return part

    def _unpacked(self, packed: Array, n_bytes: int) -> tuple[Any, int]:
        """Content in memory of its own (or where it was read to), and where that lies."""
        if self._codec is None:
            if len(packed) != n_bytes:
                raise OddError
            return packed, packed.__array_interface__["data"][0]
        buffer = self._codec.decompress(pa.py_buffer(packed), n_bytes)
        return buffer, buffer.address

    def _take_dictionary(self, about: Page) -> None:
        if about.encoding not in (headers.PLAIN, headers.PLAIN_DICTIONARY):
            raise OddError
        packed = self._bytes(about.packed, about.packed)
        kept, address = self._unpacked(packed if self._codec else packed.copy(), about.unpacked)
        if about.n_entries * self._column.item > about.unpacked:
            raise OddError
        self._known = kept, address, about.n_entries

    def _take_values(self, about: Page) -> None:
        body = self._bytes(about.packed, about.packed)
        if about.n_entries > self._entries:
            raise OddError
        if about.n_entries == 0:
            return
        self._entries -= about.n_entries
        if about.kind == headers.DATA:
            kept, address = self._unpacked(body, about.unpacked)
            end = address + about.unpacked
            content = np.frombuffer(kept, dtype=np.uint8)
            repeated, defined = self._levels(content)
            self._held = [kept]
            start = address + repeated + defined + 8
            spans = (address + 4, repeated), (address + 8 + repeated, defined)
        else:
            levels = body[: about.repeated + about.defined].copy()
            n_bytes = about.unpacked - len(levels)
            if n_bytes < 0 or len(levels) < about.repeated + about.defined:
                raise OddError
            codec, self._codec = self._codec, self._codec if about.is_packed else None
            kept, start = self._unpacked(body[len(levels) :], n_bytes) if n_bytes else (levels, 0)
            self._codec = codec
            end = start + n_bytes
            address = levels.__array_interface__["data"][0]
            self._held = [levels, kept]
            spans = (address, about.repeated), (address + about.repeated, about.defined)
        if about.encoding in (headers.PLAIN_DICTIONARY, headers.RLE_DICTIONARY):
            start, end = self._looked_up(start, end, about.n_entries)
        elif about.encoding != headers.PLAIN:
            raise OddError
        state = self._state
        for decoder, (first, length) in zip((pages.REPEATED, pages.DEFINED), spans, strict=True):
            state[decoder + pages.AT], state[decoder + pages.END] = first, first + length
            state[decoder + pages.LEFT] = 0
        state[pages.ENTRIES], state[pages.NEXT], state[pages.LAST] = about.n_entries, start, end

    def _levels(self, content: Array) -> tuple[int, int]:
        """Bytes of both kinds of levels, each after its length."""
        lengths = []
        at = 0
        for _ in range(2):
            if at + 4 > len(content):
                raise OddError
            lengths.append(int.from_bytes(content[at : at + 4].tobytes(), "little"))
            at += 4 + lengths[-1]
        if at > len(content):
            raise OddError
        return lengths[0], lengths[1]

    def _looked_up(self, start: int, end: int, n_most: int) -> tuple[int, int]:
        if self._known is None:
            raise OddError
        _, known, n_known = self._known
        item = self._column.item
        values = np.empty(n_most * item, dtype=np.uint8)
        address: int = values.__array_interface__["data"][0]
        n_found = pages.kernel("look_up")(start, end - start, n_most, known, n_known, address, item)
        if n_found < 0:
            raise OddError
        self._held.append(values)
        return address, address + n_found * item


class PlainRows:
    """Batches of a local file whose columns are all plain lists; a context, for it holds the file open."""

    def __init__(self, path: str, opened: Any, columns: list[ListColumn], groups: list[int]) -> None:
        self._schema = pa.schema([opened.schema_arrow.field(column.name) for column in columns])
        self._file = FileIO(path)
        about = opened.metadata
        self.n_rows = sum(about.row_group(g).num_rows for g in groups)
        try:
            self._readers = [ListReader(self._file, column, about, groups) for column in columns]
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> PlainRows:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._file.close()

    def batches(self, lengths: Iterator[int]) -> Iterator[pa.RecordBatch]:
        """Batches of these lengths until the rows are over."""
        left = self.n_rows
        while left:
            n_rows = min(next(lengths), left)
            arrays = [reader.read(n_rows) for reader in self._readers]
            yield pa.RecordBatch.from_arrays(arrays, schema=self._schema)
            left -= n_rows
