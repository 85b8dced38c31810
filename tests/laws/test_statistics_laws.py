"""Laws of R, T and S: conservation, independence of order, exact undoing, the objective."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

import viewpass as vp
from cases import Case, cases
from inputs import PUBLISHED
from viewpass.sums.centres import Centres, objective


def summed(case: Case, labels: np.ndarray, rows: np.ndarray | slice = slice(None)) -> vp.Statistics:
    empty = vp.Statistics(case.n_clusters, [x.shape[1] for x in case.views])
    return empty.add([x[rows] for x in case.views], labels[rows], case.observed[rows])


@given(cases(), st.integers(1, 70), st.integers(1, 3))
def test_counts_are_the_observed_rows_whatever_the_chunks_and_passes(case, chunk_size, n_passes):
    model = vp.OPIMC(case.n_clusters, alpha=case.alpha, chunk_size=chunk_size, n_passes=n_passes, **PUBLISHED)
    assume(case.present.any(axis=1).sum() >= case.n_clusters)
    model.fit(case.views, observed=case.observed)
    for v, counts in enumerate(model.counts_):
        assert counts.dtype == np.int64
        assert counts.sum() == case.present[:, v].sum()
    assert model.n_rows_without_views_ == (~case.present.any(axis=1)).sum()
    # The statistics are those of the stream's own labels: each row is held once, where it is now.
    assert model.statistics_ == summed(case, model.stream_labels_)


@given(cases(), st.integers(0, 2**32 - 1))
def test_sums_do_not_depend_on_the_order_of_rows_or_on_any_split(case, seed):
    rng = np.random.default_rng(seed)
    labels = case.labels()
    whole = summed(case, labels)
    assert summed(case, labels, rng.permutation(case.n_rows)) == whole
    cut = np.sort(rng.integers(0, case.n_rows + 1, size=3))
    parts = [summed(case, labels, part) for part in np.split(rng.permutation(case.n_rows), cut)]
    rng.shuffle(parts)
    assert parts[0] + parts[1] + parts[2] + parts[3] == whole
    assert parts[0].merge(parts[1]).merge(parts[2]).merge(parts[3]) == whole


@given(cases())
def test_adding_then_subtracting_restores_the_state_to_the_bit(case):
    half = case.n_rows // 2
    labels = case.labels()
    state = summed(case, labels, slice(0, half))
    before = state.copy()
    rest = slice(half, None)
    state.add([x[rest] for x in case.views], labels[rest], case.observed[rest])
    state.subtract([x[rest] for x in case.views], labels[rest], case.observed[rest])
    assert state == before
    assert (summed(case, labels) - summed(case, labels, rest)) == before


@given(cases())
def test_dense_and_sparse_sums_are_the_same_bits(case):
    labels = case.labels()
    empty = vp.Statistics(case.n_clusters, [x.shape[1] for x in case.views])
    assert empty.add(case.sparse(), labels, case.observed) == summed(case, labels)


@given(cases())
def test_the_objective_from_the_sums_is_the_direct_sum_over_rows(case):
    labels = case.labels()
    statistics = summed(case, labels)
    centres = statistics.centres(case.alpha)
    direct = case.alpha * sum((u * u).sum() for u in centres)
    for v, x in enumerate(case.unit()):
        mine = case.present[:, v]
        direct += ((x[mine] - centres[v][labels[mine]]) ** 2).sum()
    # A row on the grid has unit length to about 1e-9. Where rows sit on their centres (J near 0)
    # that is all there is to see, so the figures are then relative to the rows' own size.
    scale = max(direct, 0.2 * sum(statistics.squares))
    assert abs(statistics.objective(case.alpha) - direct) <= 1e-8 * scale
    assert abs(objective(Centres.of(centres), statistics, case.alpha) - direct) <= 1e-8 * scale


@given(cases())
def test_sums_are_the_sums_of_unit_rows(case):
    labels = case.labels()
    statistics = summed(case, labels)
    for v, x in enumerate(case.unit()):
        for k in range(case.n_clusters):
            mine = case.present[:, v] & (labels == k)
            assert statistics.counts[v][k] == mine.sum()
            np.testing.assert_allclose(
                statistics.sums(v)[k], x[mine].sum(axis=0), atol=1e-9 * (1 + mine.sum())
            )
