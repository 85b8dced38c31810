"""Clusters that were chosen from rows that show a part of the data become anchors when the others come."""

from __future__ import annotations

import numpy as np
import pytest

import viewpass as vp
from clusters import assert_same
from graphs import bits
from viewpass.core import outgrown
from viewpass.evaluate import nmi

N, K, FIRST, CHUNK = 6400, 5, 700, 800


def data(apart, seed=0):
    """Clusters of five parts each, in two views, one after the other; the clusters are so far apart."""
    rng = np.random.default_rng(seed)
    group, part = np.sort(rng.integers(K, size=N)), rng.integers(5, size=N)
    views = []
    for width in (19, 17):
        centres = apart * rng.standard_normal((K, 1, width)) + rng.standard_normal((K, 5, width))
        views.append(centres[group, part] + 0.3 * rng.standard_normal((N, width)))
    observed = rng.random((N, 2)) > 0.2
    observed[::97] = False
    return views, observed, group


def chosen(**settings):
    given = {"n_clusters": K, "scale": "unit", "warmup": FIRST, "chunk_size": CHUNK, "n_threads": 1}
    return vp.OPIMC(**(given | {"random_state": 0} | settings))


@pytest.fixture(params=["merge", "graph"])
def consensus(request, monkeypatch):
    """How anchors form clusters; made round clusters speak against a graph."""
    monkeypatch.setattr(outgrown, "_may_link", lambda model: request.param == "graph")
    return request.param


@pytest.mark.parametrize("seed", range(2))
def test_rows_in_order_give_more_than_the_first_ones_promise(seed):
    views, observed, group = data(1.0, seed)
    model = chosen().fit(views, observed=observed)
    assert model.consensus_ == "merge"
    first, last = (choice for choice in model.choices_ if choice.what == "consensus")
    assert (first.chosen, last.chosen) == ("plain", "merge")
    assert outgrown.REASON in last.reason
    seen = model.labels_ >= 0
    without = chosen(adaptive_anchors=False).fit(views, observed=observed)
    assert without.consensus_ == "plain"
    assert nmi(group[seen], model.labels_[seen]) > 0.95 > nmi(group[seen], without.labels_[seen])


def test_shuffled_rows_and_settings_that_were_given_change_nothing():
    views, observed, _ = data(1.0)
    order = np.random.default_rng(1).permutation(N)
    shuffled, seen = [x[order] for x in views], observed[order]
    assert_same(chosen().fit(shuffled, observed=seen), chosen(n_anchors=None).fit(shuffled, observed=seen))
    assert chosen(n_anchors=None).fit(views, observed=observed).consensus_ == "plain"
    assert chosen(reservoir=50).fit(views, observed=observed).consensus_ == "plain"


def test_nothing_else_changes_the_bits(consensus, tmp_path):
    views, observed, _ = data(1.0)
    model = chosen().fit(views, observed=observed)
    held = model._learnt.model
    assert held.consensus == consensus
    again = vp.Statistics(held.total.n_clusters, held.total.widths)
    assert again.add(views, model.anchor_labels_, observed) == held.total
    assert bits(chosen(n_threads=3).fit(views, observed=observed)) == bits(model)
    parts = chosen()
    for start in range(0, N, CHUNK):
        rows = slice(start, start + CHUNK)
        parts.partial_fit([x[rows] for x in views], observed=observed[rows])
        if start in (CHUNK, 3 * CHUNK):
            parts.save(tmp_path / "model")
            parts = vp.load(tmp_path / "model")
    assert bits(parts) == bits(model)
    np.testing.assert_array_equal(parts.predict(views, observed=observed), model.labels_)
    assert sum(cluster["rows"] for cluster in model.summary()["clusters"]) == (model.labels_ >= 0).sum()


def test_a_model_without_losses_is_looked_at_all_the_same():
    views, observed, _ = data(1.0)
    found = []
    for n_forgotten in (0, 1):
        model = chosen()
        for start in range(0, 3 * CHUNK, CHUNK):
            rows = slice(start, start + CHUNK)
            model.partial_fit([x[rows] for x in views], observed=observed[rows])
            del model._learnt.model.loss_curve[: n_forgotten * 10]
        found.append(model.consensus_)
    assert found == ["merge", "merge"]


def test_a_view_that_comes_later_is_compared_with_nothing():
    views, observed, _ = data(1.0)
    order = np.random.default_rng(1).permutation(N)
    observed[:FIRST, 1] = False
    model = chosen().fit([x[order] for x in views], observed=observed)
    assert sum(choice.what == "consensus" for choice in model.choices_) == 1


def test_later_passes_go_on_with_the_anchors(consensus):
    views, observed, _ = data(1.0)
    model = chosen(n_passes=2).fit(views, observed=observed)
    assert model.consensus_ == consensus
    assert (model.labels_[observed.any(axis=1)] >= 0).all()
