"""Data that can be read again, in stages: the sample is drawn and solved, then all rows are tallied.

    0          the sample is drawn, and solved at the end
    1, 2 ...   a tally of all rows under the model, which moves its ridge and centres; until that lowers the
               objective by less than ENOUGH, or MOST_TALLIES times. A graph is that of the last tally.
               Of many rows, some are enough for anchors: those with low keys (sample/keys.py)
    last       all rows are labelled, and tallied by their labels

While the sample holds all rows there is nothing to refine. A stage can stop after any chunk and go on later.
"""

from __future__ import annotations

from viewpass.errors import DataError
from viewpass.kernels.grid import Labels
from viewpass.model.model import Model
from viewpass.sample.keys import HIGHEST, key_below
from viewpass.sample.sample import Sample, Sampler
from viewpass.solve.plan import Plan
from viewpass.solve.solve import too_few
from viewpass.streams.identities import Identities
from viewpass.sums.centres import objective
from viewpass.sums.rules import Workspace
from viewpass.tally.learning import Learning, whole_segment
from viewpass.tally.robust import limited, solved
from viewpass.tally.tally import Tally, final, moved, tally_by_centre, tally_by_label, with_tally
from viewpass.views.chunk import Chunk, Schema

MOST_TALLIES, MOST_OF_GRAPH = 4, 2  # anchors need not be exact
ROWS_PER_ANCHOR = 100  # tallied: more lower the objective by less than half a per cent
ENOUGH = 0.002  # of the objective


class Fitting:
    """How far a fit is: its stage, and what it has of the present one."""

    def __init__(self, plan: Plan, seed: int, sample: Sample) -> None:
        self.plan, self.seed = plan, seed
        self.stage = 0
        self.labelling = False  # the last stage
        self.done = False
        self.schema: Schema | None = None
        self.n_rows = 0  # of the data; known after the first stage
        self.row = 0  # of the present stage: the next to be read
        self.model: Model | None = None
        self.tally: Tally | None = None  # of the present stage
        self._sampler = Sampler(sample)

    @property
    def what(self) -> str:
        """What the present stage does with rows, for those who watch."""
        if self.stage == 0:
            return "sampling"
        return "labelling" if self.labelling else f"tally {self.stage}"

    @property
    def sample(self) -> Sample:
        """The sample of the rows read."""
        return self._sampler.sample

    @property
    def limit(self) -> int:
        """The highest key of the rows that the present stage tallies."""
        if self.model is None or self.model.links is None:
            return HIGHEST
        return key_below(ROWS_PER_ANCHOR * self.model.centres.n_clusters / max(self.n_rows, 1))

    def draw(self, chunk: Chunk) -> None:
        """Take the rows of a chunk into the sample (first stage)."""
        self.schema = chunk.schema if self.schema is None else self.schema.merged(chunk.schema)
        self._sampler.add(chunk)
        self.row = self.n_rows = chunk.start + chunk.n_rows

    def start(self, sample: Sample, schema: Schema, n_rows: int) -> None:
        """Begin with a sample that was drawn elsewhere (first stage)."""
        self._sampler, self.schema = Sampler(sample), schema
        self.row = self.n_rows = n_rows

    def take(self, chunk: Chunk, workspace: Workspace) -> Labels | None:
        """Process the next chunk of the present stage; gives labels in the last one."""
        if self.model is None:
            self.draw(chunk)
            return None
        labels = None
        if self.labelling:
            mine, labels = tally_by_label(chunk, self.model, workspace)
        else:
            mine = tally_by_centre(chunk, self.model, workspace, self.limit)
        self.add(mine)
        self.row = chunk.start + chunk.n_rows
        return labels

    def add(self, tally: Tally) -> None:
        """Add the tally of some rows of the present stage."""
        self.tally = tally if self.tally is None else self.tally.plus(tally)

    def end_stage(self, workspace: Workspace) -> None:
        """All rows of the stage were read: solve, refine, or finish."""
        self.row = 0
        if self.model is None:
            self._solve(workspace)
        elif self.labelling:
            assert self.tally is not None
            self.model, self.done = final(self.model, self.tally), True
        else:
            self._refine()
        self.stage, self.tally = self.stage + 1, None
        self.set_limits(workspace)

    def set_limits(self, workspace: Workspace) -> None:
        """Find the outlier limits of the next tally by centre, where the plan is robust."""
        if self.model is not None and self.plan.robust:
            self.model = limited(self.model, None if self.labelling else self.sample.chunk, workspace)

    def _solve(self, workspace: Workspace) -> None:
        sample = self.sample
        if self.schema is None or sample.chunk is None:
            raise DataError(too_few(0, self.plan.n_clusters or 1))
        self.model = solved(sample, self.schema, self.plan, self.seed, workspace, self.n_rows)
        self.labelling = sample.n_rows == self.n_rows

    def _refine(self) -> None:
        assert self.model is not None
        assert self.tally is not None
        model = with_tally(self.model, self.tally)
        before = objective(model.centres, model.total, model.alpha, model.row_squares)
        gain = before - model.total.objective(model.alpha, model.row_squares)
        most = MOST_TALLIES if model.links is None else MOST_OF_GRAPH
        self.labelling = gain <= ENOUGH * before or self.stage >= most
        keeps = self.labelling and model.links is not None  # the anchors that its links were counted under
        self.model = model if keeps else moved(model, auto_alpha=self.plan.auto_alpha)

    @property
    def learning(self) -> Learning:
        """What goes on with further rows."""
        assert self.model is not None
        found = Learning(self.plan, self.seed, self.sample)
        found.schema, found.n_rows, found.solved_at = self.model.schema, self.n_rows, self.n_rows
        found.solved = self.model
        found.identities = Identities.first(self.model.n_clusters)
        found.segments = whole_segment(self.model, found.identities.ids)
        return found
