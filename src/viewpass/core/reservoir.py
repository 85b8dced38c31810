"""A uniform sample of the rows read so far, of fixed size, reassigned after every chunk.

Each row is kept with the label it is counted under, so moving it to another cluster is exact: it is
subtracted from one sum and added to another, and the statistics (Eq. 12, 14) stay those of all rows read.
Of rows that have left the sample only number and label are kept, for a later pass to subtract: about
size x ln(rows / size) of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from viewpass.core.plan import Rules
from viewpass.core.step.chunk_step import ChunkStep, Outcome
from viewpass.core.step.workspace import Workspace
from viewpass.kernels.grid import Floats, Integers, Labels
from viewpass.views.chunk import Chunk, join
from viewpass.views.rows import MeasuredRows

UPDATES = 2  # centre updates after each chunk


@dataclass(frozen=True)
class Reservoir:
    """Sampled rows, scaled and weighted, and the labels they are counted under; immutable."""

    chunk: Chunk | None = None
    inverse: Floats | None = None  # scales each row to unit length, as when it was added
    # Of the rows in the sample, then of those that have left it: label and row number.
    labels: Labels = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    numbers: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    n_met: int = 0  # rows with a view so far

    @property
    def n_held(self) -> int:
        """Rows in the sample."""
        return 0 if self.chunk is None else self.chunk.n_rows

    def follow(
        self, outcome: Outcome, rules: Rules, workspace: Workspace, *, reference: bool
    ) -> tuple[Outcome, Reservoir]:
        """Reassign the sample after a chunk; gives the outcome of both, with the labels of the sample."""
        if self.chunk is None or self.inverse is None:
            return outcome, self
        rows = MeasuredRows.known(self.chunk, self.inverse, reference=reference)
        held, gone = self.labels[: self.n_held], self.labels[self.n_held :]
        after = ChunkStep(rules.at_most(UPDATES), workspace).from_counted(rows, outcome, held)
        after.n_iter += outcome.n_iter
        return after, replace(self, labels=np.concatenate([after.labels, gone]))

    def counted(self, start: int, labels: Labels) -> Labels:
        """Labels that the rows from `start` on are counted under, given those the stream assigned."""
        mine, theirs = self._among(start, len(labels))
        if not len(mine):
            return labels
        labels = labels.copy()
        labels[theirs] = self.labels[mine]
        return labels

    def decided(self, start: int, labels: Labels) -> Reservoir:
        """The reservoir after the rows from `start` on were read again and counted under these labels."""
        mine, theirs = self._among(start, len(labels))
        own = self.labels.copy()
        own[mine] = labels[theirs]
        return replace(self, labels=own)

    def _among(self, start: int, n_rows: int) -> tuple[Integers, Integers]:
        """Rows of the reservoir among `n_rows` rows from `start` on: their places here and there."""
        mine = np.flatnonzero((self.numbers >= start) & (self.numbers < start + n_rows))
        return mine, self.numbers[mine] - start

    def drawn(
        self, rows: MeasuredRows, labels: Labels, start: int, size: int, rng: np.random.Generator
    ) -> Reservoir:
        """A uniform sample of `size` rows of all rows so far, including these (numbered from `start` on).

        Row t (from 0) draws one of t + 1 places; it enters the sample if the place is below `size`.
        """
        seen = np.flatnonzero(rows.n_seen > 0)
        turns = self.n_met + np.arange(len(seen))
        places = turns.copy()
        late = turns >= size
        places[late] = (rng.random(int(late.sum())) * (turns[late] + 1)).astype(np.int64)
        taking = np.flatnonzero(places < size)[::-1]  # the last row that draws a place gets it
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
