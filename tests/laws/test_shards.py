"""A chunk cut into shards gives the bits of the whole chunk: labels, sums, centres and loss."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from cases import cases, workspace
from viewpass.core.model import StreamState
from viewpass.core.plan import Plan, Rules
from viewpass.core.state.row_counts import RowCounts
from viewpass.core.stream import Stream
from viewpass.engine.dask.coordinator import advance, blank
from viewpass.engine.dask.shards import Shard
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows


class Shards:
    """Shards in this process: they report in any order, and may lose what they remember at any time."""

    def __init__(self, chunks, labels, rng):
        self.chunks, self.labels, self.rng = chunks, labels, rng
        self.shards = [Shard(MeasuredRows(chunk)) for chunk in chunks]

    def _each(self, compute):
        tallies = []
        for number in self.rng.permutation(len(self.chunks)):
            if self.rng.random() < 0.3:  # a worker was lost
                self.shards[number] = Shard(MeasuredRows(self.chunks[number]))
            tally = compute(number, self.shards[number])
            tallies.append(pickle.loads(pickle.dumps(tally)))
        return tallies

    def assign(self, stage):
        return reduce(add, self._each(lambda _, shard: shard.assign(stage)))

    def measured(self, n_clusters):
        return reduce(add, self._each(lambda _, shard: shard.measured(n_clusters)))

    def follow(self, before, after):
        before, after = pickle.loads(pickle.dumps((before, after)))
        return reduce(
            add,
            self._each(
                lambda number, shard: shard.follow(self.labels[number] if before is None else before, after)
            ),
        )

    def row_sums(self):
        return self._each(lambda _, shard: shard.row_sums())

    def decided(self, stage):
        found = [None] * len(self.shards)
        for number in self.rng.permutation(len(self.chunks)):
            found[number] = self.shards[number].labels(stage)
        return found


def cut(case, start, stop, *, sparse=False):
    views = case.sparse() if sparse else case.views
    rows = slice(start, stop)
    whole = Chunk.of([x[rows] for x in views], observed=case.observed[rows], start=start)
    present = case.observed[rows].any(axis=0)  # a view that no row has may be absent altogether
    views = tuple(view if there else None for view, there in zip(whole.views, present, strict=True))
    return Chunk(views, whole.names, whole.n_rows, whole.observed, start)


def whole_chunks(case, init, rules, size, n_passes, sparse):
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


def in_shards(case, init, rules, size, n_passes, n_shards, sparse):
    per_shard = -(-size // n_shards)
    labels = np.full(case.n_rows, -1, dtype=np.int32)
    stream = Stream(Plan(case.n_clusters, rules, init), np.random.default_rng(0), workspace())
    if isinstance(init, str):  # the first chunk is the start: it is not cut
        labels[:size] = stream.learn(cut(case, 0, min(size, case.n_rows), sparse=sparse)).labels
    else:
        names = cut(case, 0, case.n_rows).schema
        unknown = replace(names, widths=tuple(None for _ in init))
        model = blank(unknown, init, case.n_clusters, rules.alpha)
        stream.state = StreamState(unknown, model, (), 0, RowCounts())
    for number in range(n_passes):
        for start in range(0, case.n_rows, size):
            if isinstance(init, str) and (number, start) == (0, 0):
                continue
            stop = min(start + size, case.n_rows)
            edges = [(a, min(a + per_shard, stop)) for a in range(start, stop, per_shard)]
            chunks = [cut(case, a, b, sparse=sparse) for a, b in edges]
            shards = Shards(chunks, [labels[a:b].copy() for a, b in edges], case.rng)
            model = stream.model
            before = copy.deepcopy(model.total)
            result, stage = advance(shards, model, rules, f"{number}.{start}", again=number > 0)
            assert model.total == before
            stream.commit(model, result)
            for (a, b), found in zip(edges, shards.decided(stage), strict=True):
                labels[a:b] = found
    return labels, stream.model


@given(
    case=cases(),
    n_shards=st.integers(1, 5),
    size=st.integers(5, 60),
    n_passes=st.integers(1, 3),
    sparse=st.booleans(),
    given_centres=st.booleans(),
)
def test_shards_give_the_bits_of_the_chunk(case, n_shards, size, n_passes, sparse, given_centres):
    fill = ("mean", None)[case.seed % 2]
    rules = Rules(case.alpha, 1 + case.seed % 12, (0.0, 1e-6, 0.01)[case.seed % 3], fill)
    init = "random"
    if given_centres:
        init = [case.rng.standard_normal((case.n_clusters, x.shape[1])) for x in case.views]
    assume(given_centres or case.present[:size].any())  # something to start from
    assume(case.present.any())
    one = whole_chunks(case, init, rules, size, n_passes, sparse)
    many = in_shards(case, init, rules, size, n_passes, n_shards, sparse)
    np.testing.assert_array_equal(many[0], one[0])
    assert many[1].total == one[1].total
    assert many[1].schema == one[1].schema
    assert many[1].loss_curve == one[1].loss_curve
    assert (many[1].read, many[1].n_iter) == (one[1].read, one[1].n_iter)
    for mine, theirs in zip(many[1].centres.values, one[1].centres.values, strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            np.testing.assert_array_equal(mine, theirs)
    for mine, theirs in zip(many[1].centres.known, one[1].centres.known, strict=True):
        np.testing.assert_array_equal(mine, theirs)
