"""Where chunks come from: what every source offers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from viewpass.kernels.grid import Array
from viewpass.views.chunk import Chunk, Schema


@runtime_checkable
class Source(Protocol):
    """Rows of several views that can be read in order, chunk by chunk, more than once."""

    schema: Schema
    n_rows: int
    row_ids: Array | None

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Read all rows, `size` at a time (the last chunk may be smaller)."""

    def arranged(self, names: tuple[str, ...]) -> Source:
        """The same rows with the views in this order; views the source lacks are absent."""
