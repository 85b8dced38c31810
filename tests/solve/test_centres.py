"""Which consensus is chosen from the sample, on real data: the graph of anchors or clusters with centres."""

from __future__ import annotations

import numpy as np
import pytest

import viewpass as vp
from viewpass.evaluate import make_mask, nmi
from viewpass.evaluate.data import load_digit, load_webkb


def fitted(bundle, seed, rate, **settings):
    views = list(bundle.views.values())
    n_rows = len(bundle.labels)
    order = np.random.default_rng(seed).permutation(n_rows)
    observed = make_mask("paper", n_rows, len(views), rate, random_state=seed)
    n_clusters = len(set(bundle.labels.tolist()))
    model = vp.ViewPass(n_clusters, random_state=seed, **settings).fit(
        [x[order] for x in views], observed=observed
    )
    return model, nmi(bundle.labels[order], model.labels_)


@pytest.mark.data
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_digit_is_clustered_by_the_graph(data_folder, seed):
    model, found = fitted(load_digit(data_folder), seed, 0.3)
    assert model.consensus_ == "graph"
    assert found >= 0.85


@pytest.mark.data
def test_web_pages_are_clustered_by_their_neighbours(data_folder):
    model, found = fitted(load_webkb(data_folder), 0, 0.3)
    assert model.consensus_ == "neighbours"
    assert model.anchors_ is None
    assert [each.chosen for each in model.choices_ if each.what == "consensus"] == ["plain", "neighbours"]
    without, same = fitted(load_webkb(data_folder), 0, 0.3, consensus="neighbours")
    assert model.statistics_ == without.statistics_  # as if anchors had never been tried
    assert found == same
