"""Which rows of a stream count, and when it is checked for change.

window      the last so many rows, in BUCKETS buckets of equal size; leaving is dropping a bucket
duration    the same for rows of the last so many microseconds, in buckets of equal time
half_life   a row counts half as much for every so many rows that came after it
grows       clusters are added, up to `most_clusters`, where rows are that no cluster explains
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from viewpass.errors import SettingError

BUCKETS = 8  # of a window
STEP = 2048  # rows from one check to the next where no row leaves
SECOND = 10**6  # in microseconds
UNITS = {"s": SECOND, "min": 60 * SECOND, "h": 3600 * SECOND, "D": 86400 * SECOND, "W": 604800 * SECOND}
LONGEST = 2**53  # 285 years


@dataclass(frozen=True)
class Horizon:
    """Which rows count; by default all, alike and for ever."""

    window: int | None = None
    duration: int | None = None
    half_life: int | None = None
    grows: bool = False
    most_clusters: int | None = None

    @property
    def forgets(self) -> bool:
        """Whether rows count less with time, or no longer."""
        return not (self.window is None and self.duration is None and self.half_life is None)

    @property
    def changing(self) -> bool:
        """Whether the stream is checked for change."""
        return self.forgets or self.grows

    @property
    def span(self) -> int | None:
        """About how many rows count; None: all, or those of some time."""
        return self.window if self.half_life is None else 2 * self.half_life

    @property
    def step(self) -> int:
        """Rows (or microseconds) per bucket, and from one check to the next."""
        span = self.span if self.duration is None else self.duration
        return STEP if span is None else -(-span // BUCKETS)


def microseconds(duration: str) -> int:
    """A duration such as "7D" or "36h".

    >>> microseconds("90min") == microseconds("1h") + 30 * microseconds("60s")
    True
    """
    found = re.fullmatch(r"(\d{1,9}) ?(s|min|h|D|W)", duration)
    length = int(found[1]) * UNITS[found[2]] if found else 0
    if not SECOND <= length <= LONGEST:
        raise SettingError(
            f"window={duration!r}: expected a number of rows, or a duration of s, min, h, D or W, as '7D'."
        )
    return length
