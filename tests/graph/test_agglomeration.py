"""Merging by the price in J: prices are differences of J, and Ward's where Ward's is defined."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cut_tree, linkage

import viewpass as vp
from cases import cases, computing
from graphs import ridged_objective
from viewpass.graph.cut import cut, merges


@pytest.fixture(params=["compiled", "reference"], scope="module", autouse=True)
def module(request):
    with computing(reference=request.param == "reference"):
        yield


def statistics(case, n_anchors):
    labels = np.random.default_rng(case.seed).integers(n_anchors, size=case.n_rows)
    total = vp.Statistics(n_anchors, [x.shape[1] for x in case.views])
    return total.add(case.views, labels, observed=case.observed)


def clusters_of(total, labels):
    return total.grouped(labels, int(labels.max()) + 1)


def alone(rows):
    """Every row an anchor, one view."""
    return vp.Statistics(len(rows), [rows.shape[1]]).add([rows], np.arange(len(rows)))


@settings(max_examples=25, deadline=None)
@given(cases())
def test_a_price_is_what_the_objective_loses(case):
    total = statistics(case, 12)
    order = merges(total, case.alpha)
    found = [clusters_of(total, order.labels(k)).objective(case.alpha) for k in range(1, 13)]
    np.testing.assert_allclose(order.objective(total.objective(case.alpha)), found, rtol=0, atol=1e-9)
    np.testing.assert_allclose(-np.diff(found)[::-1], order.prices, rtol=0, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(cases())
def test_a_cut_has_as_many_clusters_as_asked_for(case):
    order = merges(statistics(case, 9), case.alpha)
    for k in range(1, 10):
        labels = order.labels(k)
        assert np.array_equal(np.unique(labels), np.arange(k))
        firsts = [int(np.flatnonzero(labels == cluster)[0]) for cluster in range(k)]
        assert firsts == sorted(firsts)  # numbered by their lowest anchor


@settings(max_examples=25, deadline=None)
@given(cases())
def test_clusters_are_nested(case):
    order = merges(statistics(case, 9), case.alpha)
    for k in range(1, 9):
        pairs = set(zip(order.labels(k + 1).tolist(), order.labels(k).tolist(), strict=True))
        assert len(pairs) == k + 1


@pytest.mark.parametrize("seed", range(3))
def test_it_is_wards_linkage_of_whole_data_without_a_ridge(seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((40, 6))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    order, ward = merges(alone(rows), 0.0), linkage(rows, "ward")
    np.testing.assert_allclose(order.prices, ward[:, 2] ** 2 / 2, rtol=1e-6, atol=1e-9)
    for k in (1, 2, 5, 17, 40):
        theirs = cut_tree(ward, k)[:, 0]
        pairs = set(zip(order.labels(k).tolist(), theirs.tolist(), strict=True))
        assert len(pairs) == k == len(set(theirs))


def test_clusters_that_share_no_view_are_merged_last():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((10, 4))
    observed = np.zeros((10, 2), dtype=bool)
    observed[:6, 0] = observed[6:, 1] = True  # two worlds that nothing connects
    total = vp.Statistics(10, [4, 4]).add([rows, rows], np.arange(10), observed=observed)
    order = merges(total, 0.1)
    assert order.labels(2).tolist() == [0] * 6 + [1] * 4
    assert order.prices[-1] == 0.0
    bridge = np.ones((1, 2), dtype=bool)
    both = [np.vstack([rows, rows[:1]])] * 2
    total = vp.Statistics(11, [4, 4]).add(both, np.arange(11), observed=np.vstack([observed, bridge]))
    assert merges(total, 0.1).prices[-1] != 0.0  # there is always a way round


def test_anchors_without_rows_are_no_clusters():
    rows = np.repeat(np.eye(3), 4, axis=0) + 0.01 * np.random.default_rng(0).standard_normal((12, 3))
    total = vp.Statistics(16, [3]).add([rows], np.array([0, 2, 3, 5, 6, 7, 8, 10, 11, 12, 14, 15]))
    order = merges(total, 0.1)
    assert order.n_empty == 4
    labels = order.labels(3)
    assert [len(set(labels[part])) for part in ([0, 2, 3, 5], [6, 7, 8, 10], [11, 12, 14, 15])] == [1, 1, 1]
    nothing = vp.Statistics(4, [3])
    assert merges(nothing, 0.1).labels(2).max() == 1


@pytest.mark.parametrize("n_clusters", [1, 2, 3])
def test_few_anchors(n_clusters):
    total = alone(np.eye(n_clusters, 4))
    for k in range(1, n_clusters + 1):
        assert cut(total, None, 0.1, k).anchors.max() == k - 1


@settings(max_examples=25, deadline=None)
@given(cases())
def test_a_price_under_a_ridge_to_the_mean_is_what_the_ridged_objective_loses(case):
    total = statistics(case, 12)
    order = merges(total, 3.0, to_mean=True)
    found = [ridged_objective(clusters_of(total, order.labels(k)), 3.0) for k in range(1, 13)]
    np.testing.assert_allclose(-np.diff(found)[::-1], order.prices, rtol=0, atol=1e-8)


@settings(max_examples=30, deadline=None)
@given(cases(), st.integers(2, 20))
def test_each_merge_is_the_cheapest(case, n_anchors):
    total = statistics(case, n_anchors)
    order = merges(total, case.alpha)
    for k in range(n_anchors, n_anchors - order.n_empty, -1):
        assert order.prices[n_anchors - k] == 0.0
    for k in range(n_anchors - order.n_empty, 1, -1):
        left = merges(clusters_of(total, order.labels(k)), case.alpha)
        if left.n_empty == 0:
            assert left.prices[0] == pytest.approx(order.prices[n_anchors - k], abs=1e-9)


def test_under_a_ridge_to_the_mean_small_clusters_go_first():
    """Two large clusters near each other, and six equal rows far from both."""
    places = np.array([[1.0, 0.0, 0.0], [np.cos(0.25), np.sin(0.25), 0.0], [0.0, 0.0, 1.0]])
    labels = np.repeat([0, 1, 2], [300, 300, 6])
    total = vp.Statistics(3, [3]).add([places[labels]], labels)
    assert merges(total, 0.1).labels(2).tolist() == [0, 0, 1]
    assert merges(total, 30.0, to_mean=True).labels(2)[:2].tolist() == [0, 1]
