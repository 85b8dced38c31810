"""Laws of the stream: Theorem 1, irrelevance of views' order and storage, rows without a view, pruning."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

import viewpass as vp
from cases import Case, cases, computing, workspace
from viewpass.algorithm1.algorithm1 import soft_memberships
from viewpass.sums.centres import objective
from viewpass.sums.chunk_step import ChunkStep, Outcome
from viewpass.sums.rules import Rules
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows


def first_chunk(case: Case, rules: Rules, *, sparse: bool = False) -> Outcome:
    rows = case.measured(sparse=sparse)
    memberships = soft_memberships(rows, case.n_clusters, case.rng)
    return ChunkStep(rules, workspace()).from_memberships(rows, memberships)


def objectives(case: Case, begin, n_steps: int = 8) -> list[float]:
    """J after 1, 2, ... centre updates of the same chunk."""
    values = []
    for max_iter in range(1, n_steps + 1):
        outcome = begin(Rules(case.alpha, max_iter, 0.0, None))
        values.append(objective(outcome.centres, outcome.total, case.alpha))
    return values


def never_rises(values: list[float]) -> bool:
    return all(b <= a + 1e-9 * (1 + abs(a)) for a, b in itertools.pairwise(values))


@given(cases())
def test_the_objective_never_rises_inside_the_first_chunk(case):
    assume(case.present.any())
    labels = case.labels()

    def begin(rules: Rules) -> Outcome:
        return ChunkStep(rules, workspace()).from_labels(case.measured(), labels, case.n_clusters)

    assert never_rises(objectives(case, begin))


@given(cases(min_rows=12))
def test_the_objective_never_rises_inside_a_later_chunk(case):
    half = case.n_rows // 2
    old = Chunk.of([x[:half] for x in case.views], observed=case.observed[:half])
    new = Chunk.of([x[half:] for x in case.views], observed=case.observed[half:])
    assume(case.present[:half].any())
    rules_before = Rules(case.alpha, 20, 0.0, None)
    rows = MeasuredRows(old).measure()
    memberships = soft_memberships(rows, case.n_clusters, case.rng)
    before = ChunkStep(rules_before, workspace()).from_memberships(rows, memberships)

    def begin(rules: Rules) -> Outcome:
        return ChunkStep(rules, workspace()).from_centres(MeasuredRows(new), before)

    assert never_rises(objectives(case, begin))


@given(cases())
def test_rows_without_any_view_change_nothing(case):
    assume(case.present.any(axis=1).sum() >= case.n_clusters)
    kept = np.flatnonzero(case.present.any(axis=1))
    rng = case.rng
    settings = {"alpha": case.alpha, "random_state": 3}
    bare, padded = vp.OPIMC(case.n_clusters, **settings), vp.OPIMC(case.n_clusters, **settings)
    for part in np.array_split(kept, 3):
        if len(part) == 0:
            continue
        bare.partial_fit([x[part] for x in case.views], observed=case.observed[part])
        where = np.sort(rng.integers(0, len(part) + 1, size=3))
        views = [np.insert(x[part], where, 7, axis=0) for x in case.views]
        observed = np.insert(case.observed[part], where, False, axis=0)
        padded.partial_fit(views, observed=observed)
        unseen = ~observed.any(axis=1)
        assert (padded.stream_labels_[unseen] == -1).all()
        np.testing.assert_array_equal(padded.stream_labels_[~unseen], bare.stream_labels_)
        assert padded.statistics_ == bare.statistics_
        for a, b in zip(padded.cluster_centers_, bare.cluster_centers_, strict=True):
            np.testing.assert_array_equal(a, b)


@given(cases(), st.integers(0, 2**32 - 1))
def test_the_order_of_views_does_not_matter(case, seed):
    order = np.random.default_rng(seed).permutation(len(case.views))
    turned = Case(
        [case.views[v] for v in order], case.observed[:, order], case.n_clusters, case.alpha, case.seed
    )
    rules = Rules(case.alpha, 1, 0.0, "mean")
    assume(case.present.any())
    a, b = first_chunk(case, rules), first_chunk(turned, rules)
    clear = margins(case, a) > 1e-9
    np.testing.assert_array_equal(a.labels[clear], b.labels[clear])


@given(cases())
def test_dense_and_sparse_give_the_same_labels(case):
    assume(case.present.any())
    rules = Rules(case.alpha, 1, 0.0, "mean")
    a, b = first_chunk(case, rules), first_chunk(case, rules, sparse=True)
    clear = margins(case, a) > 1e-9
    np.testing.assert_array_equal(a.labels[clear], b.labels[clear])


def margins(case: Case, outcome: Outcome) -> np.ndarray:
    """By how much each row is nearest, from the definition."""
    distance = np.zeros((case.n_rows, case.n_clusters))
    for v, x in enumerate(case.unit()):
        u = outcome.centres.values[v]
        if u is not None:
            far = ((x[:, None, :] - u[None, :, :]) ** 2).sum(axis=2)
            distance += np.where(case.present[:, v, None], far, 0.0)
    least = np.sort(distance, axis=1)
    gaps = least[:, 1] - least[:, 0] if case.n_clusters > 1 else np.full(case.n_rows, np.inf)
    return np.where(case.present.any(axis=1), gaps, np.inf)


@given(cases(), st.sampled_from(["mean", "zero-filled-mean", None]))
def test_pruning_changes_no_label_and_no_sum(case, fill):
    assume(case.present.any())
    rules = Rules(case.alpha, 10, 0.0, fill)
    pruned = first_chunk(case, rules)
    with computing():  # compares with all clusters at every update
        full = first_chunk(case, rules)
    np.testing.assert_array_equal(pruned.labels, full.labels)
    assert pruned.total == full.total
    assert pruned.loss == full.loss


@given(cases(), st.integers(1, 40))
def test_partial_fit_over_chunks_is_fit(case, chunk_size):
    assume(case.present.any(axis=1).sum() >= case.n_clusters)
    settings = {"alpha": case.alpha, "chunk_size": chunk_size, "random_state": 5}
    whole = vp.OPIMC(case.n_clusters, **settings).fit(case.views, observed=case.observed)
    parts = vp.OPIMC(case.n_clusters, **settings)
    for start in range(0, case.n_rows, chunk_size):
        rows = slice(start, start + chunk_size)
        parts.partial_fit([x[rows] for x in case.views], observed=case.observed[rows])
    assert parts.statistics_ == whole.statistics_
    for a, b in zip(parts.cluster_centers_, whole.cluster_centers_, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(parts.loss_curve_, whole.loss_curve_)
    np.testing.assert_array_equal(parts.predict(case.views, observed=case.observed), whole.labels_)
