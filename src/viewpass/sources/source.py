"""The base class of sources: rows of several views that are read chunk by chunk."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self, TypeVar

import numpy as np

from viewpass.errors import DataError, SettingError
from viewpass.kernels.grid import Array
from viewpass.views.chunk import Chunk, Schema
from viewpass.views.gaps import with_gaps

T = TypeVar("T")

DEPTH = 2
_END: Any = object()


def ahead(items: Iterator[T], depth: int = DEPTH) -> Iterator[T]:
    """Yield the same items, up to `depth` of which are produced in advance.

    An error is raised in place of the item that caused it. The thread ends with the items, with the
    generator (closed or collected), and with the interpreter, which waits for the item in progress.
    """
    thread = ThreadPoolExecutor(1, thread_name_prefix="viewpass-reader")
    coming: deque[Future[T]] = deque()
    try:
        for _ in range(depth):
            coming.append(thread.submit(next, items, _END))
        while (item := coming.popleft().result()) is not _END:
            coming.append(thread.submit(next, items, _END))
            yield item
    finally:
        thread.shutdown(wait=True, cancel_futures=True)
        if hasattr(items, "close"):
            items.close()


READ_ROWS, READ_BYTES = 2**14, 2**23  # read at a time from files


class Source(metaclass=ABCMeta):
    """Rows of several views that can be read in order, chunk by chunk.

    An abstract class rather than a protocol: an instance check of a protocol would read the attribute
    `schema` of any object it is given. Ids that are found by reading come with the chunks.
    """

    schema: Schema
    """Names and widths of the views, as far as they are known before reading."""
    n_rows: int | None
    """Number of rows; None if it is known only after reading them."""
    row_ids: Array | None
    """Ids that are known before reading."""
    rereadable: bool = True
    """Whether the rows can be read more than once, in the same order."""
    in_memory: bool = True
    """Whether the rows are in memory; otherwise decoding them takes processor time."""
    in_place: bool = False
    """Whether chunks share memory with the data, so that many take no more memory than one."""
    row_bytes: int | None = None
    """Approximate size of a row that is not in memory, if known."""
    left_out: tuple[str, ...] = ()
    """Columns of a table that belong to no view and are not the id."""
    sparse_widths: Mapping[str, int] = MappingProxyType({})
    """Columns of each sparse view, of which its rows may store few; its centres store all of them."""
    id_name: str | None = None
    """The column that the ids are from, where there is one."""
    cuts: Sequence[int] = ()
    """The rows after which reading can begin without decoding what comes before, where not all are."""
    portable: bool = False
    """Whether the source can be pickled and read in another process or on another machine: files can."""
    marks_gaps: bool = False
    """Whether values missing inside rows are marked (`Chunk.gaps`) instead of refused."""

    @abstractmethod
    def _chunks(self, size: int, start: int) -> Iterator[Chunk]:
        """Read the rows from row `start` on, in chunks that end at multiples of `size`."""

    def chunks(self, size: int, start: int = 0) -> Iterator[Chunk]:
        """Read the rows from row `start` on, in chunks that end at multiples of `size`."""
        for chunk in self._chunks(size, start):
            yield self._finished(chunk)

    def span(self, start: int, size: int) -> Chunk:
        """Read the `size` rows (fewer at the end) that begin at row `start`."""
        return self._finished(self._span(start, size))

    def _finished(self, chunk: Chunk) -> Chunk:
        """The rows with the views in the order of the schema, and their gaps marked."""
        if chunk.names != self.schema.names:
            chunk = _arranged(chunk, self.schema)
        return with_gaps(chunk) if self.marks_gaps else chunk

    def _span(self, start: int, size: int) -> Chunk:
        chunks = self._chunks(start + size, start)  # the next multiple of which is itself
        try:
            return next(iter(chunks))
        except StopIteration:
            raise DataError(f"there is no row {start}: the data has become shorter.") from None
        finally:
            if isinstance(chunks, Generator):
                chunks.close()

    def keeping(self, columns: Sequence[str]) -> Source:
        """Return the same rows, whose chunks also have these columns as they are (`Origin.kept`)."""
        if not columns:
            return self
        raise SettingError(
            f"column {columns[0]!r} cannot be kept: the data is no table. Give Parquet, Arrow or CSV files."
        )

    def timed(self, column: str) -> Source:
        """Return the same rows with the times that this column has (`Origin.times`)."""
        raise SettingError(
            f"time={column!r} names a column of a table, which the data is not. Give files or a table, or "
            "count rows instead of time."
        )

    def place(self, start: int, stop: int) -> str:
        """Describe consecutive rows for an error message."""
        return f"rows {start} to {stop - 1}"

    def arranged(self, names: tuple[str, ...]) -> Self:
        """Return the same rows with the views in this order; views that the source lacks are absent."""
        check_known(self.schema.names, names)
        return self if names == self.schema.names else self._with(schema=self.schema.arranged(names))

    def until(self, stop: int) -> Self:
        """Return the same rows, of which none from row `stop` on are read in advance."""
        return self

    def marking_gaps(self) -> Self:
        """Return the same rows with values that are missing marked instead of refused."""
        return self._with(marks_gaps=True)

    def suited(self, schema: Schema) -> Self:
        """Return the same rows in the columns of a model, where the source makes or orders columns itself."""
        return self

    def _with(self, **changed: Any) -> Self:
        made = copy(self)
        made.__dict__.update(changed)
        return made

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Return what distinguishes this data from other data, in a form that JSON can hold."""


def chunk_end(row: int, size: int) -> int:
    """The row at which the chunk that holds this row ends.

    >>> chunk_end(3, 4), chunk_end(4, 4)
    (4, 8)
    """
    return (row // size + 1) * size


def spans(n_rows: int, size: int, start: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the first row and the row after the last of each chunk, from `start` on.

    >>> list(spans(10, 4, 5))
    [(5, 8), (8, 10)]
    """
    while start < n_rows:
        stop = min(chunk_end(start, size), n_rows)
        yield start, stop
        start = stop


def _arranged(chunk: Chunk, schema: Schema) -> Chunk:
    """The same rows with the views of a schema; those that the chunk lacks are absent."""
    place = {name: v for v, name in enumerate(chunk.names)}
    views = tuple(chunk.views[place[name]] if name in place else None for name in schema.names)
    observed = None
    if chunk.observed is not None:
        observed = np.zeros((chunk.n_rows, len(views)), dtype=bool, order="F")
        for v, name in enumerate(schema.names):
            if name in place:
                observed[:, v] = chunk.observed[:, place[name]]
    return replace(chunk, views=views, names=schema.names, observed=observed, columns=schema.columns)


def check_known(given: tuple[str, ...], names: tuple[str, ...]) -> None:
    """Refuse views that a model does not have."""
    for name in given:
        if name not in names:
            known = ", ".join(map(repr, names))
            raise DataError(f"view {name!r} is unknown; the views are {known}.")


def rows_per_read(source: Source, block: int) -> int:
    """Rows of whole blocks that are best read together, as far as is known."""
    if source.row_bytes is None:
        return block
    fitting = min(READ_ROWS, READ_BYTES // max(source.row_bytes, 1))
    return max(1, fitting // block) * block
