"""The estimated number of clusters: a planted number is found."""

from __future__ import annotations

import numpy as np
import pytest

import viewpass as vp
from viewpass.core.consensus.number_of_clusters import MAX_CLUSTERS, from_gaps, from_prices


@pytest.mark.parametrize("n_clusters", [2, 3, 7, 20])
def test_the_gap_behind_the_last_large_eigenvalue(n_clusters):
    values = np.concatenate([np.linspace(1, 0.95, n_clusters), np.linspace(0.5, 0, 60)])
    curve = from_gaps(values)
    assert curve.kind == "eigengap"
    assert curve.n_clusters == n_clusters
    assert len(curve.numbers) == len(curve.values)


@pytest.mark.parametrize("n_clusters", [2, 3, 7, 20])
def test_the_first_expensive_merge(n_clusters):
    prices = np.concatenate([np.geomspace(0.01, 1, 80), np.geomspace(10, 40, n_clusters - 1)])
    assert from_prices(prices).n_clusters == n_clusters
    gains = np.concatenate([-np.ones(30), np.geomspace(0.01, 1, 50), np.geomspace(10, 40, n_clusters - 1)])
    assert from_prices(gains).n_clusters == n_clusters  # the first price after gains is no jump


def test_a_curve_has_an_end():
    assert from_gaps(np.linspace(1, 0, 1000)).numbers[-1] == MAX_CLUSTERS
    assert from_prices(np.linspace(0, 1, 999)).numbers[-1] == MAX_CLUSTERS
    for n_anchors in (1, 2, 3):
        assert from_gaps(np.ones(n_anchors)).n_clusters <= n_anchors
        assert from_prices(np.ones(n_anchors - 1)).n_clusters <= n_anchors


@pytest.mark.parametrize("consensus", ["graph", "merge", "auto"])
@pytest.mark.parametrize("n_clusters", [3, 8])
def test_planted_clusters_are_counted(consensus, n_clusters):
    rng = np.random.default_rng(n_clusters)
    group = rng.integers(n_clusters, size=1500)
    views = [6 * np.eye(n_clusters, width)[group] for width in (12, 9)]
    views = [x + rng.standard_normal(x.shape) for x in views]
    observed = rng.random((1500, 2)) > 0.3
    model = vp.OPIMC("auto", consensus=consensus, chunk_size=500, random_state=0, compute_labels=False)
    model.fit(views, observed=observed)
    assert len(model.cluster_centers_[0]) == n_clusters
    assert model.cluster_curve_.n_clusters == n_clusters
    assert len(set(model.predict(views).tolist())) == n_clusters
