"""Rows in any partitions, whose results come in any order and are computed again: the bits of one process."""

from __future__ import annotations

import pickle
from functools import reduce
from itertools import pairwise

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from cases import cases, workspace
from viewpass.engines import interface, partitions
from viewpass.engines.interface import Drawn
from viewpass.engines.local import RowReader, fit_again
from viewpass.sample.sample import Sample, Size
from viewpass.solve.plan import Plan
from viewpass.sources.arrays import ArraySource
from viewpass.sums.rules import Rules
from viewpass.tally.fitting import Fitting
from viewpass.tally.learning import Learning
from viewpass.tally.tally import Tally
from viewpass.views.chunk import Chunk


class Partitions:
    """An engine over chunks in this process: its results are sent, and come in any order."""

    def __init__(self, parts, rng):
        self.parts, self.rng = parts, rng
        self.n_rows = sum(part.n_rows for part in parts)

    def each(self, task, *given):
        found = [None] * len(self.parts)
        for number in self.rng.permutation(len(self.parts)):
            for _ in range(1 + self.rng.integers(2)):  # a worker was lost, perhaps
                part, *sent = pickle.loads(pickle.dumps((self.parts[number], *given)))
                cut = int(self.rng.integers(part.n_rows + 1))
                blocks = [part.cut(*edge) for edge in ((0, cut), (cut, part.n_rows)) if edge[0] < edge[1]]
                found[number] = pickle.loads(pickle.dumps(task(blocks, *sent)))
        return found

    def sample(self, size):
        found, factor = None, 1
        while found is None or not found.complete:
            found = partitions.union(self.each(partitions.candidates, size, self.n_rows, factor))
            factor *= 2
        return Drawn(found.sample, found.schema, found.n_rows)

    def tally(self, model):
        tallies = self.each(partitions.tally, model)
        return reduce(Tally.plus, [tallies[number] for number in self.rng.permutation(len(tallies))])

    def label(self, model):
        found = self.each(partitions.label, model)
        total = partitions.added([part.tally for part in found])
        return total, np.concatenate([part.labels for part in found])


@given(
    case=cases(min_rows=20),
    n_parts=st.integers(1, 6),
    n_sampled=st.integers(8, 70),
    consensus=st.sampled_from(["plain", "graph"]),
    sparse=st.booleans(),
)
def test_partitions_give_the_bits_of_one_process(case, n_parts, n_sampled, consensus, sparse):
    views = case.sparse() if sparse else case.views
    plan = Plan(
        case.n_clusters,
        Rules(case.alpha, 10, 0.0, "mean"),
        scale=("unit",) * len(views),
        n_anchors=8 if consensus == "graph" else None,
        consensus=consensus,
    )
    source = ArraySource(views, case.observed)
    whole = source.span(0, case.n_rows)
    empty, rng = Sample(Size(n_sampled, case.n_clusters)), case.rng
    sample = partitions.candidates([whole], empty.size, case.n_rows, case.n_rows).sample
    assume(case.present[sample.numbers].any(axis=1).sum() >= max(case.n_clusters, 2))
    learning = Learning(plan, 0, empty)
    theirs, expected = fit_again(learning, RowReader(source, block=7), workspace(2))
    edges = [0, *sorted(rng.choice(np.arange(1, case.n_rows), n_parts - 1, replace=False)), case.n_rows]
    parts = [whole.cut(int(a), int(b)) for a, b in pairwise(edges)]
    fitting = Fitting(plan, 0, empty)
    labels = interface.fit(Partitions([_bare(part) for part in parts], rng), fitting, workspace())
    mine = fitting.learning
    np.testing.assert_array_equal(labels, expected)
    assert mine.solved.labelled == theirs.solved.labelled
    assert mine.solved.total == theirs.solved.total
    assert (mine.n_rows, mine.schema, mine.solved.read) == (theirs.n_rows, theirs.schema, theirs.solved.read)
    np.testing.assert_array_equal(mine.sample.numbers, theirs.sample.numbers)
    np.testing.assert_equal(mine.solved.centres.values, theirs.solved.centres.values)
    np.testing.assert_array_equal(mine.solved.census.counts, theirs.solved.census.counts)
    assert dict(mine.solved.census.patterns) == dict(theirs.solved.census.patterns)


def _bare(part: Chunk) -> Chunk:
    """A view that no row of a partition has may be absent altogether."""
    seen = part.observed.any(axis=0)
    return part.without([not there for there in seen])
