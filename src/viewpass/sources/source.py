"""Where chunks come from: what every source offers."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Generator, Iterator
from typing import Any

from viewpass.errors import DataError
from viewpass.kernels.grid import Array
from viewpass.views.chunk import Chunk, Schema


class Source(metaclass=ABCMeta):
    """Rows of several views that can be read in order, chunk by chunk.

    A base, not a protocol: to find out whether a frame is a source nobody should have to ask it for
    its schema. Ids found by reading come with the chunks.
    """

    schema: Schema
    """Names and widths of the views, as far as they are known without reading."""
    n_rows: int | None
    """Rows in all; None if only reading tells."""
    row_ids: Array | None
    """Ids that are known without reading."""
    rereadable: bool = True
    """Whether the rows can be read more than once, in the same order."""
    in_memory: bool = True
    """Whether the rows are at hand; otherwise they are decoded, which keeps a processor busy."""
    in_place: bool = False
    """Whether chunks are read where the rows lie, so that many cost no more memory than one."""
    row_bytes: int | None = None
    """About how many bytes a row takes that is read from elsewhere, if that is known."""
    portable: bool = False
    """Whether the source can go to another process or machine and be read there: files can."""

    @abstractmethod
    def chunks(self, size: int, start: int = 0) -> Iterator[Chunk]:
        """Read the rows from row `start` on, in chunks cut at multiples of `size` from row 0."""

    def span(self, start: int, size: int) -> Chunk:
        """The one chunk of `size` rows (fewer at the end) that begins at row `start`, a multiple of it."""
        chunks = self.chunks(size, start)
        try:
            return next(iter(chunks))
        except StopIteration:
            raise DataError(f"there is no row {start}: the data has become shorter.") from None
        finally:
            if isinstance(chunks, Generator):
                chunks.close()

    def place(self, start: int, stop: int) -> str:
        """Name consecutive rows for an error message."""
        return f"rows {start} to {stop - 1}"

    @abstractmethod
    def arranged(self, names: tuple[str, ...]) -> Source:
        """The same rows with the views in this order; views the source lacks are absent."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """What tells this data from other data, as JSON can hold it."""


def spans(n_rows: int, size: int, start: int = 0) -> Iterator[tuple[int, int]]:
    """First row and row after the last of each chunk, from `start` on.

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
