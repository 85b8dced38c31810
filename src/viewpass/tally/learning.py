"""Rows that come once: a sample of them, the model of its last solve, and tallies under it.

Rows are labelled by the model of the last solve and tallied under it. The sample is solved when it is full,
and again whenever the rows have become GROWTH times as many. That depends on the number of rows alone, never
on chunks or on who looks.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from math import ceil
from typing import NamedTuple

import numpy as np

from viewpass.errors import DataError
from viewpass.kernels.grid import Labels
from viewpass.model.model import Model, label
from viewpass.sample.sample import Sample, Sampler
from viewpass.solve.plan import Plan
from viewpass.solve.solve import checked_rows, solve, too_few
from viewpass.sums.workspace import Workspace
from viewpass.tally.estimate import estimated
from viewpass.tally.matching import places_of
from viewpass.tally.refine import final
from viewpass.tally.tally import Tally, tally_by_label
from viewpass.views.chunk import Chunk, Schema

GROWTH = 1.5  # rows at a solve, over those at the one before


class Labelled(NamedTuple):
    """Labels of consecutive rows."""

    start: int
    labels: Labels


@dataclass(frozen=True)
class Segment:
    """Rows labelled by one model: the number of the first, and what its clusters are called now."""

    start: int
    numbers: Labels


def whole_segment(model: Model | None) -> tuple[Segment, ...]:
    """All rows so far, in the numbers of this model."""
    if model is None:
        return ()
    return (Segment(0, np.arange(model.n_clusters, dtype=np.int32)),)


class Learning:
    """A sample of the rows read, the model of the last solve, and the rows counted under it."""

    def __init__(self, plan: Plan, seed: int, sample: Sample) -> None:
        self.plan, self.seed = plan, seed
        self.schema: Schema | None = None
        self.n_rows = 0  # read, those without any view included
        self.solved: Model | None = None  # by the last solve, with what was tallied under it
        self.solved_at = 0  # rows read then
        self.segments: tuple[Segment, ...] = ()
        self._sampler = Sampler(sample)
        self._seen: Model | None = None  # what people see, until there are more rows

    @property
    def sample(self) -> Sample:
        """The sample of all rows read."""
        return self._sampler.sample

    def twin(self) -> Learning:
        """A copy that continues independently."""
        other = copy(self)
        other._sampler = Sampler(self.sample)
        return other

    def model(self, workspace: Workspace) -> Model:
        """What people see: the model of the last solve; before it, that of the rows so far."""
        if self._seen is None:
            found = self.solved or self._solution(Workspace(workspace.n_threads))[0]
            self._seen = replace(found, rows=self.sample.chunk)
        return self._seen

    def learn(self, chunk: Chunk, workspace: Workspace) -> Iterator[Labelled]:
        """Learn from the next rows; gives labels. Those of rows before the first solve come with it."""
        self.schema = chunk.schema if self.schema is None else self.schema.merged(chunk.schema)
        if self.plan.weight_unit > 1 and chunk.copies is None:
            chunk = replace(chunk, copies=np.full(chunk.n_rows, self.plan.weight_unit, dtype=np.int64))
        n_done = 0
        while n_done < chunk.n_rows:
            n_more = min(self.next_solve - self.n_rows, chunk.n_rows - n_done)
            part = chunk.cut(n_done, n_done + n_more)
            part = part.numbered(np.arange(part.start, part.start + n_more), start=self.n_rows)
            if self.solved is not None:
                tally, labels = tally_by_label(part, self.solved, workspace)
                self.solved = _with_tally(self.solved, tally)
                yield Labelled(part.start, labels)
            else:
                checked_rows(part, self.plan, workspace.n_threads)
            self._sampler.add(part)
            self.n_rows += n_more
            self._seen = None
            n_done += n_more
            if self.n_rows >= self.next_solve:
                yield from self.solve(workspace)

    def solve(self, workspace: Workspace) -> Iterator[Labelled]:
        """Solve the sample now; gives the labels of rows that had none yet."""
        first = self.solved is None
        self.solved, old = self._solution(workspace)
        segments = (replace(each, numbers=old[each.numbers]) for each in self.segments)
        start, numbers = 0 if first else self.n_rows, np.arange(self.solved.n_clusters, dtype=np.int32)
        self.segments = (*segments, Segment(start, numbers))
        self.solved_at, self._seen = self.n_rows, None
        if first:
            sample = self.sample
            assert sample.chunk is not None
            labels = np.full(self.n_rows, -1, dtype=np.int32)
            labels[sample.numbers] = label(sample.chunk, self.solved, workspace)
            yield Labelled(0, labels)

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
        other.segments, other._seen = whole_segment(other.solved), None
        return other

    def n_moved(self, before: Learning, workspace: Workspace) -> int:
        """Sampled rows that are in another cluster than under what was learnt `before`."""
        sample = self.sample.chunk
        if sample is None:
            return 0
        old, new = (label(sample, each.model(workspace), workspace) for each in (before, self))
        return int((old != new).sum())

    @property
    def next_solve(self) -> int:
        """How many rows there are when the sample is solved next."""
        if self.solved is None:
            return max(self.sample.most, self.n_rows)
        return max(ceil(GROWTH * self.solved_at), self.solved_at + 1)

    def _solution(self, workspace: Workspace) -> tuple[Model, Labels]:
        """The sample solved, and the numbers that the clusters before have in it.

        Its sums are those of the sample, for all rows: each sampled row stands for as many.
        """
        sample, before = self.sample, self.solved
        if self.schema is None or sample.chunk is None:
            raise DataError(too_few(0, self.plan.n_clusters or 1))
        found = solve(sample, self.schema, self.plan, self.seed, workspace)
        numbers = np.arange(found.n_clusters, dtype=np.int32)
        if before is not None:
            labels = label(sample.chunk, found, workspace)
            old = label(sample.chunk, before, workspace)
            new, numbers = places_of(labels, old, found.n_clusters, before.n_clusters)
            found = found.numbered(new)
        read = None if before is None else before.read
        total, census, own = estimated(found, sample, read, workspace)
        if before is not None:
            assert before.census is not None
            census = before.census.grouped(numbers, found.n_clusters)
        return replace(found, labelled=total, census=census, read=read or own), numbers


def _with_tally(model: Model, tally: Tally) -> Model:
    """The model with rows that were labelled by it."""
    assert model.labelled is not None
    assert model.census is not None
    before = Tally(model.schema, model.labelled, model.census, model.read)
    both = before.plus(tally)
    return final(replace(model, schema=both.schema), both)
