"""Rows that were read: how many each centre got along the stream, and how many have which views.

The stream is divided into at most BINS equal bins. Their width is a power of two and doubles where they would
be more, so the memory is bounded, and the bins depend on the number of rows alone: chunks, threads, workers
and interruptions make no difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from viewpass.kernels.grid import Array, Integers, Labels, Mask

BINS = 64
MOST_BITS = 60  # views from this one on share a bit
MOST_PATTERNS = 256  # that are counted one by one: the lowest


class Span(NamedTuple):
    """Counts of rows that follow each other."""

    width: int  # rows per bin, of all rows up to the last of these
    first: int  # bin
    counts: Integers  # (bins, centres)
    patterns: Mapping[int, int]


@dataclass(frozen=True, eq=False)
class Census:
    """Counts of rows, by centre (or cluster) and bin, and by presence pattern.

    Examples
    --------
    >>> import numpy as np
    >>> census = Census.none(2).added(np.array([0, 1, 1, -1]), start=0)
    >>> census.width, census.counts.tolist()
    (1, [[1, 0], [0, 1], [0, 1], [0, 0]])
    >>> census.added(np.zeros(200, dtype=np.int32), start=4).counts[:2].tolist()
    [[1, 2], [4, 0]]
    """

    width: int  # rows per bin
    counts: Integers  # (bins, centres)
    patterns: Mapping[int, int]  # rows of each pattern
    n_other: int = 0  # rows of patterns beyond MOST_PATTERNS

    @classmethod
    def none(cls, n_centres: int, n_without_views: int = 0) -> Census:
        """Before the first row that has a view."""
        counts = np.zeros((0, n_centres), dtype=np.int64)
        return cls(1, counts, {0: n_without_views} if n_without_views else {})

    @property
    def sizes(self) -> Integers:
        """Rows of each centre."""
        sizes: Integers = self.counts.sum(axis=0)
        return sizes

    def added(self, labels: Labels, start: int, seen: Mask | None = None) -> Census:
        """With the rows that follow, the first of which is row `start`; `seen` as in `span`."""
        return self.with_span(span(labels, start, self.counts.shape[1], seen))

    def with_span(self, more: Span) -> Census:
        """With the rows that follow."""
        found = self._coarser(max(self.width, more.width))
        n_bins = max(len(found.counts), more.first + len(more.counts))
        counts = np.zeros((n_bins, more.counts.shape[1]), dtype=np.int64)
        counts[: len(found.counts)] = found.counts
        counts[more.first : more.first + len(more.counts)] += more.counts
        return replace(found, counts=counts)._with_patterns(more.patterns)

    def joined(self, other: Census) -> Census:
        """With the rows of another census, which were read at the same time: bins are added to bins."""
        width = max(self.width, other.width)
        one, two = self._coarser(width), other._coarser(width)
        n_bins = max(len(one.counts), len(two.counts))
        counts = sum(np.pad(each.counts, ((0, n_bins - len(each.counts)), (0, 0))) for each in (one, two))
        found = replace(one, counts=np.asarray(counts))._with_patterns(other.patterns)
        return replace(found, n_other=found.n_other + other.n_other)

    def together(self, n_rows: int) -> Census:
        """All rows in one bin: data of `n_rows` rows that come in no order."""
        width = 1
        while width < n_rows:
            width *= 2
        return self._coarser(width)

    def grouped(self, places: Labels, n_groups: int) -> Census:
        """With centre `j` counted as `places[j]`: after merges, or where centres form clusters."""
        counts = np.zeros((len(self.counts), n_groups), dtype=np.int64)
        np.add.at(counts.T, places, self.counts.T)
        return replace(self, counts=counts)

    def widened(self, n_centres: int) -> Census:
        """With centres that were opened behind the others."""
        if n_centres == self.counts.shape[1]:
            return self
        return replace(self, counts=np.pad(self.counts, ((0, 0), (0, n_centres - self.counts.shape[1]))))

    def _with_patterns(self, more: Mapping[int, int]) -> Census:
        """With rows of more patterns; which of them are kept does not depend on the order of rows."""
        both = Counter(self.patterns)
        both.update(more)
        kept = {pattern: both[pattern] for pattern in sorted(both)[:MOST_PATTERNS]}
        return replace(self, patterns=kept, n_other=self.n_other + both.total() - sum(kept.values()))

    def _coarser(self, width: int) -> Census:
        if width == self.width:
            return self
        each = width // self.width
        padded = np.pad(self.counts, ((0, -len(self.counts) % each), (0, 0)))
        return Census(
            width, padded.reshape(-1, each, padded.shape[1]).sum(axis=1), self.patterns, self.n_other
        )


def span(labels: Labels, start: int, n_centres: int, seen: Mask | None = None) -> Span:
    """Count rows that follow each other, the first of which is row `start`; -1 belongs to no centre.

    `seen` (views x rows): the views they have.
    """
    width = 1
    while -(-(start + len(labels)) // width) > BINS:
        width *= 2
    first, last = start // width, -(-(start + len(labels)) // width)
    counts = np.zeros((last - first, n_centres), dtype=np.int64)
    for bin in range(first, last):
        mine = labels[max(bin * width - start, 0) : (bin + 1) * width - start]
        counts[bin - first] = np.bincount(mine + 1, minlength=n_centres + 1)[1:]
    return Span(width, first, counts, {} if seen is None else pattern_counts(seen))


def pattern_counts(seen: Mask) -> dict[int, int]:
    """Rows of each presence pattern (views x rows), by ascending pattern."""
    if 2 ** len(seen) <= MOST_PATTERNS:
        numbers = np.bincount(patterns_of(seen))
        return {code: int(numbers[code]) for code in np.flatnonzero(numbers).tolist()}
    found, counts = np.unique(patterns_of(seen), return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def patterns_of(seen: Mask) -> Integers:
    """The presence pattern of each row, given which views it has (views x rows).

    >>> import numpy as np
    >>> patterns_of(np.array([[True, False, False], [True, True, False]]))
    array([3, 2, 0])
    """
    narrow = len(seen) <= 8  # a byte is enough, in an eighth of the memory traffic
    patterns: Array = np.zeros(seen.shape[1], dtype=np.uint8 if narrow else np.int64)
    for v, present in enumerate(seen):
        patterns |= present.astype(patterns.dtype) << patterns.dtype.type(min(v, MOST_BITS))
    return patterns.astype(np.int64)


def pattern_text(pattern: int, names: Sequence[str]) -> str:
    """The views of a presence pattern.

    >>> pattern_text(5, ["image", "text", "size"])
    'image + size'
    """
    return " + ".join(name for v, name in enumerate(names) if pattern >> min(v, MOST_BITS) & 1)
