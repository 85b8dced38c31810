"""A bounded uniform sample of the rows read, which change cluster as the centres settle.

Each row is held with the label it is counted under, so moving it is exact: what was added is
subtracted, and added elsewhere. The sums stay those of all rows read.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from viewpass.core import step
from viewpass.core.assign import Workspace
from viewpass.core.centres import Centres
from viewpass.core.statistics import Statistics
from viewpass.core.step import Outcome, Rules
from viewpass.kernels.grid import Floats, Integers, Labels
from viewpass.views.chunk import Chunk, join
from viewpass.views.rows import MeasuredRows

UPDATES = 2  # centre updates each time


def _no_numbers() -> Integers:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Reservoir:
    """Rows as the centres see them; never changed once made."""

    chunk: Chunk | None = None
    inverse: Floats | None = None  # what scales the rows, as it was when they were added
    labels: Labels = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    numbers: Integers = field(default_factory=_no_numbers)  # of the rows in the stream
    n_met: int = 0  # rows with a view that have come by

    def settled(
        self, total: Statistics, centres: Centres, rules: Rules, workspace: Workspace, *, reference: bool
    ) -> Outcome | None:
        """Label the rows anew, as the centres are now; None if there are none. `total` stays as it was."""
        if self.chunk is None or self.inverse is None:
            return None
        rows = MeasuredRows.known(self.chunk, self.inverse, reference=reference)
        few = replace(rules, max_iter=min(rules.max_iter, UPDATES))
        return step.from_labels(rows, total, centres, self.labels, few, workspace, counted=True)

    def relabelled(self, labels: Labels) -> Reservoir:
        """The same rows, counted under these labels."""
        return replace(self, labels=labels)

    def counted(self, start: int, labels: Labels) -> Labels:
        """Labels that rows from `start` on are counted under, given those they were decided by."""
        mine, theirs = self._among(start, len(labels))
        if not len(mine):
            return labels
        labels = labels.copy()
        labels[theirs] = self.labels[mine]
        return labels

    def decided(self, start: int, labels: Labels) -> Reservoir:
        """Rows from `start` on have been read again, and are counted under these labels now."""
        mine, theirs = self._among(start, len(labels))
        own = self.labels.copy()
        own[mine] = labels[theirs]
        return replace(self, labels=own)

    def _among(self, start: int, n_rows: int) -> tuple[Integers, Integers]:
        """Which rows of the sample are among some consecutive ones, and which of those they are."""
        mine = np.flatnonzero((self.numbers >= start) & (self.numbers < start + n_rows))
        return mine, self.numbers[mine] - start

    def drawn(
        self, rows: MeasuredRows, labels: Labels, start: int, size: int, rng: np.random.Generator
    ) -> Reservoir:
        """A sample of `size` rows in which every row so far is as likely, these (from `start` on) included.

        Row t (from 0) takes a place at random of t + 1; one of the first `size` is in the sample.
        """
        seen = np.flatnonzero(rows.n_seen > 0)
        turns = self.n_met + np.arange(len(seen))
        places = turns.copy()
        late = turns >= size
        places[late] = (rng.random(int(late.sum())) * (turns[late] + 1)).astype(np.int64)
        taking = np.flatnonzero(places < size)[::-1]  # the last row that takes a place has it
        left, firsts = np.unique(places[taking], return_index=True)
        n_met = self.n_met + len(seen)
        if not len(left):
            return replace(self, n_met=n_met)
        new = seen[np.sort(taking[firsts])]
        stay = np.setdiff1d(np.arange(len(self.labels)), left)
        chunk, inverse = rows.take(new)
        if self.chunk is not None and self.inverse is not None and len(stay):
            chunk = join([self.chunk.take(stay), chunk])
            inverse = np.hstack([self.inverse[:, stay], inverse])
        return Reservoir(
            chunk,
            inverse,
            np.concatenate([self.labels[stay], labels[new]]),
            np.concatenate([self.numbers[stay], start + new]),
            n_met,
        )
