"""Streaming driver of Algorithm 1: takes chunks, updates statistics and centres, gives labels.

For each chunk of s rows, given R and T of all rows before (sums/chunk_step.py has the inner loop):

    V      each row to its nearest centre over the views it has     Eq. 15-16
    R, T   its sums and counts                                      Eq. 12, 14
    U      R (T + alpha I)^-1                                       Eq. 13
           until no label moves, or the loss changes by less than tol, or max_iter updates

The first chunk starts from a soft random V (start.py). From the second pass on, a chunk starts from its
labels of the pass before: what it added to R and T then is taken out first, so that they hold each row once.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from viewpass.algorithm1.start import first_chunk, scaled_centres
from viewpass.errors import DataError
from viewpass.kernels.grid import Begin, Labels
from viewpass.model.model import Model, scaled
from viewpass.sums.centres import Centres
from viewpass.sums.chunk_step import ChunkStep, Outcome, State, Task
from viewpass.sums.row_counts import RowCounts
from viewpass.sums.rules import Rules, Workspace, each_view
from viewpass.sums.statistics import Statistics
from viewpass.views.chunk import Chunk, Schema
from viewpass.views.rows import MeasuredRows
from viewpass.views.scaling import Scaling

NOTHING = np.empty(0, dtype=np.int32)


@dataclass(frozen=True)
class Settings:
    """The settings of Algorithm 1."""

    n_clusters: int
    rules: Rules  # alpha (in units of 1 / weight_unit), max_iter, tol, fill
    init: Any = "random"  # or labels or memberships of the first chunk, or centres of each view
    scale: tuple[str, ...] = ()  # one name per view (scaling.SCALE_NAMES); (): unit length for all
    weight_unit: int = 1  # rows are counted in units of 1 / weight_unit

    def weighted(self, weight_unit: int) -> Settings:
        """The same for sample weights in this unit; `alpha` counts rows, so it is in units too."""
        assert isinstance(self.rules.alpha, float)
        rules = replace(self.rules, alpha=self.rules.alpha * weight_unit)
        return replace(self, rules=rules, weight_unit=weight_unit)


class Algorithm1:
    """Reads each row once per pass and keeps two sums per view."""

    def __init__(self, settings: Settings, rng: np.random.Generator, workspace: Workspace) -> None:
        self.settings, self.rng, self.workspace = settings, rng, workspace
        self.model: Model | None = None
        self.schema: Schema | None = None  # as far as rows have shown it
        self.read = RowCounts()

    @property
    def n_rows(self) -> int:
        """Rows read in the first pass, those without any view included."""
        return self.read.n_rows

    def twin(self) -> Algorithm1:
        """A copy that continues independently."""
        other = copy(self)
        other.rng = deepcopy(self.rng)
        if self.model is not None:
            other.model = replace(self.model, loss_curve=list(self.model.loss_curve))
        return other

    def learn(self, chunk: Chunk, size: int, counted: Labels | None = None) -> Iterator[Labels]:
        """Process rows in chunks of `size`, several per call where possible; gives their labels in order.

        `counted`: their labels of the pass before, in the second pass and later. If a chunk is refused,
        those before it have been learnt.
        """
        if self.settings.weight_unit > 1 and chunk.copies is None:
            weights = np.full(chunk.n_rows, self.settings.weight_unit, dtype=np.int64)
            chunk = replace(chunk, copies=weights)
        n_done, in_scale = 0, False
        while n_done < chunk.n_rows:
            if self.model is not None and not in_scale:
                chunk, in_scale = scaled(chunk, self.model, self.workspace), True
            rest = chunk if n_done == 0 else chunk.cut(n_done, chunk.n_rows)
            one = rest if rest.n_rows <= size else rest.cut(0, size)
            if self.model is None:
                labels = self._first(one)
            else:
                again = None if counted is None else counted[n_done:]
                labels = self._several(rest, size, again) if rest.n_rows > size else NOTHING
                if not len(labels):
                    labels = self._one(one, None if again is None else again[: one.n_rows])
            yield labels
            n_done += len(labels)

    def _first(self, chunk: Chunk) -> Labels:
        """The first chunk that has a row with a view: scale and centres are made from it."""
        settings, n_threads = self.settings, self.workspace.n_threads
        schema = chunk.schema if self.schema is None else self.schema.merged(chunk.schema)
        rows = self._rows(chunk).measure(n_threads)
        if not rows.n_seen.any():
            self.schema, self.read = schema, self.read + RowCounts.of(rows)
            return np.full(chunk.n_rows, -1, dtype=np.int32)
        names = settings.scale or ("unit",) * rows.n_views
        scaling = Scaling.learn(rows, names, settings.weight_unit)
        if not scaling.plain:
            rows = self._rows(scaling.apply(chunk, n_threads=n_threads))
        init = settings.init
        if isinstance(init, list):
            init = scaled_centres(init, scaling, schema, settings.n_clusters)
        outcome = first_chunk(rows, init, settings.n_clusters, self._step, self.rng)
        outcome.total = outcome.total.widened(scaling.widths(schema.widths))
        model = Model(
            schema,
            outcome.total,
            outcome.centres,
            scaling,
            tuple(each_view(settings.rules.alpha, rows.n_views).tolist()),
            n_clusters=settings.n_clusters,
            weight_unit=settings.weight_unit,
        )
        return self._commit(model, outcome, rows, schema)

    def _one(self, chunk: Chunk, counted: Labels | None) -> Labels:
        """One chunk, after mending rows that need it."""
        assert self.model is not None
        rows = self._rows(chunk)
        if counted is not None:
            rows.measure(self.workspace.n_threads)
        schema, state = self._state(chunk)
        task = Task(Begin.CENTRES if counted is None else Begin.COUNTED, counted)
        outcome = self._step.whole(rows, state, task)
        return self._commit(self.model, outcome, rows, schema, again=counted is not None)

    def _several(self, chunk: Chunk, size: int, counted: Labels | None) -> Labels:
        """The chunks before the first row to be mended or refused."""
        assert self.model is not None
        rows = self._rows(chunk)
        if counted is not None:
            rows.measure(self.workspace.n_threads)
        schema, state = self._state(chunk)
        task = Task(Begin.CENTRES if counted is None else Begin.COUNTED, counted, size=size)
        outcome = self._step.run(rows, state, task)
        if not len(outcome.labels):
            return outcome.labels
        return self._commit(self.model, outcome, rows, schema, again=counted is not None, size=size)

    def _state(self, chunk: Chunk) -> tuple[Schema, State]:
        assert self.model is not None
        schema = self.model.schema.merged(chunk.schema)
        return schema, State(self.model.widened(schema), self.model.centres)

    @property
    def _step(self) -> ChunkStep:
        return ChunkStep(self.settings.rules, self.workspace)

    def _rows(self, chunk: Chunk) -> MeasuredRows:
        return MeasuredRows(chunk)

    def _commit(
        self,
        before: Model,
        outcome: Outcome,
        rows: MeasuredRows,
        schema: Schema,
        *,
        again: bool = False,
        size: int | None = None,
    ) -> Labels:
        """Take over chunks of `size` rows (None: one chunk): the one place where the model changes."""
        outcome.total.check_room()
        n_done, n_before = len(outcome.labels), self.read.n_counted
        read = np.full(len(outcome.losses), n_before)
        if not again:
            copies = rows.chunk.copies
            ends = np.minimum((size or n_done) * np.arange(1, len(read) + 1), n_done)
            read += ends if copies is None else np.cumsum(copies)[ends - 1]
            self.read += RowCounts.of(rows, n_done)
        losses = (outcome.losses * before.square_unit / read).tolist()  # Eq. 18-20
        self.schema = schema
        self.model = replace(
            before,
            schema=schema,
            total=outcome.total,
            centres=outcome.centres,
            read=self.read,
            n_iter=before.n_iter + outcome.n_iter,
        )
        self.model.loss_curve.extend(losses)
        return outcome.labels

    def shown(self) -> Model:
        """The model; without centres before the first row that has a view."""
        if self.model is not None:
            return self.model
        if self.schema is None:
            raise DataError("no row has been read yet.")
        n_views, n_clusters = len(self.schema.names), self.settings.n_clusters
        return Model(
            self.schema,
            Statistics(n_clusters, [width or 0 for width in self.schema.widths]),
            Centres.none(n_clusters, n_views),
            Scaling.none(n_views),
            tuple(each_view(self.settings.rules.alpha, n_views).tolist()),
            self.read,
            n_clusters=n_clusters,
            weight_unit=self.settings.weight_unit,
        )
