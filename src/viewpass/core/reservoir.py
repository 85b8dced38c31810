"""A bounded uniform sample of the rows read, which change cluster as the centres settle.

Each row is held with the label it is counted under, so moving it is exact: what was added is
subtracted, and added elsewhere. The sums stay those of all rows read. Of a row that has left the sample
its number and that label are kept, for a second pass to subtract: about size x ln(rows / size) of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from viewpass.core.step import chunk_step as step
from viewpass.core.step.chunk_step import Outcome, Rules
from viewpass.core.step.workspace import Workspace
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
    # Of the rows held, then of those that have left: what they are counted under, and where they stand
    # in the stream.
    labels: Labels = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    numbers: Integers = field(default_factory=_no_numbers)
    n_met: int = 0  # rows with a view that have come by

    @property
    def n_held(self) -> int:
        """Rows held."""
        return 0 if self.chunk is None else self.chunk.n_rows

    def follow(
        self, outcome: Outcome, rules: Rules, workspace: Workspace, *, reference: bool
    ) -> tuple[Outcome, Reservoir]:
        """Label the rows held anew, as the centres are after a chunk: what the two leave together.

        The labels are those of the rows held; the chunk's own are not touched.
        """
        if self.chunk is None or self.inverse is None:
            return outcome, self
        rows = MeasuredRows.known(self.chunk, self.inverse, reference=reference)
        held, gone = self.labels[: self.n_held], self.labels[self.n_held :]
        few = replace(rules, max_iter=min(rules.max_iter, UPDATES))
        after = step.from_labels(*(rows, outcome.total, outcome.centres, held, few, workspace), counted=True)
        after.n_iter += outcome.n_iter
        return after, replace(self, labels=np.concatenate([after.labels, gone]))

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
        stay = np.setdiff1d(np.arange(self.n_held), left)
        gone = np.setdiff1d(np.arange(len(self.labels)), stay)
        chunk, inverse = rows.take(new)
        if self.chunk is not None and self.inverse is not None and len(stay):
            chunk = join([self.chunk.take(stay), chunk])
            inverse = np.hstack([self.inverse[:, stay], inverse])
        return Reservoir(
            chunk,
            inverse,
            np.concatenate([self.labels[stay], labels[new], self.labels[gone]]),
            np.concatenate([self.numbers[stay], start + new, self.numbers[gone]]),
            n_met,
        )
