"""Rows that come once: a sample of them, the model of its last solve, and tallies under it.

Rows are labelled by the model of the last solve and tallied under it. The sample is solved when it is full,
and again whenever the rows have become GROWTH times as many. That depends on the number of rows alone, never
on chunks or on who looks.

With a horizon (streams/horizon.py) the sample is solved first when there are FIRST rows per cluster. Rows
before the last solve and rows since are compared at every step of the horizon, and the sample is solved where
they differ. The sums of the model are then the sample's estimate.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from math import ceil
from typing import NamedTuple

import numpy as np

from viewpass.errors import DataError
from viewpass.kernels.grid import Integers, Labels
from viewpass.model.model import Model, label
from viewpass.sample.sample import Sample
from viewpass.solve.centres import ASSUMED_CLUSTERS
from viewpass.solve.plan import Plan
from viewpass.solve.solve import checked_rows, solve, too_few
from viewpass.streams.buckets import Buckets
from viewpass.streams.events import NO_CLUSTER
from viewpass.streams.horizon import BUCKETS, Horizon
from viewpass.streams.identities import Identities
from viewpass.streams.matching import Matching, matched, numbers_of, renumbered
from viewpass.streams.receipts import Receipt
from viewpass.streams.watch import BEYOND, LOOKED_AT, NOTHING, Look, compared, limits_of, part_of
from viewpass.sums.rules import Workspace
from viewpass.tally.tally import (
    Tally,
    estimated,
    final,
    moved,
    tally_by_centre,
    tally_by_label,
    with_one_more,
    with_tally,
)
from viewpass.views.chunk import Chunk, Schema

FIRST = 32  # rows per cluster at the first solve of a stream that changes; of 13 to 100, on four SDO streams
MEAN_LIFE = 144  # hundredths of a half-life
GROWTH = 1.5  # rows at a solve, over those at the one before
FAR_STEPS = 6  # of a horizon: rows since a solve are compared with rows no farther back
NEVER = 2**62  # rows
MOST_AT_ONCE = 8  # clusters that may be added by one solve
ALL_ROWS = Horizon()
NO_NUMBERS: Labels = np.zeros(0, dtype=np.int32)


class Labelled(NamedTuple):
    """Labels of consecutive rows."""

    start: int
    labels: Labels


@dataclass(frozen=True)
class Segment:
    """Rows labelled by one model: the number of the first, and what its clusters are called now."""

    start: int
    numbers: Labels
    ids: Integers  # that the clusters had when the rows were read


def whole_segment(model: Model, ids: Integers) -> tuple[Segment, ...]:
    """All rows so far, in the numbers of this model and with these ids."""
    return (Segment(0, np.arange(model.n_clusters, dtype=np.int32), ids),)


class Solution(NamedTuple):
    """The sample solved."""

    model: Model
    identities: Identities
    old: Labels  # of the clusters before: where most of their rows are now; -1: gone


class Learning:
    """A sample of the rows read, the model of the last solve, and the rows counted under it."""

    def __init__(self, plan: Plan, seed: int, sample: Sample, horizon: Horizon = ALL_ROWS) -> None:
        self.plan, self.seed, self.horizon = plan, seed, horizon
        self.schema: Schema | None = None
        self.n_rows = 0  # read, those without any view included
        self.solved: Model | None = None  # by the last solve, with what was tallied under it
        self.solved_at = 0  # rows read then, or when rows were last found to have changed
        self.segments: tuple[Segment, ...] = ()
        self.identities = Identities()
        self.receipts: tuple[Receipt, ...] = ()  # of rows that were forgotten
        self.buckets = Buckets(sample)
        self._seen: Model | None = None  # what people see, until there are more rows

    @property
    def sample(self) -> Sample:
        """The sample of all rows that count."""
        return self.buckets.sample

    def twin(self) -> Learning:
        """A copy that continues independently."""
        other = copy(self)
        other.buckets = self.buckets.twin()
        return other

    def model(self, workspace: Workspace) -> Model:
        """What people see: the model of the last solve; before it, that of the rows so far."""
        if self._seen is None:
            found = self.solved or self._solution(Workspace(workspace.n_threads)).model
            if self.horizon.changing and self.solved is not None and self.sample.chunk is not None:
                found = self._summed(found, workspace)
            self._seen = replace(found, rows=self.sample.chunk)
        return self._seen

    def learn(self, chunk: Chunk, workspace: Workspace) -> Iterator[Labelled]:
        """Learn from the next rows; gives labels. Those of rows before the first solve come with it."""
        self.schema = chunk.schema if self.schema is None else self.schema.merged(chunk.schema)
        if self.plan.weight_unit > 1 and chunk.copies is None:
            chunk = replace(chunk, copies=np.full(chunk.n_rows, self.plan.weight_unit, dtype=np.int64))
        n_done = 0
        while n_done < chunk.n_rows:
            due, stop = self.next_solve, self.next_stop
            n_more = min(stop - self.n_rows, chunk.n_rows - n_done)
            part = chunk.cut(n_done, n_done + n_more)
            part = part.numbered(np.arange(part.start, part.start + n_more), start=self.n_rows)
            if self.solved is None:
                checked_rows(part, self.plan, workspace.n_threads)
            elif self.horizon.changing:
                yield Labelled(part.start, label(part, self.solved, workspace))
            else:
                tally, labels = tally_by_label(part, self.solved, workspace)
                self.solved = _with_tally(self.solved, tally)
                yield Labelled(part.start, labels)
            self.buckets.add(part)
            self.n_rows += n_more
            self._seen = None
            n_done += n_more
            if self.n_rows >= stop:
                yield from self._stop(workspace, due=self.n_rows >= due)

    def _stop(self, workspace: Workspace, *, due: bool) -> Iterator[Labelled]:
        """Solve if that is due; where there is a horizon, look at the rows since the last solve."""
        grow = False
        if self.horizon.changing:
            self.buckets.close(self.n_rows, self.horizon.window)
            if self.solved is not None:
                look = self._look(workspace)
                self.identities = self.identities.noted(look.events)
                due, grow = due or look.unexplained or (look.changed and not self._follows), look.unexplained
                asked = self._follows and not due and self._asks
                if asked and self._number(workspace) != self.solved.n_clusters:
                    due = True
                if self._follows and not due:
                    self._follow(workspace)
                    if look.changed or self.n_rows >= self.solved_at + FAR_STEPS * self.horizon.step:
                        self.solved_at = self.n_rows
        if due and (self.n_rows >= self._full or self._solvable(workspace)):
            yield from self.solve(workspace, grow=grow)

    @property
    def _asks(self) -> bool:
        """Whether the number of clusters is estimated anew: once for all rows that count."""
        follows = self.plan.n_clusters is None and not self.horizon.grows
        return follows and self.n_rows % (BUCKETS * self.horizon.step) == 0

    def _number(self, workspace: Workspace) -> int:
        """The number of clusters of the rows that count; that before, where it scores like the highest."""
        assert self.solved is not None
        if not self._solvable(workspace):
            return self.solved.n_clusters
        plan = replace(self.plan, known_clusters=self.solved.n_clusters)
        return self._solve(plan, workspace).n_clusters

    @property
    def _follows(self) -> bool:
        """Whether centres follow the rows that count, without a solve."""
        return self.horizon.span is not None and self.solved is not None and self.solved.links is None

    def _follow(self, workspace: Workspace) -> None:
        """Move the centres to where the rows that count have them; clusters without rows stay."""
        assert self.solved is not None
        assert self.solved.census is not None
        assert self.sample.chunk is not None
        before = self.solved.census.sizes
        found = with_tally(self.solved, tally_by_centre(self.sample.chunk, self.solved, workspace))
        self.solved = self._summed(moved(found, auto_alpha=self.plan.auto_alpha), workspace)
        assert self.solved.census is not None
        sizes = self.solved.census.sizes
        self.identities = self.identities.emptied(before, sizes, self.n_rows).counted(self.n_rows, sizes)

    def _look(self, workspace: Workspace) -> Look:
        """Compare the rows before the last solve (or change) with those since."""
        assert self.solved is not None
        samples = [sample.lowest(LOOKED_AT).chunk for sample in self.buckets.parted(self.solved_at)]
        if samples[0] is None or samples[1] is None:
            return NOTHING
        limits = limits_of(samples[0], self.solved, workspace)
        before, since = (part_of(chunk, self.solved, limits, workspace) for chunk in samples if chunk)
        names = self.solved.schema.names
        return compared(before, since, names, self.identities.ids, self.n_rows)

    def solve(self, workspace: Workspace, *, grow: bool = False) -> Iterator[Labelled]:
        """Solve the sample now; gives the labels of rows that had none yet.

        `grow`: with more clusters, where the horizon says so and rows that no cluster explains form them.
        """
        first = self.solved is None
        if not first and not self._solvable(workspace):
            return
        found = self._solution(workspace, grow=grow)
        self.solved, self.identities = found.model, found.identities
        segments = (replace(each, numbers=np.append(found.old, -1)[each.numbers]) for each in self.segments)
        start, numbers = 0 if first else self.n_rows, np.arange(self.solved.n_clusters, dtype=np.int32)
        self.segments = (*segments, Segment(start, numbers, self.identities.ids))
        self.solved_at, self._seen = self.n_rows, None
        if self.horizon.changing:
            assert self.solved.census is not None
            self.identities = self.identities.counted(self.n_rows, self.solved.census.sizes)
            self.buckets.close(self.n_rows, self.horizon.window)
            if self.horizon.window is None:
                self.buckets.merge()
        if first:
            sample = self.sample
            assert sample.chunk is not None
            labels = np.full(self.n_rows, -1, dtype=np.int32)
            labels[sample.numbers] = label(sample.chunk, self.solved, workspace)
            yield Labelled(0, labels)

    def ids_of(self, given: Labelled) -> Integers:
        """The ids that rows got when they were read."""
        found = np.full(len(given.labels), NO_CLUSTER, dtype=np.int64)
        starts = [segment.start for segment in self.segments]
        for segment, stop in zip(self.segments, [*starts[1:], self.n_rows], strict=True):
            first, last = (min(max(row - given.start, 0), len(found)) for row in (segment.start, stop))
            found[first:last] = np.append(segment.ids, NO_CLUSTER)[given.labels[first:last]]
        return found

    def present(self, given: Labelled) -> Labels:
        """Labels that rows got when they were read, in the numbers that clusters have now."""
        labels, starts = given.labels.copy(), [segment.start for segment in self.segments]
        for segment, stop in zip(self.segments, [*starts[1:], self.n_rows], strict=True):
            first, last = (min(max(row - given.start, 0), len(labels)) for row in (segment.start, stop))
            labels[first:last] = np.append(segment.numbers, np.int32(-1))[labels[first:last]]
        return labels

    def cut(self, model: Model, n_clusters: int, workspace: Workspace) -> Learning:
        """What is learnt, with the model that people see cut into another number of clusters.

        Rows of clusters that merge are added; those of clusters of anchors are estimated from the sample, or
        by their anchors where the sample was left out of the file.
        """
        other = self.twin()
        consensus = "merge" if model.consensus == "plain" else model.consensus
        other.plan = replace(self.plan, n_clusters=n_clusters)
        total = model.clusters if model.consensus == "plain" else model.total
        found = replace(model, total=total, n_clusters=n_clusters, consensus=consensus)
        found = replace(found, labelled=None, numbers=None, census=None, calibration=None, rows=None)
        assert found.cut is not None
        labelled, census = total.grouped(found.cut.anchors, n_clusters), None
        if model.consensus == "plain" and model.census is not None:
            census = model.census.grouped(found.cut.anchors, n_clusters)
        elif self.sample.chunk is not None:
            labelled, census, _ = estimated(found, self.sample, model.read, workspace)
            if model.census is not None:
                census = replace(census, patterns=model.census.patterns, n_other=model.census.n_other)
        other.solved = replace(found, labelled=labelled, census=census)
        other.solved_at = self.solved_at or self.n_rows
        other.identities = Identities.first(n_clusters)
        other.segments, other._seen = whole_segment(other.solved, other.identities.ids), None
        return other

    def n_moved(self, before: Learning, workspace: Workspace) -> int:
        """Sampled rows that are in another cluster than under what was learnt `before`."""
        sample = self.sample.chunk
        if sample is None:
            return 0
        old, new = (label(sample, each.model(workspace), workspace) for each in (before, self))
        return int((old != new).sum())

    @property
    def _full(self) -> int:
        """How many rows there are when the sample is solved at the latest."""
        span, most = self.horizon.span, self.buckets.most
        return most if span is None else min(most, span)

    @property
    def next_solve(self) -> int:
        """How many rows there are when the sample is solved next, if nothing changes before."""
        span = self.horizon.span
        if self.solved is None:
            rows = FIRST * (self.plan.n_clusters or ASSUMED_CLUSTERS) if self.horizon.changing else self._full
            while rows <= self.n_rows:
                rows = ceil(GROWTH * rows)
            return max(min(rows, self._full), self.n_rows)
        due = max(ceil(GROWTH * self.solved_at), self.solved_at + 1)
        while due <= self.n_rows and not self.horizon.changing:  # too few rows of the sample had views then
            due = ceil(GROWTH * due)
        if span is None or self.n_rows < span:
            return due
        return NEVER if self._follows else self.solved_at + FAR_STEPS * self.horizon.step

    @property
    def next_stop(self) -> int:
        """How many rows there are when the sample is solved next, or looked at."""
        if not self.horizon.changing:
            return self.next_solve
        step = self.horizon.step
        look = (self.n_rows // step + 1) * step
        overdue = self.solved is not None and self.next_solve <= self.n_rows  # too few rows had views
        return look if overdue else min(self.next_solve, look)

    def _solvable(self, workspace: Workspace) -> bool:
        """Whether the rows that count are enough."""
        chunk = self.sample.chunk
        if chunk is None:
            return False
        n_seen = int(checked_rows(chunk, self.plan, workspace.n_threads).counted.sum())
        return n_seen >= (self.plan.n_clusters or 1)

    def _solution(self, workspace: Workspace, *, grow: bool = False) -> Solution:
        """The sample solved, and the numbers and ids of its clusters.

        Its sums are those of the sample, for all rows: each sampled row stands for as many.
        """
        sample, before = self.sample, self.solved
        if self.schema is None or sample.chunk is None:
            raise DataError(too_few(0, self.plan.n_clusters or 1))
        if before is None:
            found = self._solve(self.plan, workspace)
            most = self.horizon.most_clusters
            if most is not None and found.n_clusters > most:
                found = self._solve(replace(self.plan, n_clusters=most), workspace)
            total, census, own = estimated(found, sample, None, workspace)
            identities = Identities.first(found.n_clusters)
            if self.horizon.changing:
                labels = label(sample.chunk, found, workspace)
                identities = identities.remembering(sample, labels)
            return Solution(replace(found, labelled=total, census=census, read=own), identities, NO_NUMBERS)
        known = self._known(before, workspace)
        found, matching, labels = self._continued(known, before, workspace, grow=grow)
        numbers = numbers_of(matching)
        old = np.append(numbers, -1)[matching.places].astype(np.int32)
        found = found.numbered(numbers)
        matching, labels = renumbered(matching, numbers), np.append(numbers, -1)[labels]
        recalled = None
        memory = self.identities.memory
        if self.horizon.changing and memory.chunk is not None:
            recalled = label(memory.chunk, found, workspace)
        identities = self.identities.continued(matching, recalled, self.n_rows)
        if self.horizon.changing:
            identities = identities.remembering(sample, labels)
            return Solution(self._summed(found, workspace), identities, old)
        total, _, read = estimated(found, sample, before.read, workspace)
        assert before.census is not None
        census = before.census.grouped(np.maximum(old, 0), found.n_clusters)
        return Solution(replace(found, labelled=total, census=census, read=read), identities, old)

    def _known(self, before: Model, workspace: Workspace) -> Labels:
        """The clusters before of the sampled rows; with a horizon, -1 for rows that none of them explains."""
        chunk = self.sample.chunk
        assert chunk is not None
        if not self.horizon.changing:
            return label(chunk, before, workspace)
        rows = self.buckets.parted(self.solved_at)[0].lowest(LOOKED_AT).chunk
        part = part_of(chunk, before, limits_of(rows or chunk, before, workspace), workspace)
        return np.where(part.unexplained, np.int32(-1), part.labels)

    def _continued(
        self, known: Labels, before: Model, workspace: Workspace, *, grow: bool
    ) -> tuple[Model, Matching, Labels]:
        """The sample solved again, or with clusters added to those before."""
        kept = self._grown(known, before, workspace) if grow and self.horizon.grows else None
        if kept is not None:
            return kept
        number = self.plan.n_clusters
        if self.horizon.grows:
            number = max(len(np.unique(known[known >= 0])), 1)  # those that have rows left
        plan = replace(self.plan, n_clusters=number)
        if self.horizon.changing:
            plan = replace(plan, known_clusters=before.n_clusters)
        found = self._solve(plan, workspace)
        return self._matched(known, before, found, workspace)

    def _matched(
        self, known: Labels, before: Model, found: Model, workspace: Workspace
    ) -> tuple[Model, Matching, Labels]:
        assert self.sample.chunk is not None
        labels = label(self.sample.chunk, found, workspace)
        return found, matched(known, labels, before.n_clusters, found.n_clusters), labels

    def _grown(
        self, known: Labels, before: Model, workspace: Workspace
    ) -> tuple[Model, Matching, Labels] | None:
        """The clusters before, and one after the other of rows that none of them explains; None: none.

        One that is no larger than the rows that are always beyond the outlier limit is of outliers.
        """
        assert self.sample.chunk is not None
        kept: tuple[Model, Matching, Labels] | None = None
        found, unexplained = before, known
        for more in range(1, MOST_AT_ONCE):
            number = len(np.unique(unexplained[unexplained >= 0])) + 1
            if number > (self.horizon.most_clusters or number) or (unexplained >= 0).all():
                break
            if before.consensus == "plain":
                auto = self.plan.auto_alpha
                found = with_one_more(found, self.sample.chunk, unexplained, workspace, auto_alpha=auto)
            else:
                plan = replace(self.plan, n_clusters=number)
                found = self._solve(plan, workspace)
            one = self._matched(known, before, found, workspace)
            sizes = np.bincount(one[2][one[2] >= 0], minlength=number)
            if (sizes[one[1].born] > BEYOND * len(known)).sum() < more:
                break
            kept, unexplained = one, self._known(found, workspace)
        return kept

    def _solve(self, plan: Plan, workspace: Workspace) -> Model:
        """The model of the rows that count; those that age count as many as there are of full weight."""
        n_rows, half_life = self.n_rows - self.buckets.first_row, self.horizon.half_life
        if half_life is not None:
            n_rows = min(n_rows, MEAN_LIFE * half_life // 100)
        n_rows = max(n_rows, self.sample.n_rows)
        return solve(self.sample, self._schema, plan, self.seed, workspace, n_rows)

    @property
    def _schema(self) -> Schema:
        assert self.schema is not None
        return self.schema

    def _summed(self, model: Model, workspace: Workspace) -> Model:
        """The model with what the rows that count add up to, as far as the sample shows."""
        first_row = self.buckets.first_row
        sample = replace(self.sample, numbers=self.sample.numbers - first_row)
        total, census, read = estimated(model, sample, None, workspace)
        n_rows = self.n_rows - first_row
        if n_rows > read.n_rows:
            total, census, read = estimated(model, sample, read.scaled(n_rows), workspace)
        return replace(model, labelled=total, census=census, read=read)


def _with_tally(model: Model, tally: Tally) -> Model:
    """The model with rows that were labelled by it."""
    assert model.labelled is not None
    assert model.census is not None
    before = Tally(model.schema, model.labelled, model.census, model.read)
    both = before.plus(tally)
    return final(replace(model, schema=both.schema), both)
