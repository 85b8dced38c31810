"""Counts of the rows read, which add up whatever chunks, machines or files they come from.

    RowCounts   rows, rows without any view, values missing inside views
    Census      rows that each centre got along the stream, and rows of each presence pattern

For the census the stream is divided into at most BINS equal bins. Their width is a power of two and doubles
where they would be more, so the memory is bounded, and the bins depend on the number of rows alone: chunks,
threads, workers and interruptions make no difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from viewpass.kernels.grid import Array, Integers, Labels, Mask
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows


@dataclass(frozen=True)
class RowCounts:
    """How many rows were read, and what was odd about them."""

    n_rows: int = 0  # those without any view included
    n_without_views: int = 0
    n_copies: int | None = None  # rows as often as they count, in units of 1 / weight_unit; None: n_rows
    n_all_zero: tuple[int, ...] = ()  # rows missing in each view because they are all zero; (): none
    n_gaps: tuple[GapCounts, ...] = ()  # values missing inside the rows of each view; (): none
    n_absent: int = 0  # rows without any view, not even one of zeros: the same in every scale

    @classmethod
    def of(cls, rows: MeasuredRows, n_rows: int | None = None) -> RowCounts:
        """Of the first of these rows; None: of all."""
        n_rows = rows.n_rows if n_rows is None else n_rows
        copies, n_all_zero, n_gaps = (
            rows.chunk.copies,
            rows.n_all_zero(n_rows),
            gap_counts(rows.chunk, n_rows),
        )
        unseen = ~(rows.inverse[:, :n_rows] > 0).any(axis=0)
        return cls(
            n_rows,
            int(unseen.sum()),
            None if copies is None else int(copies[:n_rows].sum()),
            tuple(n_all_zero.tolist()) if n_all_zero.any() else (),
            tuple(GapCounts(*own) for own in n_gaps.tolist()) if n_gaps.any() else (),
            int((unseen & ~rows.all_zero(n_rows)).sum()) if unseen.any() else 0,
        )

    @property
    def n_counted(self) -> int:
        """Rows, each as often as it counts."""
        return self.n_rows if self.n_copies is None else self.n_copies

    @property
    def n_seen(self) -> int:
        """Rows that have a view."""
        return self.n_rows - self.n_without_views

    @property
    def n_with_views(self) -> int:
        """Rows that have a view, each as often as it counts; where rows are weighted, the others, too."""
        return self.n_seen if self.n_copies is None else self.n_copies

    @property
    def n_present(self) -> int:
        """The same, with rows whose views are all zero."""
        return self.n_rows - self.n_absent if self.n_copies is None else self.n_copies

    def like(self, sample: RowCounts) -> RowCounts:
        """With as large a share of rows of zeros as a sample of them has, in the scale of that sample."""
        n_seen = sample.n_seen * (self.n_rows - self.n_absent) // max(sample.n_rows - sample.n_absent, 1)
        return replace(self, n_without_views=self.n_rows - n_seen)

    def scaled(self, n_rows: int) -> RowCounts:
        """Of so many rows like these, rounded down."""
        factor = n_rows / max(self.n_rows, 1)
        return RowCounts(
            n_rows,
            int(self.n_without_views * factor),
            None if self.n_copies is None else int(self.n_copies * factor),
            tuple(int(n * factor) for n in self.n_all_zero),
            tuple(GapCounts(*(int(n * factor) for n in own)) for own in self.n_gaps),
            int(self.n_absent * factor),
        )

    def __add__(self, other: RowCounts) -> RowCounts:
        weighed = self.n_copies is not None or other.n_copies is not None
        return RowCounts(
            self.n_rows + other.n_rows,
            self.n_without_views + other.n_without_views,
            self.n_counted + other.n_counted if weighed else None,
            tuple(_added(self.n_all_zero, other.n_all_zero)),
            tuple(GapCounts(*own) for own in _added(self.n_gaps, other.n_gaps)),
            self.n_absent + other.n_absent,
        )


def _added(one: Sequence[Any], other: Sequence[Any]) -> list[Any]:
    """Sums for each view, where there are any."""
    if not one or not other:
        return list(one or other)
    found: list[Any] = (np.array(one) + np.array(other)).tolist()
    return found


BINS = 64  # of the stream, at most
MOST_BITS = 60  # views from this one on share a bit
MOST_PATTERNS = 256  # that are counted one by one: the lowest


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
    def none(cls, n_centres: int) -> Census:
        """Of no rows."""
        return cls(1, np.zeros((0, n_centres), dtype=np.int64), {})

    @property
    def sizes(self) -> Integers:
        """Rows of each centre."""
        sizes: Integers = self.counts.sum(axis=0)
        return sizes

    def added(self, labels: Labels, start: int, seen: Mask | None = None) -> Census:
        """With rows that follow each other, the first of which is row `start`; -1 belongs to no centre.

        `seen` (views x rows): the views they have.
        """
        stop, n_centres, width = start + len(labels), self.counts.shape[1], 1
        while -(-stop // width) > BINS:
            width *= 2
        counts = np.zeros((-(-stop // width), n_centres), dtype=np.int64)
        for bin in range(start // width, len(counts)):
            mine = labels[max(bin * width - start, 0) : (bin + 1) * width - start]
            counts[bin] = np.bincount(mine + 1, minlength=n_centres + 1)[1:]
        return self.joined(Census(width, counts, {} if seen is None else _pattern_counts(seen)))

    def joined(self, other: Census) -> Census:
        """With the rows of another census: bins are added to bins."""
        width = max(self.width, other.width)
        one, two = self._coarser(width), other._coarser(width)
        n_bins = max(len(one.counts), len(two.counts))
        counts = sum(np.pad(each.counts, ((0, n_bins - len(each.counts)), (0, 0))) for each in (one, two))
        return replace(one, counts=np.asarray(counts)).with_patterns(other)

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

    def with_patterns(self, other: Census) -> Census:
        """With the presence patterns of other rows; which are kept does not depend on the order of rows."""
        both = Counter(self.patterns)
        both.update(other.patterns)
        kept = {pattern: both[pattern] for pattern in sorted(both)[:MOST_PATTERNS]}
        n_other = self.n_other + other.n_other + both.total() - sum(kept.values())
        return replace(self, patterns=kept, n_other=n_other)

    def _coarser(self, width: int) -> Census:
        if width == self.width:
            return self
        each = width // self.width
        padded = np.pad(self.counts, ((0, -len(self.counts) % each), (0, 0)))
        return Census(
            width, padded.reshape(-1, each, padded.shape[1]).sum(axis=1), self.patterns, self.n_other
        )


def _pattern_counts(seen: Mask) -> dict[int, int]:
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


class GapCounts(NamedTuple):
    """How many values of a view are missing inside rows."""

    rows: int = 0  # that have gaps
    values: int = 0  # missing in them
    too_few: int = 0  # rows that count as lacking the view, with too few of its values


def gap_counts(chunk: Chunk, n_rows: int) -> Integers:
    """The `GapCounts` of each view (views x 3), in the first rows of a chunk."""
    lacking = np.zeros((0, len(chunk.names))) if chunk.odd.lacking is None else chunk.odd.lacking[:n_rows]
    counts = (lacking > 0).sum(axis=0), np.maximum(lacking, 0).sum(axis=0), (lacking < 0).sum(axis=0)
    return np.column_stack(counts).astype(np.int64)
