"""W per value (`missing_entries="entrywise"`): what is computed is what the objective says."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import viewpass as vp
from viewpass.cli.app import app
from viewpass.evaluate import nmi
from viewpass.views.entries import LONGEST_UNIT, TIMES_LONGER, mark_size, marked
from viewpass.views.gaps import LEAST_SHARE

SCALES = ["unit", "standard", "euclidean", "idf", "binary"]


def data(n=200, share=0.3, seed=0, dtype=np.float64):
    """Two views with groups, and values missing; every row has at least two values of a view, or none."""
    rng = np.random.default_rng(seed)
    group = rng.integers(3, size=n)
    views = [np.abs(rng.normal(size=(3, d))[group] + 0.4 * rng.normal(size=(n, d)) + 2) for d in (12, 8)]
    views = [view / view.max() for view in views]
    for view in views:
        gaps = rng.random(view.shape) < share
        gaps[:, :2] = False
        view[gaps] = np.nan
        view[rng.random(n) < 0.1] = np.nan
    return [view.astype(dtype) for view in views], group


def opimc(**settings):
    given = {"n_clusters": 3, "n_anchors": None, "random_state": 0, "missing_entries": "entrywise"}
    return vp.OPIMC(**{**given, **settings})


def scaled(views, model):
    """Rows as the objective has them: in the scale of the model, with NaN for values that rows lack."""
    made = []
    for view, scale in zip(views, model._fitted_model().scaling.views, strict=True):
        x = (view - (0.0 if scale.mean is None else scale.mean)) * scale.weights
        if not scale.longest:
            held = (~np.isnan(x)).sum(axis=1, keepdims=True)
            x = x / np.sqrt(np.nansum(x * x, axis=1, keepdims=True)) * np.sqrt(held / x.shape[1])
        made.append(x)
    return made


@pytest.mark.parametrize("scale", SCALES)
def test_distances_are_over_the_values_a_row_has(scale):
    views, _ = data()
    model = opimc(scale=scale).fit(views)
    expected = np.zeros((200, 3))
    for x, u in zip(scaled(views, model), model.cluster_centers_, strict=True):
        weight = x.shape[1] / np.maximum((~np.isnan(x)).sum(axis=1), 1)
        expected += weight[:, None] * np.nansum((x[:, None, :] - u[None]) ** 2, axis=2)
    found = model.transform(views)
    seen = ~np.isnan(found[:, 0])
    np.testing.assert_allclose(found[seen], expected[seen], rtol=1e-6, atol=1e-6)
    own = found[seen].min(axis=1)
    assert (model.labels_[seen] == found[seen].argmin(axis=1)).all()
    np.testing.assert_allclose(model.inertia_, own.sum(), rtol=1e-5)
    np.testing.assert_allclose(-model.score(views), model.objective_, rtol=1e-5)


@pytest.mark.parametrize("scale", SCALES)
def test_centres_have_counts_of_their_own_in_every_column(scale):
    views, _ = data()
    model = opimc(scale=scale, alpha=0.3).fit(views)
    labels = model.stream_labels_
    for x, u in zip(scaled(views, model), model.cluster_centers_, strict=True):
        weight = np.where(np.isnan(x), 0.0, x.shape[1] / np.maximum((~np.isnan(x)).sum(axis=1), 1)[:, None])
        for k in range(3):
            mine = labels == k
            sums = (weight[mine] * np.nan_to_num(x[mine])).sum(axis=0)
            np.testing.assert_allclose(u[k], sums / (weight[mine].sum(axis=0) + 0.3), rtol=1e-5, atol=1e-6)


@pytest.mark.every_value
@pytest.mark.parametrize("anchors", [None, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_reference_threads_and_parts_give_the_same_bits(anchors, dtype, monkeypatch):
    views, _ = data(dtype=dtype)
    settings = {"n_anchors": anchors, "scale": "standard", "chunk_size": 60, "warmup": 100, "n_passes": 2}
    model = opimc(n_threads=1, **settings).fit(views)
    again = opimc(n_threads=3, **settings).fit(views)
    parts = opimc(**{**settings, "n_passes": 1})
    for first in range(0, 200, 60):
        parts.partial_fit([view[first : first + 60] for view in views])
    once = opimc(**{**settings, "n_passes": 1}).fit(views)
    assert model.statistics_ == again.statistics_
    assert parts.statistics_ == once.statistics_
    distances = model.transform(views)
    monkeypatch.setattr("viewpass.kernels.backend.native", None)
    reference = opimc(n_threads=1, **settings).fit(views)
    assert reference.statistics_ == model.statistics_
    assert (reference.labels_ == model.labels_).all()
    np.testing.assert_array_equal(reference.transform(views), distances)
    np.testing.assert_array_equal(reference.loss_curve_, model.loss_curve_)


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("width", [2, 9, 64, 300])
def test_no_row_is_longer_than_there_is_room(kept, width):
    rng = np.random.default_rng(width)
    x = rng.normal(size=(500, width)) * 10.0 ** rng.integers(-9, 9, size=(500, 1))
    if kept:
        x /= np.maximum(np.sqrt((x * x).sum(axis=1, keepdims=True)), 1.0)
    gaps = rng.random(x.shape) < rng.random((500, 1))
    gaps &= (~gaps).sum(axis=1, keepdims=True) >= LEAST_SHARE * width
    found = marked(x, gaps, kept=kept)
    lengths = np.sqrt((found.rows**2).sum(axis=1))
    assert found.longest == pytest.approx(lengths.max())
    assert found.longest <= (TIMES_LONGER if kept else LONGEST_UNIT)
    np.testing.assert_array_equal(found.rows[:, width:] > 0, ~gaps)
    assert 0.25 < mark_size(width) * np.sqrt(width) <= 1.0


def test_everything_else_works_with_marks(tmp_path):
    views, _ = data(n=300)
    model = opimc(scale="euclidean", n_anchors=30, view_weights=[1, 0.5]).fit(views)
    model.save(tmp_path / "model")
    loaded = vp.load(tmp_path / "model")
    assert (loaded.predict(views) == model.labels_).all()
    assert loaded.n_gaps_ == model.n_gaps_
    assert loaded.n_gaps_["view0"].values > 0
    np.testing.assert_array_equal(loaded.transform(views), model.transform(views))
    assert loaded.statistics_.widths == (12, 8)
    assert [u.shape for u in loaded.cluster_centers_] == [(3, 12), (3, 8)]
    reasons = loaded.explain(views)
    assert np.isfinite(loaded.predict_proba(views)[model.labels_ >= 0]).all()
    assert reasons is not None
    assert loaded.impute(views) is not None
    assert loaded.cut(2).predict(views).max() == 1


def test_a_margin_is_the_sum_of_its_columns():
    views, _ = data()
    model = opimc(scale="standard").fit(views)
    distance = np.sort(model.transform(views), axis=1)
    found = model.explain(views, features=True)
    seen = model.labels_ >= 0
    np.testing.assert_allclose(found.margins[seen], (distance[:, 1] - distance[:, 0])[seen], atol=1e-6)
    for v, view in enumerate(views):
        assert found.features[v].shape == view.shape
        np.testing.assert_allclose(found.features[v].sum(axis=1), found.views[:, v], atol=1e-9)
        assert not found.features[v][np.isnan(view)].any()


def test_models_of_parts_merge():
    views, group = data(n=400)
    parts = [opimc(scale="unit").fit([view[half::2] for view in views]) for half in (0, 1)]
    both = vp.merge(parts)
    assert sum(both.counts_[0]) == sum(part.counts_[0].sum() for part in parts)
    labels = both.predict(views)
    assert nmi(group[labels >= 0], labels[labels >= 0]) > 0.9


@pytest.mark.parametrize("other", [{"reservoir": 50}, {"adaptive_anchors": True, "n_anchors": 20}])
def test_settings_that_compare_rows_with_rows_are_refused(other):
    with pytest.raises(vp.SettingError, match="missing_entries='local'"):
        opimc(**other).fit(data()[0])


def test_rows_with_infinite_values_are_refused_by_their_width():
    views, _ = data()
    views[0][3] = 1.0
    views[0][3, 4] = np.inf
    with pytest.raises(vp.DataError, match="view 'view0', row 3: 1 of 12 values are inf"):
        opimc(scale="unit").fit(views)


def test_rows_of_zeros_have_no_direction():
    views, _ = data()
    views[0][7] = 0.0
    views[1][7] = np.nan
    model = opimc(scale="unit").fit(views)
    assert model.labels_[7] == -1
    assert model.n_all_zero_["view0"] == 1


@pytest.mark.parametrize("way", ["local", "entrywise"])
def test_the_command_line_reports_the_gaps(way, tmp_path):
    views, _ = data()
    frames = [
        pd.DataFrame(x, columns=[f"{name}{j}" for j in range(x.shape[1])])
        for name, x in zip("ab", views, strict=True)
    ]
    pd.concat(frames, axis=1).to_parquet(tmp_path / "table.parquet")
    given = ["--views", "a=a*", "--views", "b=b*", "--missing-entries", way, "--scale", "unit"]
    given += ["--anchors", "none"]
    command = ["fit", str(tmp_path / "table.parquet"), "-k", "3", *given, "--out", str(tmp_path / "run")]
    ended = CliRunner().invoke(app, command)
    assert ended.exit_code == 0, ended.output
    expected = opimc(scale="unit", missing_entries=way).fit(dict(zip("ab", views, strict=True)))
    report = json.loads((tmp_path / "run" / "run.json").read_text())
    for name, counts in expected.n_gaps_.items():
        assert report["views"][name]["gaps"] == counts._asdict()
    shown = CliRunner().invoke(app, ["inspect", str(tmp_path / "run" / "model.viewpass")]).output
    assert f"{expected.n_gaps_['a'].values:,} values missing inside" in shown
    assert vp.summary(tmp_path / "run")["views"]["a"]["gaps"] == expected.n_gaps_["a"]._asdict()
