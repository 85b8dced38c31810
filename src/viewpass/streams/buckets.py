"""The rows that count, in buckets of consecutive rows, each with its own sample.

The sample of all is the bottom of the union of the buckets' samples. A row leaves with its bucket, so that
what is left is exactly the sample of the other rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from viewpass.sample.sample import Sample, Sampler, united
from viewpass.views.chunk import Chunk


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
