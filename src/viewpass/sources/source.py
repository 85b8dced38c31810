"""Where chunks come from: what every source offers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

from viewpass.errors import DataError
from viewpass.kernels.grid import Array
from viewpass.views.chunk import Chunk, Schema


@runtime_checkable
class Source(Protocol):
    """Rows of several views that can be read in order, chunk by chunk.

    A source that is not `rereadable` gives its rows once. Ids found by reading come with the chunks.
    """

    @property
    def schema(self) -> Schema:
        """Names and widths of the views, as far as they are known without reading."""

    @property
    def n_rows(self) -> int | None:
        """Rows in all; None if only reading tells."""

    @property
    def row_ids(self) -> Array | None:
        """Ids that are known without reading."""

    @property
    def in_memory(self) -> bool:
        """Whether the rows are at hand; otherwise they are decoded, which keeps a processor busy."""

    @property
    def rereadable(self) -> bool:
        """Whether the rows can be read more than once, in the same order."""

    def chunks(self, size: int, start: int = 0) -> Iterator[Chunk]:
        """Read the rows from row `start` on, in chunks cut at multiples of `size` from row 0."""

    def arranged(self, names: tuple[str, ...]) -> Source:
        """The same rows with the views in this order; views the source lacks are absent."""

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
