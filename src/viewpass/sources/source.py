"""The base class of sources: rows of several views that are read chunk by chunk."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Generator, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from viewpass.errors import DataError
from viewpass.kernels.grid import Array
from viewpass.views.chunk import Chunk, Schema


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
    portable: bool = False
    """Whether the source can be pickled and read in another process or on another machine: files can."""

    @abstractmethod
    def chunks(self, size: int, start: int = 0) -> Iterator[Chunk]:
        """Read the rows from row `start` on, in chunks that end at multiples of `size`."""

    def span(self, start: int, size: int) -> Chunk:
        """Read the chunk of `size` rows (fewer at the end) that begins at row `start`, a multiple of it."""
        chunks = self.chunks(size, start)
        try:
            return next(iter(chunks))
        except StopIteration:
            raise DataError(f"there is no row {start}: the data has become shorter.") from None
        finally:
            if isinstance(chunks, Generator):
                chunks.close()

    def place(self, start: int, stop: int) -> str:
        """Describe consecutive rows for an error message."""
        return f"rows {start} to {stop - 1}"

    @abstractmethod
    def arranged(self, names: tuple[str, ...]) -> Source:
        """Return the same rows with the views in this order; views that the source lacks are absent."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Return what distinguishes this data from other data, in a form that JSON can hold."""


def spans(n_rows: int, size: int, start: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the first row and the row after the last of each chunk, from `start` on.

    >>> list(spans(10, 4, 5))
    [(5, 8), (8, 10)]
    """
    while start < n_rows:
        stop = min((start // size + 1) * size, n_rows)
        yield start, stop
        start = stop


def check_known(given: tuple[str, ...], names: tuple[str, ...]) -> None:
    """Refuse views that a model does not have."""
    for name in given:
        if name not in names:
            known = ", ".join(map(repr, names))
            raise DataError(f"view {name!r} is unknown; the views are {known}.")
