"""Which rows of a stream count, and the rows at which it is looked at.

window      the last so many rows, in BUCKETS buckets of equal size; leaving is dropping a bucket
half_life   a row counts half as much for every so many rows that came after it
grows       clusters are added, up to `most_clusters`, where rows are that no cluster explains
"""

from __future__ import annotations

from dataclasses import dataclass

BUCKETS = 8  # of a window
STEP = 2048  # rows from one look to the next where no row leaves


@dataclass(frozen=True)
class Horizon:
    """Which rows count; by default all, alike and for ever."""

    window: int | None = None
    half_life: int | None = None
    grows: bool = False
    most_clusters: int | None = None

    @property
    def changing(self) -> bool:
        """Whether the stream is looked at for changes."""
        return self.window is not None or self.half_life is not None or self.grows

    @property
    def span(self) -> int | None:
        """About how many rows count; None: all."""
        return self.window if self.half_life is None else 2 * self.half_life

    @property
    def step(self) -> int:
        """Rows per bucket, and from one look to the next."""
        return STEP if self.span is None else -(-self.span // BUCKETS)
