"""Reasons: probabilities, contributions, outliers, stability and estimates of missing views."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import viewpass as vp
from clusters import made_rows

VIEWS = made_rows(600, widths=(12, 7, 5), seed=3)
MODELS = {
    "plain": lambda: vp.ViewPass(4, consensus="plain", random_state=0),
    "graph": lambda: vp.ViewPass(4, n_anchors=24, consensus="graph", random_state=0),
    "weights": lambda: vp.ViewPass(4, consensus="plain", view_weights=[1, 3, 0.5], random_state=0),
    "euclidean": lambda: vp.ViewPass(4, scale="euclidean", random_state=0),
    "standard": lambda: vp.ViewPass(4, scale="standard", n_anchors=24, consensus="graph", random_state=0),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param]().fit(VIEWS)


def seen(model):
    return model.predict(VIEWS) >= 0


def test_the_most_probable_cluster_is_the_label(model):
    found = model.predict_proba(VIEWS)
    there = seen(model)
    np.testing.assert_allclose(found[there].sum(axis=1), 1.0)
    np.testing.assert_array_equal(found[there].argmax(axis=1), model.predict(VIEWS)[there])
    np.testing.assert_array_equal(found.max(axis=1), model.confidence(VIEWS))
    assert (found[there] >= 0).all()
    assert np.isnan(found[~there]).all()


def test_rows_with_more_views_are_surer(model):
    whole = ~np.isnan(np.column_stack([x[:, 0] for x in VIEWS])).any(axis=1)
    rows = [x[whole] for x in VIEWS]
    all_views, one = model.confidence(rows), model.confidence([rows[0], None, None])
    assert np.nanmean(all_views) > np.nanmean(one)


def test_parts_add_up_to_the_margin(model):
    why = model.explain(VIEWS, features=True)
    there = seen(model)
    np.testing.assert_array_equal(why.labels, model.predict(VIEWS))
    distance = model.transform(VIEWS)
    rows = np.flatnonzero(there)
    margin = distance[rows, why.runners_up[rows]] - distance[rows, why.labels[rows]]
    scale = np.abs(distance[rows]).max()
    np.testing.assert_allclose(why.margins[rows], margin, rtol=1e-6, atol=1e-12 * scale)
    np.testing.assert_allclose(why.views[rows].sum(axis=1), margin, rtol=1e-6, atol=1e-12 * scale)
    mapped = model.projections_  # rows that were rounded to float32 after the map
    for v, parts in enumerate(why.features):
        near = {"rtol": 1e-9, "atol": 1e-12 * scale} if not mapped else {"rtol": 1e-6, "atol": 1e-6 * scale}
        np.testing.assert_allclose(parts.sum(axis=1), why.views[:, v], **near)
        assert not why.views[np.isnan(VIEWS[v][:, 0]), v].any()
    assert np.isnan(why.margins[~there]).all()
    assert (why.runners_up[~there] == -1).all()
    assert (why.runners_up[rows] != why.labels[rows]).all()


def test_outliers_are_among_rows_with_the_same_views(model):
    score = model.outlier_score(VIEWS)
    np.testing.assert_array_equal(model.score_samples(VIEWS), -score)
    assert (np.isnan(score) == ~seen(model)).all()
    patterns = np.isnan(np.column_stack([x[:, 0] for x in VIEWS])) @ [1, 2, 4]
    for pattern in np.unique(patterns):
        mine = score[(patterns == pattern) & seen(model)]
        if len(mine) >= 100:  # the score says which share of them is farther out
            assert 0.3 < (mine < -np.log(0.5)).mean() < 0.7
            assert (mine < -np.log(0.1)).mean() > 0.75


def test_stability_is_predict_without_a_view(model):
    found = model.stability(VIEWS)
    own, several = model.predict(VIEWS), np.zeros(len(VIEWS[0]), dtype=int)
    for v in range(3):
        without = model.predict([None if u == v else x for u, x in enumerate(VIEWS)])
        has = found.labels[:, v] >= 0
        several += has
        np.testing.assert_array_equal(found.labels[has, v], without[has])
    agree = ((found.labels == own[:, None]) | (found.labels < 0)).all(axis=1)
    np.testing.assert_array_equal(found.stable, agree & (several > 1))


def test_estimates_are_better_than_the_mean(model):
    """Views that the rows have are hidden from `impute`; others are as they were."""
    for v, hidden in enumerate(VIEWS):
        others = [None if u == v else x for u, x in enumerate(VIEWS)]
        found = model.impute(others)
        rows = ~np.isnan(hidden[:, 0]) & ~np.isnan(found.spread[:, v])
        mean = hidden[rows].mean(axis=0)
        error = ((found.views[v][rows] - hidden[rows]) ** 2).mean()
        assert error < 1.02 * ((mean - hidden[rows]) ** 2).mean()
        if found.known[rows, v].any():
            np.testing.assert_allclose(found.spread[rows, v].mean() ** 2, error, rtol=0.3)
        other = (v + 1) % 3
        given = ~np.isnan(VIEWS[other][:, 0])
        np.testing.assert_array_equal(found.views[other][given], VIEWS[other][given])
        assert not found.known[given, other].any()


def test_chunks_threads_and_files_make_no_difference(model, tmp_path):
    model.save(tmp_path / "model.viewpass")
    again = vp.load(tmp_path / "model.viewpass").set_params(n_threads=2)
    parts = [slice(0, 7), slice(7, 300), slice(300, 600)]
    for name in ("predict_proba", "outlier_score"):
        whole = getattr(model, name)(VIEWS)
        by_parts = [getattr(again, name)([x[part] for x in VIEWS]) for part in parts]
        np.testing.assert_array_equal(np.concatenate(by_parts), whole)
    by_parts = [again.explain([x[part] for x in VIEWS]).views for part in parts]
    np.testing.assert_array_equal(np.concatenate(by_parts), model.explain(VIEWS).views)


def test_threads_learn_the_same(tmp_path):
    files = []
    for n_threads in (1, 2):
        vp.ViewPass(4, random_state=0, n_threads=n_threads).fit(VIEWS).save(tmp_path / str(n_threads))
        files.append((tmp_path / str(n_threads)).read_bytes())
    assert files[0] == files[1]


def test_sparse_rows_are_explained_and_estimated():
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=300)
    dense = (rng.random((3, 40)) < 0.2)[group] * rng.random((300, 40))
    other = np.eye(3)[group] + 0.1 * rng.standard_normal((300, 3))
    dense[::7] = 0.0
    sparse = sp.csr_array(dense)
    one = vp.ViewPass(3, random_state=0, scale="unit").fit([sparse, other])
    two = vp.ViewPass(3, random_state=0, scale="unit").fit([dense, other])
    for mine, theirs in zip(
        one.explain([sparse, other], features=True).features,
        two.explain([dense, other], features=True).features,
        strict=True,
    ):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)
    filled = one.impute([sparse, other])
    assert sp.issparse(filled.views[0])
    # An all-zero row of an array is a missing view, and is estimated.
    np.testing.assert_allclose(filled.views[0].toarray()[1::7], dense[1::7])
    assert (np.abs(filled.views[0][::7].toarray()).sum(axis=1) > 0).all()


def test_a_model_of_one_view_ranks_its_rows():
    rows = VIEWS[0][~np.isnan(VIEWS[0][:, 0])]
    model = vp.ViewPass(4, random_state=0).fit([rows])
    confidence = model.confidence([rows])
    assert 0.94 < np.nanmean(confidence) <= 1.0
    assert not model.stability([rows]).stable.any()


def test_one_cluster_is_certain_and_has_no_margin():
    model = vp.ViewPass(1, random_state=0).fit(VIEWS)
    there = seen(model)
    np.testing.assert_array_equal(model.predict_proba(VIEWS)[there], 1.0)
    assert np.isnan(model.explain(VIEWS).margins).all()


def test_files_without_the_sample_say_so(tmp_path):
    model = vp.ViewPass(4, random_state=0).fit(VIEWS)
    model.save(tmp_path / "less", rows=False)
    model.save(tmp_path / "whole")
    less = vp.load(tmp_path / "less")
    assert (tmp_path / "less").stat().st_size < (tmp_path / "whole").stat().st_size / 3
    for reason in (less.confidence, less.predict_proba, less.outlier_score, less.impute):
        with pytest.raises(vp.NotCalibratedError, match=r"save\(rows=False\)"):
            reason(VIEWS)
    for learn in (less.partial_fit, lambda rows: vp.merge([less, model])):
        with pytest.raises(vp.SettingError, match=r"save\(rows=False\)"):
            learn(VIEWS)
    np.testing.assert_array_equal(less.predict(VIEWS), model.labels_)
    np.testing.assert_array_equal(less.explain(VIEWS).views, model.explain(VIEWS).views)
    assert less.summary(VIEWS)["n_clusters"] == 4
    np.testing.assert_array_equal(less.cut(3).predict(VIEWS), model.cut(3).predict(VIEWS))


def test_the_sample_may_be_left_out_before_the_first_solve(tmp_path):
    model = vp.ViewPass(4, random_state=0).partial_fit(VIEWS)
    model.save(tmp_path / "less", rows=False)
    less = vp.load(tmp_path / "less")
    np.testing.assert_array_equal(less.predict(VIEWS), model.predict(VIEWS))
    less.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "less").read_bytes()


def test_what_is_learnt_is_of_all_rows_however_they_come():
    """Sorted rows: the first ones do not show how usual the others are."""
    rng = np.random.default_rng(0)
    group = np.sort(rng.integers(4, size=1200))
    centres = [rng.standard_normal((4, 10)) for _ in range(2)]
    rows = [c[group] + (0.3 + group[:, None]) * 0.3 * rng.standard_normal((1200, 10)) for c in centres]
    level = -np.log(0.1)
    for settings in ({}, {"sample_size": 300}, {"sample_size": 300, "compute_labels": False}):
        model = vp.ViewPass(4, random_state=0, **settings).fit(rows)
        score = model.outlier_score(rows)[model._learnt.sample.numbers]
        assert 0.05 < (score > level).mean() < 0.15


@pytest.mark.data
def test_digit_is_calibrated_and_noise_stands_out(data_folder):
    stored = np.load(data_folder / "mfeat.npz")
    names = ("fou", "fac", "kar", "pix", "zer")
    rng = np.random.default_rng(0)
    order = rng.permutation(2000)
    views = [stored[f"view_{name}"][order].astype(np.float64) for name in names]
    noise = np.arange(2000) % 20 == 0
    for x in views:
        x[noise] = x.mean(axis=0) + x.std(axis=0) * rng.standard_normal((100, x.shape[1]))
    model = vp.ViewPass(10, random_state=0).fit(views)
    whole = model.predict(views)
    for v, x in enumerate(views):
        alone = [x if u == v else None for u in range(5)]
        assert area(model.outlier_score(alone), noise) >= 0.9
        assert calibration_error(model.confidence(alone), model.predict(alone) == whole) <= 0.05
    assert area(model.outlier_score(views), noise) >= 0.95
    assert calibration_error(model.confidence(views), whole == whole) <= 0.05


def area(score, positive):
    """Under the curve of hits against false alarms."""
    ranks = np.argsort(np.argsort(score)) + 1.0
    n = positive.sum()
    return (ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(score) - n))


def calibration_error(confidence, correct):
    bins = np.minimum((confidence * 10).astype(int), 9)
    parts = [bins == b for b in np.unique(bins)]
    return sum(mine.mean() * abs(confidence[mine].mean() - correct[mine].mean()) for mine in parts)
