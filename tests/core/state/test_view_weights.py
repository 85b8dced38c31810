"""View weights, compared with plain NumPy."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import viewpass as vp
from cases import workspace
from viewpass.core.auto.comparison import Difference
from viewpass.core.plan import Plan, Rules
from viewpass.core.state.statistics import Statistics
from viewpass.core.state.view_weights import SMALLEST_SHARE, learnt_weights
from viewpass.core.stream import Stream
from viewpass.views.chunk import Chunk

N, K = 400, 4
SETTINGS = {"n_clusters": K, "chunk_size": 60, "warmup": 120, "random_state": 0, "scale": "unit"}


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
    settings = SETTINGS | {"n_anchors": None, "n_threads": 1} | settings
    if not isinstance(settings.get("init", "auto"), str):  # which starts from the first chunk
        del settings["warmup"]
    return vp.OPIMC(view_weights=weights, **settings).fit(views, observed=observed)


def same_bits(a, b):
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(a.stream_labels_, b.stream_labels_)
    np.testing.assert_array_equal(a.loss_curve_, b.loss_curve_)
    assert a.objective_ == b.objective_
    for mine, theirs in zip(a.cluster_centers_, b.cluster_centers_, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def unit(views, observed):
    return [
        np.where(observed[:, [v]], x / np.linalg.norm(x, axis=1)[:, None], 0) for v, x in enumerate(views)
    ]


def distances(model, weights):
    """Sum over the observed views of w |x - u|^2, written down."""
    rows = unit(VIEWS, OBSERVED)
    return sum(
        weight * OBSERVED[:, [v]] * ((rows[v][:, None] - model.cluster_centers_[v]) ** 2).sum(axis=2)
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


@pytest.mark.parametrize("settings", [{}, {"n_anchors": 16, "consensus": "graph"}, {"scale": "auto"}])
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


def test_distances_labels_and_the_objective_are_those_of_the_formula():
    weights = np.array([0.3, 1.0, 0.1])
    model = fitted(weights)
    expected = distances(model, weights)
    seen = OBSERVED.any(axis=1)
    found = model.transform(VIEWS, observed=OBSERVED)
    np.testing.assert_allclose(found[seen], expected[seen], atol=1e-8)
    assert np.isnan(found[~seen]).all()
    np.testing.assert_array_equal(model.labels_[seen], expected[seen].argmin(axis=1))
    own = expected[np.arange(N), model.stream_labels_][seen].sum()
    each = zip(weights, model.alpha_.values(), model.cluster_centers_, strict=True)
    ridge = sum(w * alpha * (u**2).sum() for w, alpha, u in each)
    assert model.objective_ == pytest.approx(own + ridge, rel=1e-8)
    nearest = expected[seen].min(axis=1).sum()
    assert model.score(VIEWS, observed=OBSERVED) == pytest.approx(-nearest - ridge, rel=1e-8)


def test_one_chunk_is_lloyds_algorithm_under_the_weights():
    weights, labels = [1.0, 0.2, 0.6], np.arange(N) % K
    rows = unit(VIEWS, OBSERVED)
    model = fitted(weights, init=labels, chunk_size=N, max_iter=200, tol=0)
    for _ in range(200):
        sums = [np.array([x[(labels == k)].sum(axis=0) for k in range(K)]) for x in rows]
        counts = [np.array([OBSERVED[labels == k, v].sum() for k in range(K)]) for v in range(3)]
        centres = [r / (t[:, None] + 0.1) for r, t in zip(sums, counts, strict=True)]
        total = sum(
            w * OBSERVED[:, [v]] * ((rows[v][:, None] - centres[v]) ** 2).sum(axis=2)
            for v, w in enumerate(weights)
        )
        last, labels = labels, total.argmin(axis=1)
        if (last == labels).all():
            break
    seen = OBSERVED.any(axis=1)
    np.testing.assert_array_equal(model.stream_labels_[seen], labels[seen])
    for mine, theirs in zip(model.cluster_centers_, centres, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-8)


def test_given_centres_are_those_of_rows_without_weights():
    centres = [np.random.default_rng(v).standard_normal((K, x.shape[1])) for v, x in enumerate(VIEWS)]
    rows = [x[:1] for x in VIEWS]
    model = vp.OPIMC(K, init=centres, view_weights=[1, 0.5, 0.1], max_iter=1, scale="unit", n_threads=1)
    expected = sum(
        w * ((unit(rows, np.ones((1, 3), dtype=bool))[v][:, None] - centres[v]) ** 2).sum(axis=2)
        for v, w in enumerate([1, 0.5, 0.1])
    )
    assert model.set_params(n_clusters=K).partial_fit(rows).stream_labels_[0] == expected.argmin()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_and_storage_do_not_matter(dtype):
    views, observed = made(dtype)
    weights = [0.4, 1.0, 0.05]
    one = fitted(weights, views, observed, init="k-means++")
    same_bits(fitted(weights, views, observed, init="k-means++", n_threads=2), one)
    start = np.arange(60) % K
    dense = fitted(weights, views, observed, init=start)
    sparse = fitted(weights, [sp.csr_array(x) for x in views], observed, init=start)
    mixed = fitted(weights, [views[0], sp.csr_array(views[1]), views[2]], observed, init=start)
    for other in (sparse, mixed):
        np.testing.assert_array_equal(other.labels_, dense.labels_)
        assert other.statistics_ == dense.statistics_


@pytest.mark.parametrize("reservoir", [0, 90])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_compiled_kernels_equal_the_reference_to_the_bit(form, reservoir):
    ends = []
    for reference in (False, True):
        rules = Rules(0.1, 20, 1e-6, "mean")
        plan = Plan(K, rules, np.arange(50) % K, weights=(1.0, 0.3, 0.02), reservoir=reservoir)
        stream = Stream(replace(plan, reference=reference), np.random.default_rng(0), workspace())
        labels = np.full(N, -1, dtype=np.int32)
        for number, start in itertools.product(range(2), range(0, N, 50)):
            part = slice(start, start + 50)
            chunk = Chunk.of([form(x[part]) for x in VIEWS], observed=OBSERVED[part], start=start)
            decided = stream.learn(chunk) if number == 0 else stream.relearn(chunk, labels[part])
            labels[part] = decided.labels
        ends.append((labels, stream.model))
    (compiled, one), (plain, other) = ends
    np.testing.assert_array_equal(compiled, plain)
    assert one.total == other.total
    assert one.loss_curve == other.loss_curve


def test_chunks_fed_one_by_one_are_the_fit():
    for weights in ([1, 0.3, 0.1], "auto"):
        model = vp.OPIMC(view_weights=weights, n_anchors=None, n_threads=1, **SETTINGS)
        for start in range(0, N, 60):
            rows = slice(start, start + 60)
            model.partial_fit([x[rows] for x in VIEWS], observed=OBSERVED[rows])
        whole = fitted(weights)
        assert model.statistics_ == whole.statistics_
        assert model.view_weights_ == whole.view_weights_


def test_learnt_weights_are_those_of_the_formula():
    labels = np.where(OBSERVED.any(axis=1), np.arange(N) % K, -1)
    total = Statistics(K, [6, 9, 5]).add(VIEWS, labels, observed=OBSERVED)
    shares = np.array(total.view_objectives(0.1)) / OBSERVED.sum(axis=0)
    np.testing.assert_allclose(learnt_weights(total, 0.1), (1 / shares) / (1 / shares).max())
    twice = total + total  # as many again, the same clusters: nothing learnt changes but by the ridge
    np.testing.assert_allclose(learnt_weights(twice, 0.0), learnt_weights(total, 0.0))
    one = Statistics(1, [2, 2, 3]).add([np.eye(2), np.ones((2, 2)), None], [0, 0])
    assert learnt_weights(one, 0.0) == pytest.approx((0.02, 1.0, 0.51))
    assert SMALLEST_SHARE == 0.01
    assert learnt_weights(Statistics(2, [3, 4]), 0.1) is None


def test_auto_favours_the_views_that_clusters_explain(monkeypatch):
    better = Difference(gain=0.2, error=0.1, score=0.5, other=0.3)
    monkeypatch.setattr("viewpass.core.auto.choose.compared", lambda *_: better)
    offline = vp.IMC(K, view_weights="auto", scale="unit", random_state=0).fit(VIEWS, observed=OBSERVED)
    for model in (fitted("auto"), offline):
        assert model.choices_[0].chosen == "learnt"
        clear, dim, noise = model.view_weights_.values()
        assert clear == 1.0 > dim > noise > 0.1


def test_weights_are_equal_where_learnt_ones_tell_no_more():
    model = fitted("auto")  # too few rows to show anything
    assert model.view_weights_ == dict.fromkeys(model.view_names_in_, 1.0)
    assert model.choices_[0].chosen == "equal"


def test_the_objective_of_weighted_rows_is_that_of_the_best_start():
    offline = vp.IMC(K, view_weights=[3, 2, 1], n_init=3, random_state=0).fit(VIEWS, observed=OBSERVED)
    assert offline.objective_ == pytest.approx(offline.objectives_.min(), rel=1e-6)


def test_imc_under_weights_is_the_same_problem():
    weights, start = [1.0, 0.3, 0.1], np.arange(N) % K
    stream = fitted(weights, init=start, chunk_size=N, max_iter=100)
    offline = vp.IMC(K, view_weights=weights, init=start, n_threads=1).fit(VIEWS, observed=OBSERVED)
    np.testing.assert_array_equal(offline.labels_, stream.stream_labels_)
    assert offline.objective_ == stream.objective_


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("more", "None, 'auto', or a list or dict"),
        (2.0, "None, 'auto', or a list or dict"),
        ([1, 2], "2 entries, the data has 3 views"),
        ([1, -1, 1], "view 'view1': -1: a number of at least 0"),
        ([1, np.nan, 1], "view 'view1': nan: a number of at least 0"),
        ([1, True, 1], "view 'view1': True: a number of at least 0"),
        ([1, "2", 1], "view 'view1': '2': a number of at least 0"),
        ([0, 0, 0], "all 0: at least one must be positive"),
        ([1, 1e-9, 1], "view 'view1': 1e-09 is less than a millionth"),
        ({"view0": 1}, "given for 'view0'; the views are 'view0', 'view1', 'view2'"),
    ],
)
@pytest.mark.parametrize("estimator", [vp.OPIMC, vp.IMC])
def test_bad_weights_are_refused(estimator, given, message):
    model = estimator(K, view_weights=given)
    with pytest.raises(vp.SettingError, match=message):
        model.fit(VIEWS, observed=OBSERVED)
    assert not hasattr(model, "labels_")


def test_models_under_other_weights_are_not_merged():
    one, same, other = (fitted(weights) for weights in ([1, 0.5, 1], [2, 1, 2], [1, 1, 0.5]))
    assert vp.merge([one, same]).view_weights_ == one.view_weights_
    with pytest.raises(vp.SettingError, match="model 1 has other view_weights_"):
        vp.merge([one, other])
