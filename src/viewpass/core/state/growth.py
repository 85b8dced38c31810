"""What is remembered of anchors that are born and merge: their names, their budget, and lone rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from viewpass.core.state.census import Census, Span
from viewpass.core.state.centres import Centres
from viewpass.core.state.lineage import Lineage
from viewpass.core.state.sample import Sample
from viewpass.core.state.statistics import Statistics
from viewpass.kernels.grid import Floats, Integers, Links
from viewpass.views.chunk import Chunk, join
from viewpass.views.rows import MeasuredRows

ROWS_PER_ANCHOR = 5  # at least, of the rows read so far,
ROWS_PER_NEW_ANCHOR = 25  # and where the number of anchors follows the rows


@dataclass(frozen=True)
class KeptRows:
    """Copies of some rows, scaled, with the factors that bring them to their length."""

    chunk: Chunk
    inverse: Floats

    @classmethod
    def of(cls, rows: MeasuredRows, which: Integers) -> KeptRows:
        """Some of the measured rows."""
        chunk, inverse = rows.take(which)
        return cls(replace(chunk, copies=None), inverse)

    @property
    def n_rows(self) -> int:
        """How many."""
        return self.chunk.n_rows

    def take(self, which: Integers) -> KeptRows:
        """Some of them."""
        return KeptRows(self.chunk.take(which), self.inverse[:, which])

    def measured(self, weights: tuple[float, ...] | None, *, reference: bool) -> MeasuredRows:
        """The rows as kernels read them."""
        return MeasuredRows.known(self.chunk, self.inverse, reference=reference, weights=weights)


def joined(parts: list[KeptRows]) -> KeptRows:
    """All of these rows, in this order."""
    if len(parts) == 1:
        return parts[0]
    return KeptRows(join([part.chunk for part in parts]), np.hstack([part.inverse for part in parts]))


@dataclass(frozen=True)
class Growth:
    """Births and merges so far."""

    most: int  # anchors, once enough rows were read
    lineage: Lineage
    waiting: KeptRows | None = None  # rows that are far from every anchor and unlike each other
    few: int | None = None  # beyond which their number follows the rows; None: it is `most`
    sample: Sample | None = None  # of all rows read, where clusters are solved on it (settled.py)

    def with_rows(self, more: Sequence[Sample]) -> Growth:
        """With samples of a chunk's rows, where there is a sample."""
        sample = self.sample
        if sample is None:
            return self
        for part in more:
            sample = sample.joined(part)
        return replace(self, sample=sample)

    def budget(self, n_rows: int, n_anchors: int) -> int:
        """Anchors to be kept after so many rows, where there are so many now."""
        most = self.most
        if self.few is not None:
            most = min(most, max(self.few, n_rows // ROWS_PER_NEW_ANCHOR))
        return max(min(most, n_rows // ROWS_PER_ANCHOR), min(n_anchors, most))


@dataclass(frozen=True)
class Anchors:
    """Anchors that are born and merge, with all that is summed up for them."""

    total: Statistics
    centres: Centres
    links: Links | None  # the anchor graph, where there is one
    growth: Growth


def followed(census: Census, more: Sequence[Span], before: Lineage | None, after: Lineage | None) -> Census:
    """The census with the rows of a chunk, which may have opened anchors; then anchors may have merged."""
    for span in more:
        census = census.widened(span.counts.shape[1]).with_span(span)
    if before is None or after is None or before is after:
        return census
    return census.grouped(after.places(before.names), len(after.names))
