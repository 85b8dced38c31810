"""Scales by kinds of values: counts, compositions and marks."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import viewpass as vp
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows
from viewpass.views.scaling import Scaling


def counts(n=200, d=30, seed=0):
    """Counts of three groups whose rows differ in their totals, which say nothing."""
    rng = np.random.default_rng(seed)
    group = rng.integers(3, size=n)
    depth = rng.gamma(1.0, 30.0, size=(n, 1)) + 5
    shares = rng.dirichlet(np.full(d, 0.3), size=3)[group]
    x = rng.poisson(shares * depth).astype(np.float64)
    x[x.sum(axis=1) == 0, 0] = 1
    return x, group


def marks(n=200, d=15, seed=0):
    rng = np.random.default_rng(seed)
    x = (rng.random((n, d)) < 0.2).astype(np.float32)
    x[:20] = 0
    return x


def scaled(x, name, **how):
    chunk = Chunk.of([x], **how)
    scaling = Scaling.learn(MeasuredRows(chunk).measure(), [name])
    return scaling, scaling.apply(chunk)


def test_counts_are_log_shares_of_the_median_total():
    x, _ = counts()
    _, chunk = scaled(x, "counts")
    totals = x.sum(axis=1, keepdims=True)
    logs = np.log1p(x / totals * np.median(totals))
    expected = (logs - logs.mean(axis=0)) / logs.std(axis=0)
    np.testing.assert_allclose(chunk.views[0], expected, rtol=1e-9, atol=1e-12)


def test_sparse_counts_stay_sparse():
    x, _ = counts()
    _, dense = scaled(x, "counts")
    _, chunk = scaled(scipy.sparse.csr_array(x), "counts")
    view = chunk.views[0]
    assert scipy.sparse.issparse(view)
    assert (view.toarray() != 0).sum() == (x != 0).sum()
    totals = x.sum(axis=1, keepdims=True)
    logs = np.log1p(x / totals * np.median(totals))
    held = logs.std(axis=0) > 0
    ratio = view.toarray()[:, held] * logs.std(axis=0)[held]
    np.testing.assert_allclose(ratio * (logs[:, held].max() / ratio.max()), logs[:, held], atol=1e-9)
    assert dense.views[0].shape == view.shape


def test_a_row_times_a_number_is_the_same_count_and_composition():
    x, _ = counts()
    for name in ("counts", "composition"):
        model = vp.IMC(3, scale=name, random_state=0).fit([x])
        np.testing.assert_allclose(model.transform([x * 4.0]), model.transform([x]), atol=1e-7)


def test_compositions_are_centred_log_ratios():
    x, _ = counts()
    x += 1.0
    _, chunk = scaled(x, "composition")
    logs = np.log(x)
    ratios = logs - logs.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(chunk.views[0], ratios - ratios.mean(axis=0), atol=1e-12)


def test_zeros_of_a_composition_are_half_of_the_smallest_share():
    x = np.array([[1.0, 3.0, 0.0], [2.0, 2.0, 4.0], [5.0, 1.0, 4.0]])
    scaling, _ = scaled(x, "composition")
    assert scaling.views[0].parameter == 0.05


def test_rows_without_marks_are_data():
    x = marks()
    model = vp.IMC(2, scale="binary", random_state=0).fit([x])
    assert (model.labels_ >= 0).all()
    assert model.n_all_zero_ == {"view0": 0}
    assert len(set(model.labels_[:20])) == 1
    assert (vp.IMC(2, random_state=0).fit([x]).labels_[:20] == -1).all()
    assert model.predict([np.zeros((1, 15))])[0] == model.labels_[0]


def test_rare_marks_weigh_more():
    x = marks()
    x[:, 0], x[100:, 0] = 0, 1
    scaling, _ = scaled(x, "binary")
    n = x.sum(axis=0)
    assert (np.diff(scaling.views[0].weights[np.argsort(-n)]) >= 0).all()


@pytest.mark.parametrize("name", ["counts", "composition", "binary"])
def test_models_keep_what_was_learnt(name, tmp_path):
    x = marks() if name == "binary" else counts()[0]
    settings = {"scale": {"a": name, "b": "unit"}, "random_state": 0, "sample_size": 100}
    model = vp.ViewPass(3, **settings).partial_fit({"a": x, "b": counts()[0]})
    assert model.scales_ == {"a": name, "b": "unit"}
    model.save(tmp_path / "model")
    loaded = vp.load(tmp_path / "model")
    given = {"a": x, "b": None}
    assert (loaded.predict(given) == model.predict(given)).all()
    again = vp.ViewPass(3, **settings, n_threads=2)
    for first in range(0, 200, 50):
        again.partial_fit({"a": x[first : first + 50], "b": counts()[0][first : first + 50]})
    assert again.statistics_ == model.statistics_


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("counts", -1.0, r"view 'view0', row 7: -1 under the scale 'counts'; counts are 0 or larger"),
        ("composition", -0.5, r"row 7: -0.5 under the scale 'composition'; parts are 0 or larger"),
        ("binary", 2.0, r"row 7: 2 under the scale 'binary'; marks are 0 or 1"),
    ],
)
def test_values_of_another_kind_are_refused(name, value, message):
    x = marks() if name == "binary" else counts()[0]
    model = vp.IMC(2, scale=name, random_state=0).fit([x])
    bad = x.copy()
    bad[7, 3] = value
    with pytest.raises(vp.DataError, match=message):
        vp.IMC(2, scale=name, random_state=0).fit([bad])
    with pytest.raises(vp.DataError, match=message):
        model.predict([bad])
    observed = np.ones((200, 1), dtype=bool)
    observed[7] = False
    vp.IMC(2, scale=name, random_state=0).fit([bad], observed=observed)


def test_partly_missing_rows_are_still_refused_or_filled():
    x, _ = counts()
    x[4, 2] = np.nan
    for name in ("counts", "composition"):
        with pytest.raises(vp.DataError, match="row 4: 1 of 30 values are NaN"):
            vp.IMC(2, scale=name, random_state=0).fit([x])
        model = vp.ViewPass(2, scale=name, random_state=0, missing_entries="fill").fit([x])
        assert model.labels_[4] >= 0


def test_sparse_views_of_centred_kinds_are_refused():
    x = scipy.sparse.csr_array(counts()[0])
    for name in ("composition", "binary"):
        with pytest.raises(vp.SettingError, match="'counts' for it"):
            vp.OPIMC(2, scale=name).fit([x])


def test_totals_that_say_nothing_do_not_decide():
    from viewpass.evaluate import nmi

    x, group = counts(600)
    assert nmi(group, vp.IMC(3, scale="counts", random_state=0).fit([x]).labels_) > 0.9


def test_marks_may_have_gaps():
    x = marks().astype(np.float64)
    x[np.random.default_rng(1).random(x.shape) < 0.2] = np.nan
    for way in ("fill", "local"):
        model = vp.ViewPass(2, scale="binary", random_state=0, missing_entries=way).fit([x])
        assert (model.predict([x]) == model.labels_).all()
        assert (model.labels_ >= 0).all()
