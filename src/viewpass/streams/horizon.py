"""Which rows of a stream count, and when it is checked for change.

window      the last so many rows, in BUCKETS buckets of equal size; leaving is dropping a bucket
duration    the same for rows of the last so many microseconds, in buckets of equal time
half_life   a row counts half as much for every so many rows that came after it
grows       clusters are added, up to `most_clusters`, where rows are that no cluster explains

Rows that count are held in buckets of consecutive rows, each with its own sample. The sample of all is the
bottom of the union of the buckets' samples. A row leaves with its bucket, so that what is left is exactly the
sample of the other rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from viewpass.errors import SettingError
from viewpass.sample.sample import Sample, Sampler, united
from viewpass.views.chunk import Chunk

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


@dataclass(frozen=True)
class Bucket:
    """The sample of rows `start` to `stop` - 1, and where it ends: a number of rows, or a time."""

    start: int
    stop: int
    sample: Sample
    ends: int


class Buckets:
    """Closed buckets, and the one that rows are added to."""

    def __init__(self, sample: Sample, closed: Iterable[Bucket] = (), start: int = 0) -> None:
        self.closed, self.start = tuple(closed), start
        self._empty = Sample(sample.size, widths=sample.widths)
        self._sampler = Sampler(sample)
        self._union: Sample | None = None

    def twin(self) -> Buckets:
        """A copy that continues independently."""
        return Buckets(self.open, self.closed, self.start)

    @property
    def open(self) -> Sample:
        """The sample of the open bucket."""
        return self._sampler.sample

    @property
    def most(self) -> int:
        """Rows that the sample may hold."""
        return min([self._sampler.most, *(bucket.sample.most for bucket in self.closed)])

    @property
    def first_row(self) -> int:
        """The first row that counts."""
        return self.closed[0].start if self.closed else self.start

    @property
    def sample(self) -> Sample:
        """The sample of all rows that count."""
        if not self.closed:
            return self.open
        if self._union is None:
            self._union = united([*(bucket.sample for bucket in self.closed), self.open])
        return self._union

    def add(self, chunk: Chunk) -> None:
        """Take the next rows."""
        self._sampler.add(chunk)
        self._union = None

    def n_since(self, row: int) -> int:
        """Closed buckets of rows from this one on."""
        return sum(bucket.start >= row for bucket in self.closed)

    def close(self, row: int, ends: int, gone: int | None) -> None:
        """Begin a bucket with this row; those that end at `gone` or before are dropped."""
        if row > self.start:
            self.closed = (*self.closed, Bucket(self.start, row, self.open, ends))
            self._empty = Sample(self._empty.size, widths=self.open.widths)
            self._sampler, self.start = Sampler(self._empty), row
        if gone is not None:
            self.closed = tuple(bucket for bucket in self.closed if bucket.ends > gone)
        self._union = None

    def merge(self) -> None:
        """Make one bucket of those that are closed."""
        if len(self.closed) > 1:
            last = self.closed[-1]
            whole = united([bucket.sample for bucket in self.closed])
            self.closed = (Bucket(self.closed[0].start, last.stop, whole, last.ends),)

    def parted(self, row: int) -> tuple[Sample, Sample]:
        """The samples of the rows before this one, at which a bucket began, and since."""
        before = [bucket.sample for bucket in self.closed if bucket.stop <= row]
        since = [bucket.sample for bucket in self.closed if bucket.stop > row]
        return united(before or [self._empty]), united([*since, self.open])
