"""A chunk cut into shares is the chunk itself: labels, sums, centres and loss, to the bit."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cases import cases, workspace
from viewpass.core.model import Plan
from viewpass.core.step.chunk_step import Rules
from viewpass.core.stream import Stream
from viewpass.engine.dask.coordinator import advance, blank
from viewpass.engine.dask.shards import Shard
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows
from viewpass.views.scaling import Scaling


class Around:
    """Shares in this process: they report in any order, and may lose all they know at any time."""

    def __init__(self, chunks, labels, rng):
        self.chunks, self.labels, self.rng = chunks, labels, rng
        self.shares = [Shard(MeasuredRows(chunk)) for chunk in chunks]

    def _ask(self, question):
        tallies = []
        for number in self.rng.permutation(len(self.chunks)):
            if self.rng.random() < 0.3:  # a worker was lost
                self.shares[number] = Shard(MeasuredRows(self.chunks[number]))
            tally = question(number, self.shares[number])
            tallies.append(pickle.loads(pickle.dumps(tally)))
        return tallies

    def look(self, stage):
        return reduce(add, self._ask(lambda _, share: share.look(stage)))

    def measured(self, n_clusters):
        return reduce(add, self._ask(lambda _, share: share.measured(n_clusters)))

    def follow(self, before, after):
        before, after = pickle.loads(pickle.dumps((before, after)))
        return reduce(
            add,
            self._ask(
                lambda number, share: share.follow(self.labels[number] if before is None else before, after)
            ),
        )

    def row_sums(self):
        return self._ask(lambda _, share: share.row_sums())

    def decided(self, stage):
        found = [None] * len(self.shares)
        for number in self.rng.permutation(len(self.chunks)):
            found[number] = self.shares[number].labels(stage)
        return found


def cut(case, start, stop, *, sparse=False):
    views = case.sparse() if sparse else case.views
    rows = slice(start, stop)
    whole = Chunk.of([x[rows] for x in views], observed=case.observed[rows], start=start)
    present = case.observed[rows].any(axis=0)  # a view that nobody has may be absent altogether
    views = tuple(view if there else None for view, there in zip(whole.views, present, strict=True))
    return Chunk(views, whole.names, whole.n_rows, whole.observed, start)


def in_one(case, init, rules, size, n_passes, sparse):
    stream = Stream(Plan(case.n_clusters, rules, init), np.random.default_rng(0), workspace(2))
    labels = np.full(case.n_rows, -1, dtype=np.int32)
    for number in range(n_passes):
        for start in range(0, case.n_rows, size):
            chunk = cut(case, start, min(start + size, case.n_rows), sparse=sparse)
            mine = slice(start, start + size)
            labels[mine] = (
                stream.learn(chunk) if number == 0 else stream.relearn(chunk, labels[mine])
            ).labels
    return labels, stream.model


def in_shares(case, init, rules, size, n_passes, n_shares, sparse):
    share = -(-size // n_shares)
    labels = np.full(case.n_rows, -1, dtype=np.int32)
    if isinstance(init, str):  # the first chunk is the start: it is not cut
        stream = Stream(Plan(case.n_clusters, rules, init), np.random.default_rng(0), workspace())
        labels[:size] = stream.learn(cut(case, 0, min(size, case.n_rows), sparse=sparse)).labels
        model = stream.model
    else:
        names = cut(case, 0, case.n_rows).schema
        unknown = replace(names, widths=tuple(None for _ in init))
        model = blank(unknown, init, Scaling.none(len(init)), rules.alpha)
    for number in range(n_passes):
        for start in range(0, case.n_rows, size):
            if isinstance(init, str) and (number, start) == (0, 0):
                continue
            stop = min(start + size, case.n_rows)
            edges = [(a, min(a + share, stop)) for a in range(start, stop, share)]
            chunks = [cut(case, a, b, sparse=sparse) for a, b in edges]
            around = Around(chunks, [labels[a:b].copy() for a, b in edges], case.rng)
            before = copy.deepcopy(model.total)
            after, stage = advance(around, model, rules, f"{number}.{start}", again=number > 0)
            assert model.total == before
            model = after
            for (a, b), found in zip(edges, around.decided(stage), strict=True):
                labels[a:b] = found
    return labels, model


@given(
    case=cases(),
    n_shares=st.integers(1, 5),
    size=st.integers(5, 60),
    n_passes=st.integers(1, 3),
    sparse=st.booleans(),
    given_centres=st.booleans(),
)
def test_shares_are_the_chunk(case, n_shares, size, n_passes, sparse, given_centres):
    fill = ("mean", None)[case.seed % 2]
    rules = Rules(case.alpha, 1 + case.seed % 12, (0.0, 1e-6, 0.01)[case.seed % 3], fill)
    init = "random"
    if given_centres:
        init = [case.rng.standard_normal((case.n_clusters, x.shape[1])) for x in case.views]
    if not given_centres and not case.present[:size].any():  # nothing to start from
        return
    if not case.present.any():
        return
    one = in_one(case, init, rules, size, n_passes, sparse)
    many = in_shares(case, init, rules, size, n_passes, n_shares, sparse)
    np.testing.assert_array_equal(many[0], one[0])
    assert many[1].total == one[1].total
    assert many[1].schema == one[1].schema
    assert many[1].loss_curve == one[1].loss_curve
    assert (many[1].n_rows, many[1].n_without_views, many[1].n_iter) == (
        *(one[1].n_rows, one[1].n_without_views),
        one[1].n_iter,
    )
    for mine, theirs in zip(many[1].centres.values, one[1].centres.values, strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            np.testing.assert_array_equal(mine, theirs)
    for mine, theirs in zip(many[1].centres.known, one[1].centres.known, strict=True):
        np.testing.assert_array_equal(mine, theirs)
