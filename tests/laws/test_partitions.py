"""Rows in any partitions, whose results come in any order and are computed again: the bits of one process."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from cases import cases, workspace
from label_paths import Partitions
from viewpass.engines import interface, partitions
from viewpass.engines.local import RowReader, fit_again
from viewpass.sample.sample import Sample, Size
from viewpass.solve.plan import Plan
from viewpass.sources.arrays import ArraySource
from viewpass.sums.rules import Rules
from viewpass.tally.fitting import Fitting
from viewpass.tally.learning import Learning
from viewpass.views.chunk import Chunk


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
    found = interface.fit(Partitions([_bare(part) for part in parts], rng), fitting, workspace())
    mine = fitting.learning
    np.testing.assert_array_equal(found.labels, expected)
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
