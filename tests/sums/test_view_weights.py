"""View weights, compared with plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import viewpass as vp

N, K = 400, 4
SETTINGS = {"n_clusters": K, "random_state": 0, "scale": "unit", "consensus": "plain", "n_threads": 1}


def made(dtype=np.float64):
    """Three views of one grouping, clear, dim and noise, with gaps and a row that lacks all."""
    rng = np.random.default_rng(3)
    group = rng.integers(K, size=N)
    views = [
        (size * np.eye(K, width)[group] + rng.standard_normal((N, width))).astype(dtype)
        for size, width in ((4.0, 6), (2.0, 9), (0.0, 5))
    ]
    observed = rng.random((N, 3)) > 0.3
    observed[7] = False
    return views, observed


VIEWS, OBSERVED = made()


def fitted(weights=None, views=VIEWS, observed=OBSERVED, **settings):
    return vp.ViewPass(view_weights=weights, **(SETTINGS | settings)).fit(views, observed=observed)


def same_bits(a, b):
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert a.objective_ == b.objective_
    assert a.statistics_ == b.statistics_
    for mine, theirs in zip(a.cluster_centers_, b.cluster_centers_, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def unit(views, observed):
    return [
        np.where(observed[:, [v]], x / np.linalg.norm(x, axis=1)[:, None], 0) for v, x in enumerate(views)
    ]


def distances(centres, weights):
    """Sum over the observed views of w |x - u|^2, written down."""
    rows = unit(VIEWS, OBSERVED)
    return sum(
        weight * OBSERVED[:, [v]] * ((rows[v][:, None] - centres[v]) ** 2).sum(axis=2)
        for v, weight in enumerate(weights)
    )


def test_equal_weights_are_none():
    same_bits(fitted([3, 3, 3]), fitted())
    assert fitted().view_weights_ == {"view0": 1.0, "view1": 1.0, "view2": 1.0}


def test_only_ratios_matter():
    one = fitted([1, 0.25, 0.5])
    same_bits(fitted([4, 1, 2]), one)
    same_bits(fitted({"view2": 0.05, "view0": 0.1, "view1": 0.025}), one)
    assert one.view_weights_ == {"view0": 1.0, "view1": 0.25, "view2": 0.5}
    assert (one.labels_ != fitted().labels_).any()


@pytest.mark.parametrize(
    "settings", [{"sample_size": 120}, {"n_anchors": 16, "consensus": "graph"}, {"scale": "auto"}]
)
def test_a_view_of_weight_0_is_absent(settings):
    without = fitted(views=[*VIEWS[:2], None], **settings)
    hidden = fitted([1, 1, 0], **settings)
    np.testing.assert_array_equal(hidden.labels_, without.labels_)
    assert hidden.objective_ == without.objective_
    assert np.isnan(hidden.cluster_centers_[2]).all()
    np.testing.assert_array_equal(
        hidden.transform(VIEWS, observed=OBSERVED), without.transform([*VIEWS[:2], None], observed=OBSERVED)
    )
    assert hidden.n_features_in_ == 20
    alone = [None, None, VIEWS[2][:3]]
    np.testing.assert_array_equal(hidden.predict(alone), [-1, -1, -1])


@pytest.mark.parametrize("sample_size", [120, "auto"])
def test_distances_labels_and_the_objective_are_those_of_the_formula(sample_size):
    weights = np.array([0.3, 1.0, 0.1])
    model = fitted(weights, sample_size=sample_size)
    expected = distances(model.cluster_centers_, weights)
    seen = OBSERVED.any(axis=1)
    found = model.transform(VIEWS, observed=OBSERVED)
    np.testing.assert_allclose(found[seen], expected[seen], atol=1e-8)
    assert np.isnan(found[~seen]).all()
    np.testing.assert_array_equal(model.labels_[seen], expected[seen].argmin(axis=1))
    own = expected[seen].min(axis=1).sum()
    each = zip(weights, model.alpha_.values(), model.cluster_centers_, strict=True)
    ridge = sum(w * alpha * (u**2).sum() for w, alpha, u in each)
    assert model.objective_ == pytest.approx(own + ridge, rel=1e-8)
    assert model.score(VIEWS, observed=OBSERVED) == pytest.approx(-own - ridge, rel=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_and_storage_do_not_matter(dtype):
    views, observed = made(dtype)
    weights = [0.4, 1.0, 0.05]
    one = fitted(weights, views, observed, sample_size=120)
    same_bits(fitted(weights, views, observed, sample_size=120, n_threads=2), one)
    sparse = fitted(weights, [sp.csr_array(x) for x in views], observed, sample_size=120)
    mixed = fitted(weights, [views[0], sp.csr_array(views[1]), views[2]], observed, sample_size=120)
    for other in (sparse, mixed):
        np.testing.assert_array_equal(other.labels_, one.labels_)
        assert other.statistics_ == one.statistics_


def test_rows_in_any_calls():
    whole, model = (vp.ViewPass(view_weights=[1, 0.3, 0.1], sample_size=120, **SETTINGS) for _ in range(2))
    whole.partial_fit(VIEWS, observed=OBSERVED)
    for start in range(0, N, 70):
        rows = slice(start, start + 70)
        model.partial_fit([x[rows] for x in VIEWS], observed=OBSERVED[rows])
    assert model.statistics_ == whole.statistics_
    assert model.view_weights_ == whole.view_weights_


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("auto", "None, or a list or dict"),
        (2.0, "None, or a list or dict"),
        ([1, 2], "2 entries, the data has 3 views"),
        ([1, -1, 1], "view 'view1': -1: a number of at least 0"),
        ([1, np.nan, 1], "view 'view1': nan: a number of at least 0"),
        ([1, True, 1], "view 'view1': True: a number of at least 0"),
        ([1, "2", 1], "view 'view1': '2': a number of at least 0"),
        ([0, 0, 0], "all 0: at least one must be positive"),
        ([1, 1e-9, 1], "view 'view1': 1e-09 is less than a millionth"),
        ({"sound": 1}, "the views are 'view0', 'view1', 'view2'"),
    ],
)
def test_bad_weights_are_refused(given, message):
    model = vp.ViewPass(K, view_weights=given)
    with pytest.raises(vp.SettingError, match=message):
        model.fit(VIEWS, observed=OBSERVED)
    assert not hasattr(model, "labels_")


def test_models_under_other_weights_are_not_merged():
    one, same, other = (fitted(weights) for weights in ([1, 0.5, 1], [2, 1, 2], [1, 1, 0.5]))
    assert vp.merge([one, same]).view_weights_ == one.view_weights_
    with pytest.raises(vp.SettingError, match="model 1"):
        vp.merge([one, other])
