"""A source whose values may be missing inside a view: marks them in the chunks of another source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from viewpass.sources.source import Cuts, Source, as_cuts
from viewpass.views.chunk import Chunk, Schema
from viewpass.views.gaps import with_gaps


class GapSource(Source):
    """The rows of a source, with missing values marked (`Chunk.gaps`) instead of refused."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.schema, self.n_rows, self.row_ids = source.schema, source.n_rows, source.row_ids
        self.rereadable, self.in_memory, self.portable = source.rereadable, source.in_memory, source.portable
        self.row_bytes, self.left_out, self.sparse_widths = (
            source.row_bytes,
            source.left_out,
            source.sparse_widths,
        )

    def chunks(self, size: int | Cuts, start: int = 0) -> Iterator[Chunk]:
        """Read the rows from `start` on, in chunks that end at multiples of `size`, or by `Cuts`."""
        for chunk in self.source.chunks(_Marking(as_cuts(size)), start):
            yield with_gaps(chunk)

    def span(self, start: int, size: int) -> Chunk:
        """Read one chunk."""
        return with_gaps(self.source.span(start, size))

    def place(self, start: int, stop: int) -> str:
        """Describe rows as the source does."""
        return self.source.place(start, stop)

    def arranged(self, names: tuple[str, ...]) -> GapSource:
        """Return the same rows with the views in this order."""
        return GapSource(self.source.arranged(names))

    def suited(self, schema: Schema) -> GapSource:
        """Return the same rows in the columns of a model."""
        return GapSource(self.source.suited(schema))

    def identity(self) -> dict[str, Any]:
        """That of the source."""
        return self.source.identity()


class _Marking(Cuts):
    """Cuts that are shown rows with their missing values marked."""

    def __init__(self, cuts: Cuts) -> None:
        self._cuts = cuts
        self.first = cuts.first

    @property
    def largest(self) -> int:
        """Most rows of a chunk."""
        return self._cuts.largest

    def stop(self, row: int) -> int:
        """Where the chunk that holds this row ends."""
        return self._cuts.stop(row)

    def look(self, chunk: Chunk) -> None:
        """Pass a chunk on."""
        if self._cuts.row_bytes is None:
            self._cuts.look(with_gaps(chunk))
