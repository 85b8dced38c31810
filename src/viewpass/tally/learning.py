"""Rows that come once: a sample of them, the model of its last solve, and tallies under it.

The sample is solved when there are as many rows as clusters, and again whenever the rows have become GROWTH
times as many. That depends on the number of rows alone, never on chunks or on who looks. Clusters of a solve
are matched to those before, so their ids last.

Until the sample is full, people see the solution of all rows so far, under the ids of these solves. Then rows
are labelled by the model of the last solve and tallied under it.

With a horizon (streams/horizon.py) rows are labelled so from FIRST rows per cluster on. Rows before the last
solve and rows since are compared at every step of the horizon, and the sample is solved where they differ.
A step of time ends with the first row after it. The sums of the model are then the sample's estimate.
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
from viewpass.sample.sample import Sample, taken
from viewpass.solve.centres import ASSUMED_CLUSTERS
from viewpass.solve.plan import Plan
from viewpass.solve.solve import checked_rows, too_few
from viewpass.streams.events import NO_CLUSTER, Receipt
from viewpass.streams.horizon import BUCKETS, Buckets, Horizon
from viewpass.streams.identities import Identities
from viewpass.streams.matching import Matching, Shared, matched, matching, numbers_of, renumbered
from viewpass.streams.watch import BEYOND, LOOKED_AT, NOTHING, Look, compared, limits_of, part_of
from viewpass.sums.rules import Workspace
from viewpass.tally.robust import solved, typical
from viewpass.tally.tally import (
    Tally,
    estimated,
    final,
    loss_of,
    moved,
    refined,
    tally_by_centre,
    tally_by_label,
    with_tally,
)
from viewpass.views.chunk import Chunk, Schema

FIRST = 32  # rows per cluster when a stream that changes is first labelled; of 13 to 100, on four SDO streams
MEAN_LIFE = 144  # hundredths of a half-life
GROWTH = 1.5  # rows at a solve, over those at the one before
FAR_STEPS = 6  # of a horizon: rows since a solve are compared with rows no farther back
NEVER = 2**62  # rows
SLACK = 0.25  # how much farther from rows clusters may be that go on without a solve
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
    old: Labels = NO_NUMBERS  # of the clusters before: where most of their rows are now; -1: gone


class Learning:
    """A sample of the rows read, the model of the last solve, and the rows counted under it."""

    def __init__(self, plan: Plan, seed: int, sample: Sample, horizon: Horizon = ALL_ROWS) -> None:
        self.plan, self.seed, self.horizon = plan, seed, horizon
        self.schema: Schema | None = None
        self.n_rows = 0  # read, those without any view included
        self.time: int | None = None  # of the last row read, where rows have times
        self.solved: Model | None = None  # by the last solve, with what was tallied under it
        self.early: Model | None = None  # before that: by the last solve, to which ids go back
        self.solved_at = 0  # rows read then, or when rows were last found to have changed
        self.segments: tuple[Segment, ...] = ()
        self.identities = Identities()
        self.receipts: tuple[Receipt, ...] = ()  # of rows that were forgotten
        self.buckets = Buckets(sample)
        self._seen: Solution | None = None  # what people see, until there are more rows

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
        return self.shown(workspace).model

    def shown(self, workspace: Workspace) -> Solution:
        """The same with the ids of its clusters.

        Before the sample is full, a cluster that the last solve does not have has the id of the one that most
        of its rows come from.
        """
        if self._seen is None:
            found = Solution(self.solved, self.identities) if self.solved else self._so_far(workspace)
            if self.horizon.changing and self.solved is not None and self.sample.chunk is not None:
                found = found._replace(model=self._summed(self.solved, workspace))
            self._seen = found._replace(model=replace(found.model, rows=self.sample.chunk))
        return self._seen if self.solved is None else self._seen._replace(identities=self.identities)

    def _so_far(self, workspace: Workspace) -> Solution:
        """The solution of the rows so far, which the sample holds all of."""
        workspace = Workspace(workspace.n_threads)
        if self.early is None:
            return self._solution(workspace)
        found, match, _ = self._anew(self.early, workspace)
        ids = self.identities.ids  # if no row came since: the same clusters, those without rows included
        if self.n_rows > self.solved_at:
            ids = match.nearest(ids)
        return Solution(self._estimated(found, workspace), replace(self.identities, ids=ids))

    def learn(self, chunk: Chunk, workspace: Workspace, *, labelling: bool = True) -> Iterator[Labelled]:
        """Learn from the next rows; gives labels. Those of rows before the first solve come with it.

        `labelling=False`, for a stream that changes: says from which row on `solved` labels rows instead.
        """
        self.schema = chunk.schema if self.schema is None else self.schema.merged(chunk.schema)
        if self.plan.weight_unit > 1 and chunk.copies is None:
            chunk = replace(chunk, copies=np.full(chunk.n_rows, self.plan.weight_unit, dtype=np.int64))
        if self.plan.scale and set(self.plan.scale) == {"euclidean"}:  # zeros are data, stated or not
            chunk = replace(chunk, stated=True)
        times, n_done = self._times(chunk), 0
        while n_done < chunk.n_rows:
            n_there = chunk.n_rows
            if self.horizon.duration is not None:
                ends = self._step_ends(int(times[n_done]))
                if self.time is not None and self._step_ends(self.time) < ends:
                    yield from self._stop(workspace, due=self.n_rows >= self.next_solve, at=ends)
                n_there = int(np.searchsorted(times, ends))
            due, stop = self.next_solve, self.next_stop
            n_more = min(stop - self.n_rows, n_there - n_done)
            part = chunk.cut(n_done, n_done + n_more)
            part = part.numbered(np.arange(part.start, part.start + n_more), start=self.n_rows)
            if self.solved is None:
                checked_rows(part, self.plan, workspace.n_threads)
            elif self.horizon.changing:
                labels = label(part, self.solved, workspace) if labelling else NO_NUMBERS
                yield Labelled(part.start, labels)
            else:
                tally, labels = tally_by_label(part, self.solved, workspace)
                self.solved = _with_tally(self.solved, tally)
                yield Labelled(part.start, labels)
            self.buckets.add(part)
            self.n_rows += n_more
            self._seen = None
            n_done += n_more
            if len(times):
                self.time = int(times[n_done - 1])
            if self.n_rows >= stop:
                yield from self._stop(workspace, due=self.n_rows >= due, at=self.n_rows)

    def _times(self, chunk: Chunk) -> Integers:
        """The times of rows, which must not decrease; none without a column of times."""
        times = chunk.origin.times
        if times is None:
            return np.zeros(0, dtype=np.int64)
        back = np.flatnonzero(np.diff(times, prepend=times[:1] if self.time is None else self.time) < 0)
        if len(back):
            raise DataError(
                f"{chunk.place(int(back[0]))}: its time is before that of the row before it. Rows of a "
                "stream must come in the order of their times: sort them."
            )
        return times

    def _step_ends(self, time: int) -> int:
        """When the step of time ends that holds this one."""
        return (time // self.horizon.step + 1) * self.horizon.step

    def _close(self, at: int | None = None) -> None:
        """Close the open bucket and drop those that have left the window, once rows are labelled.

        `at`: the end of the step of time that begins; None: the step goes on.
        """
        horizon, ends, length = self.horizon, self.n_rows, self.horizon.window
        now = ends
        if horizon.duration is not None:
            assert self.time is not None
            ends, length = self._step_ends(self.time), horizon.duration
            now = (ends if at is None else at) - horizon.step
        gone = None if length is None or self.solved is None else now - length
        self.buckets.close(self.n_rows, ends, gone)

    def _stop(self, workspace: Workspace, *, due: bool, at: int) -> Iterator[Labelled]:
        """Solve if that is due; where there is a horizon, check the rows since the last solve for change.

        `at`: the number of rows, or the end of the step of time that begins.
        """
        grow, number = False, None
        if self.horizon.changing:
            asks = self._asks(at)
            self._close(at)
            if self.solved is not None and self.sample.chunk is not None:
                look, far = self._look(workspace), self.buckets.n_since(self.solved_at) >= FAR_STEPS
                self.identities = self.identities.noted(look.events, self.time)
                old = far and self._passed
                due = due or look.unexplained or ((look.changed or old) and not self._follows)
                grow = look.unexplained
                if self._follows and not due and asks:
                    number = self._number(workspace)
                    due = number is not None
                if self._follows and not due:
                    self._follow(workspace)
                    if look.changed or far:
                        self.solved_at = self.n_rows
        if self.solved is None and self.n_rows < self._labelled_from:
            if due:
                self.solve_early(workspace)
        elif due and (self.n_rows >= self._full or self._solvable(workspace)):
            yield from self.solve(workspace, grow=grow, number=number)

    def solve_early(self, workspace: Workspace) -> None:
        """Solve the sample so that ids last; rows are not labelled yet, and events not told."""
        if self._solvable(workspace):
            found = self._solution(Workspace(workspace.n_threads))
            self.identities = replace(found.identities, events=self.identities.events)
            self.early, self.solved_at = replace(found.model, labelled=None, census=None), self.n_rows
            self._seen = Solution(replace(found.model, rows=self._chunk), self.identities)

    def _asks(self, at: int) -> bool:
        """Whether the number of clusters is estimated anew: once for all rows that count."""
        if self.plan.n_clusters is not None:
            return False
        whole = BUCKETS * self.horizon.step
        if self.horizon.duration is None:
            return at % whole == 0
        assert self.time is not None
        return (at - self.horizon.step) // whole > self.time // whole

    def _number(self, workspace: Workspace) -> int | None:
        """Another number of clusters, where it scores higher for the rows that count.

        "grow": a larger one, of clusters that are clearly nearer to the rows.
        """
        assert self.solved is not None
        if not self._solvable(workspace):
            return None
        before, most = self.solved, self.horizon.most_clusters or NEVER
        found = self._solve(replace(self.plan, known_clusters=before.n_clusters), workspace)
        if self.horizon.grows:
            more = before.n_clusters < found.n_clusters <= most
            return found.n_clusters if more and not self._as_near(before, found, workspace) else None
        return None if found.n_clusters == before.n_clusters else found.n_clusters

    @property
    def _follows(self) -> bool:
        """Whether centres follow the rows that count, without a solve."""
        return self.horizon.forgets and self.solved is not None and self.solved.links is None

    @property
    def _passed(self) -> bool:
        """Whether rows have left, or count half."""
        if self.horizon.duration is not None:
            return self.buckets.first_row > 0
        return self.horizon.span is not None and self.n_rows >= self.horizon.span

    def _follow(self, workspace: Workspace) -> None:
        """Move the centres to where the rows that count have them; clusters without rows stay."""
        assert self.solved is not None
        assert self.solved.census is not None
        before, chunk = self.solved.census.sizes, self._chunk
        if self.plan.robust:
            chunk = taken(chunk, typical(chunk, self.solved, workspace))
        found = with_tally(self.solved, tally_by_centre(chunk, self.solved, workspace))
        self.solved = self._summed(moved(found, auto_alpha=self.plan.auto_alpha), workspace)
        assert self.solved.census is not None
        sizes = self.solved.census.sizes
        self.identities = self.identities.emptied(before, sizes, self.n_rows, self.time)
        self.identities = self.identities.counted(self.n_rows, sizes)

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

    def solve(
        self, workspace: Workspace, *, grow: bool = False, number: int | None = None
    ) -> Iterator[Labelled]:
        """Solve the sample now; gives the labels of rows that had none yet.

        `grow`: with more clusters, where the horizon says so and rows that no cluster explains form them.
        `number`: of clusters, where it was estimated.
        """
        first = self.solved is None
        if not first and not self._solvable(workspace):
            return
        found = self._solution(workspace, grow=grow, number=number)
        self.solved, self.identities, self.early = found.model, found.identities, None
        segments = (replace(each, numbers=np.append(found.old, -1)[each.numbers]) for each in self.segments)
        start, numbers = 0 if first else self.n_rows, np.arange(self.solved.n_clusters, dtype=np.int32)
        self.segments = (*segments, Segment(start, numbers, self.identities.ids))
        self.solved_at, self._seen = self.n_rows, None
        if self.horizon.changing:
            assert self.solved.census is not None
            self.identities = self.identities.counted(self.n_rows, self.solved.census.sizes)
            self._close()
            if self.horizon.window is None and self.horizon.duration is None:
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
        consensus = model.consensus if model.anchored else "merge"
        other.plan = replace(self.plan, n_clusters=n_clusters)
        total = model.total if model.anchored else model.clusters
        found = replace(model, total=total, n_clusters=n_clusters, consensus=consensus)
        found = replace(found, labelled=None, numbers=None, census=None, calibration=None, rows=None)
        assert found.cut is not None
        labelled, census = total.grouped(found.cut.anchors, n_clusters), None
        if not model.anchored and model.census is not None:
            census = model.census.grouped(found.cut.anchors, n_clusters)
        elif self.sample.chunk is not None:
            labelled, census, _ = estimated(found, self.sample, model.read, workspace, same_scale=True)
            if model.census is not None:
                census = replace(census, patterns=model.census.patterns, n_other=model.census.n_other)
        other.solved = replace(found, labelled=labelled, census=census)
        other.solved_at, other.early = self.solved_at if self.solved else self.n_rows, None
        other.identities = Identities.first(n_clusters)
        other.segments, other._seen = whole_segment(other.solved, other.identities.ids), None
        return other

    def n_moved(self, before: Learning, workspace: Workspace) -> int:
        """Sampled rows that are in another cluster than under what was learnt `before`."""
        sample = self.sample.chunk
        if sample is None:
            return 0
        shown = [each.shown(workspace) for each in (before, self)]
        old, new = (
            np.append(each.identities.ids, NO_CLUSTER)[label(sample, each.model, workspace)] for each in shown
        )
        return int((old != new).sum())

    @property
    def up_to_date(self) -> bool:
        """Whether the model of the last solve is of all rows read."""
        return self.solved is not None and self.solved_at == self.n_rows

    @property
    def _full(self) -> int:
        """How many rows there are when the sample is full, or holds all rows that count."""
        return min(self.buckets.most, self.horizon.span or NEVER)

    @property
    def _labelled_from(self) -> int:
        """How many rows there are when rows are first labelled."""
        return min(self._full, FIRST * self._assumed) if self.horizon.changing else self._full

    @property
    def _assumed(self) -> int:
        """The number of clusters, as long as it is not known."""
        return self.plan.n_clusters or ASSUMED_CLUSTERS

    @property
    def next_solve(self) -> int:
        """How many rows there are when the sample is solved next, if nothing changes before."""
        due = max(ceil(GROWTH * self.solved_at), self.solved_at + 1)
        if self.solved is None:
            rows = due if self.early else self._assumed
            while rows <= self.n_rows:
                rows = ceil(GROWTH * rows)
            first = self._labelled_from
            return max(min(rows, first if self.n_rows < first else self._full), self.n_rows)
        while due <= self.n_rows and not self.horizon.changing:  # too few rows of the sample had views then
            due = ceil(GROWTH * due)
        return NEVER if self._passed else due

    @property
    def next_stop(self) -> int:
        """How many rows there are when the sample is solved next, or checked for change."""
        if not self.horizon.changing:
            return self.next_solve
        step = self.horizon.step
        look = (self.n_rows // step + 1) * step if self.horizon.duration is None else NEVER
        overdue = self.solved is not None and self.next_solve <= self.n_rows  # too few rows had views
        return look if overdue else min(self.next_solve, look)

    def _solvable(self, workspace: Workspace) -> bool:
        """Whether the rows that count are enough."""
        chunk = self.sample.chunk
        if chunk is None:
            return False
        n_seen = int(checked_rows(chunk, self.plan, workspace.n_threads).counted.sum())
        return n_seen >= (self.plan.n_clusters or 1)

    def _solution(self, workspace: Workspace, *, grow: bool = False, number: int | None = None) -> Solution:
        """The sample solved, and the numbers and ids of its clusters."""
        before = self.solved or self.early
        if before is None:
            return self._first(workspace)
        if self.solved is None:
            found, match, labels = self._anew(before, workspace)
            old = NO_NUMBERS
        else:  # rows were labelled by its numbers
            known = self._known(before, workspace)
            found, match, labels = self._continued(known, before, workspace, grow=grow, number=number)
            numbers = numbers_of(match)
            old = np.append(numbers, -1)[match.places].astype(np.int32)
            found = found.numbered(numbers)
            match, labels = renumbered(match, numbers), np.append(numbers, -1)[labels]
        recalled = None
        memory = self.identities.memory
        if self.horizon.changing and memory.chunk is not None:
            recalled = label(memory.chunk, found, workspace)
        identities = self.identities.continued(match, recalled, self.n_rows, self.time)
        if self.horizon.changing:
            identities = identities.remembering(self.sample, labels)
            return Solution(self._summed(found, workspace), identities, old)
        return Solution(self._estimated(found, workspace, old), identities, old)

    def _first(self, workspace: Workspace) -> Solution:
        """The sample solved for the first time."""
        found = self._fresh(workspace)
        identities = Identities.first(found.n_clusters)
        if not self.horizon.changing:
            return Solution(self._estimated(found, workspace), identities)
        identities = identities.remembering(self.sample, label(self._chunk, found, workspace))
        return Solution(self._summed(found, workspace), identities)

    def _anew(self, before: Model, workspace: Workspace) -> tuple[Model, Matching, Labels]:
        """The sample solved before rows are labelled; as many clusters go on as can."""
        found, known = self._fresh(workspace), label(self._chunk, before, workspace)
        labels = label(self._chunk, found, workspace)
        shared = Shared.of(known, labels, before.n_clusters, found.n_clusters)
        return found, matching(shared, sure=False), labels

    def _fresh(self, workspace: Workspace) -> Model:
        """The sample solved, whatever was solved before."""
        found, most = self._solve(self.plan, workspace), self.horizon.most_clusters
        if most is not None and found.n_clusters > most:
            found = self._solve(replace(self.plan, n_clusters=most), workspace)
        return found

    def _estimated(self, model: Model, workspace: Workspace, old: Labels = NO_NUMBERS) -> Model:
        """The model with sums for all rows read: each sampled row stands for as many; all rows count.

        What was counted of the clusters before goes on; `old`: where most of their rows are now.
        """
        before = self.solved
        read = None if before is None else before.read
        total, census, read = estimated(model, self.sample, read, workspace)
        if before is not None and before.census is not None:
            census = before.census.grouped(np.maximum(old, 0), model.n_clusters)
        return replace(model, labelled=total, census=census, read=read)

    def _known(self, before: Model, workspace: Workspace) -> Labels:
        """The clusters before of the sampled rows; with a horizon, -1 for rows that none of them explains."""
        chunk = self._chunk
        if not self.horizon.changing:
            return label(chunk, before, workspace)
        rows = self.buckets.parted(self.solved_at)[0].lowest(LOOKED_AT).chunk
        part = part_of(chunk, before, limits_of(rows or chunk, before, workspace), workspace)
        return np.where(part.unexplained, np.int32(-1), part.labels)

    def _continued(
        self, known: Labels, before: Model, workspace: Workspace, *, grow: bool, number: int | None
    ) -> tuple[Model, Matching, Labels]:
        """The sample solved again, or with clusters added to those before."""
        kept = self._grown(known, before, workspace) if grow and self.horizon.grows else None
        if kept is not None:
            return kept
        number = number or self.plan.n_clusters
        if self.horizon.grows and number is None:
            number = max(len(np.unique(known[known >= 0])), 1)  # those that have rows left
        plan = replace(self.plan, n_clusters=number)
        if self.horizon.changing:
            plan = replace(plan, known_clusters=before.n_clusters)
        found = self._solve(plan, workspace)
        if self._follows:
            found = self._steadier(known, before, found, workspace)
        return self._matched(known, before, found, workspace)

    def _steadier(self, known: Labels, before: Model, found: Model, workspace: Workspace) -> Model:
        """The clusters before, where as many as `found` are hardly farther from the rows that count."""
        chunk = self._chunk
        there = np.arange(before.n_clusters) if self.plan.n_clusters else np.unique(known[known >= 0])
        if len(there) != found.n_clusters:
            return found  # above all where none of them explains a row
        near, mine = chunk, known
        if self.plan.robust:
            which = typical(chunk, before, workspace)
            near, mine = taken(chunk, which), known[which]
        kept = refined(before, near, mine, there, workspace, auto_alpha=self.plan.auto_alpha)
        return kept if self._as_near(kept, found, workspace) else found

    def _as_near(self, one: Model, other: Model, workspace: Workspace) -> bool:
        """Whether the clusters of one are hardly farther from the rows that count than those of the other."""
        chunk = self._chunk
        losses = [loss_of(chunk, label(chunk, each, workspace), one, workspace) for each in (one, other)]
        return losses[0] <= (1.0 + SLACK) * losses[1]

    def _matched(
        self, known: Labels, before: Model, found: Model, workspace: Workspace
    ) -> tuple[Model, Matching, Labels]:
        labels = label(self._chunk, found, workspace)
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
            if not before.anchored:
                clusters = np.append(np.unique(unexplained[unexplained >= 0]), -1)
                auto = self.plan.auto_alpha
                found = refined(found, self._chunk, unexplained, clusters, workspace, auto_alpha=auto)
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
        if self._follows:  # what has centres keeps them
            plan = replace(plan, consensus="plain")
        return solved(self.sample, self._schema, plan, self.seed, workspace, n_rows)

    @property
    def _chunk(self) -> Chunk:
        """The sampled rows."""
        if self.sample.chunk is None:
            raise DataError(too_few(0, self.plan.n_clusters or 1))
        return self.sample.chunk

    @property
    def _schema(self) -> Schema:
        if self.schema is None:
            raise DataError(too_few(0, self.plan.n_clusters or 1))
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
