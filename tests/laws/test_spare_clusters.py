"""Plain clusters with a few spare ones: the order of rows does not matter for round clusters."""

from __future__ import annotations

import numpy as np
import pytest

import viewpass as vp
from graphs import bits
from viewpass.evaluate import nmi

N, K = 1500, 5


def data(seed=0):
    """Round clusters in two views, one after the other."""
    rng = np.random.default_rng(seed)
    group = np.sort(rng.integers(K, size=N))
    views = [
        rng.standard_normal((K, width))[group] + 0.4 * rng.standard_normal((N, width)) for width in (9, 7)
    ]
    observed = rng.random((N, 2)) > 0.2
    observed[::97] = False
    return views, observed, group


def spared(**settings):
    given = {"n_clusters": K, "n_anchors": None, "adaptive_anchors": True, "scale": "unit", "warmup": 200}
    return vp.OPIMC(**(given | {"chunk_size": 100, "random_state": 0, "n_threads": 1} | settings))


@pytest.mark.parametrize("seed", range(3))
def test_sorted_rows_give_the_clusters_of_shuffled_ones(seed):
    views, observed, group = data(seed)
    found = []
    for order in (np.arange(N), np.random.default_rng(seed).permutation(N)):
        model = spared().fit([x[order] for x in views], observed=observed[order])
        seen = model.labels_ >= 0
        found.append(nmi(group[order][seen], model.labels_[seen]))
        assert len(model.cluster_centers_[0]) == K
        assert model.consensus_ == "merge"
    assert min(found) > 0.95
    plain = spared(adaptive_anchors=False).fit(views, observed=observed)
    assert plain.consensus_ == "plain"
    assert nmi(group[seen], plain.labels_[seen]) < min(found)


def test_nothing_else_changes_the_bits(tmp_path):
    views, observed, _ = data()
    model = spared().fit(views, observed=observed)
    held = model._learnt.model
    again = vp.Statistics(held.total.n_clusters, held.total.widths)
    assert again.add(views, model.anchor_labels_, observed) == held.total
    assert K < held.total.n_clusters <= K + 2
    assert bits(spared(n_threads=3).fit(views, observed=observed)) == bits(model)
    parts = spared()
    for start in range(0, N, 100):
        if start == 700:
            parts.save(tmp_path / "model")
            parts = vp.load(tmp_path / "model")
        parts.partial_fit([x[start : start + 100] for x in views], observed=observed[start : start + 100])
    assert bits(parts) == bits(model)
    np.testing.assert_array_equal(parts.predict(views, observed=observed), model.labels_)


def test_the_number_of_clusters_may_be_estimated_and_plain_choices_are_spared_too():
    views, observed, _ = data()
    model = spared(n_clusters="auto", warmup=N).fit(views, observed=observed)
    assert model._learnt.model.growth is not None
    chosen = spared(n_anchors="auto", warmup=N).fit(views, observed=observed)
    assert chosen.consensus_ in ("merge", "graph")
