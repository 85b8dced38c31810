"""A map learnt from the sample: the same bits however rows arrive, sums in both kinds of columns."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import viewpass as vp
from viewpass.evaluate import nmi
from viewpass.views.chunk import Chunk
from zipped import zipped

N, COLUMNS = 600, 5
FORMS = ("float64", "float32", "mixed")
PLAIN = {"consensus": "plain", "n_anchors": "auto"}


def data(form="float64", seed=0):
    """Four clusters in two wide views and one narrow or sparse; some rows lack views, a few lack all."""
    rng = np.random.default_rng(seed)
    group = rng.integers(4, size=N)
    views = [
        2 * rng.standard_normal((4, width))[group] + rng.standard_normal((N, width)) for width in (30, 12, 4)
    ]
    observed = rng.random((N, 3)) > 0.2
    observed[::97] = False
    if form == "float32":
        views = [x.astype(np.float32) for x in views]
    if form == "mixed":
        views = [
            views[0].astype(np.float32),
            views[1],
            sp.csr_array(np.where(abs(views[2]) > 0.8, views[2], 0.0)),
        ]
    return views, observed, group


def mapped(**settings):
    given = {"n_clusters": 4, "n_anchors": 30, "consensus": "graph", "scale": "standard", "random_state": 0}
    given |= {"projection": COLUMNS, "sample_size": 250, "n_threads": 1}
    return vp.ViewPass(**(given | settings))


def bits(model):
    """All that a model has learnt, as bytes."""
    held = model._fitted_model()
    parts = [held.total.flat, held.total.flat_counts, held.labelled.flat, held.labelled.unmapped.flat]
    parts += [*held.centres.values, *model.projections_.values()]
    parts += [] if held.links is None else [held.links.toarray()]
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


SETTINGS = [{}, PLAIN, {"sample_size": N}, {"scale": "euclidean"}, {"view_weights": [1.0, 0.5, 2.0]}]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_sums_are_those_of_all_rows_in_both_kinds_of_columns(settings):
    views, observed, group = data()
    model = mapped(**settings).fit(views, observed=observed)
    held = model._fitted_model()
    scaled = held.scaling.apply(Chunk.of(views, observed=observed))
    assert [None if x is None else x.shape[1] for x in scaled.views] == [COLUMNS, COLUMNS, 4]
    assert held.labelled.widths == (COLUMNS, COLUMNS, 4)
    assert held.labelled.unmapped.widths == (30, 12, 0)
    for v in (0, 1):
        np.testing.assert_array_equal(held.labelled.unmapped.counts[v], held.labelled.counts[v])
    assert [u.shape for u in model.cluster_centers_] == [(4, 30), (4, 12), (4, 4)]
    if "view_weights" not in settings:
        for rows, total in ((scaled, held.labelled), (scaled.unmapped, held.labelled.unmapped)):
            again = vp.Statistics(4, total.widths)
            again.add(rows.views, model.labels_, rows.observed)
            for v, width in enumerate(total.widths):
                np.testing.assert_array_equal(again.steps[v], total.steps[v] if width else again.steps[v])
    assert nmi(group[observed.any(axis=1)], model.labels_[observed.any(axis=1)]) > 0.6


@pytest.mark.parametrize(("settings", "form"), zipped([{}, PLAIN], FORMS))
def test_threads_and_calls_do_not_matter(form, settings):
    views, observed, _ = data(form)
    one, other = (mapped(n_threads=n, **settings).fit(views, observed=observed) for n in (1, 3))
    assert bits(one) == bits(other)
    whole, parts = (mapped(**settings) for _ in range(2))
    whole.partial_fit(views, observed=observed)
    for start in range(0, N, 110):
        stop = start + 110
        parts.partial_fit([x[start:stop] for x in views], observed=observed[start:stop])
    assert bits(parts) == bits(whole)
    np.testing.assert_array_equal(parts.transform(views, observed), whole.transform(views, observed))


@pytest.mark.parametrize(("settings", "stop"), zipped([{}, PLAIN, {"scale": "euclidean"}], [100, 300]))
def test_a_stored_model_goes_on_as_if_it_had_not_been_stored(tmp_path, stop, settings):
    views, observed, _ = data()
    whole, begun = mapped(**settings), mapped(**settings)
    for model, cut in ((whole, N), (begun, stop)):
        for start in range(0, cut, 100):
            part = slice(start, start + 100)
            model.partial_fit([x[part] for x in views], observed=observed[part])
    begun.save(tmp_path / "model.viewpass")
    again = vp.load(tmp_path / "model.viewpass")
    for start in range(stop, N, 100):
        part = slice(start, start + 100)
        again.partial_fit([x[part] for x in views], observed=observed[part])
    assert bits(again) == bits(whole)
    np.testing.assert_array_equal(again.predict(views, observed), whole.predict(views, observed))
    for mine, theirs in zip(
        again.impute(views, observed).views, whole.impute(views, observed).views, strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(("settings", "form"), zipped([{}, PLAIN, {"view_weights": [1.0, 0.5, 2.0]}], FORMS))
def test_explanations_add_up_in_the_own_columns(form, settings):
    views, observed, _ = data(form)
    model = mapped(**settings).fit(views, observed=observed)
    why = model.explain(views, observed, features=True)
    assert [part.shape[1] for part in why.features] == [30, 12, 4]
    known = ~np.isnan(why.margins)
    np.testing.assert_allclose(why.views.sum(axis=1)[known], why.margins[known], atol=1e-9)
    for v, part in enumerate(why.features):
        np.testing.assert_allclose(part.sum(axis=1), why.views[:, v], atol=3e-6)


def test_missing_views_are_estimated_in_the_own_columns():
    views, observed, _ = data()
    model = mapped().fit(views, observed=observed)
    found = model.impute(views, observed)
    assert [x.shape for x in found.views] == [x.shape for x in views]
    lacking = ~observed[:, 0] & observed.any(axis=1)
    error = np.sqrt(np.mean((found.views[0][lacking] - views[0][lacking]) ** 2))
    mean = np.sqrt(np.mean((views[0][observed[:, 0]].mean(axis=0) - views[0][lacking]) ** 2))
    assert error < 0.9 * mean
    assert model.outlier_score(views, observed).shape == (N,)
    assert model.summary(views, observed)["views"]["view0"]["columns"] == 30


def test_edges():
    views, *_ = data()
    # A view that no row has: it is not mapped, nor when it shows later.
    model = mapped().partial_fit([None, *[x[:300] for x in views[1:]]], observed=None)
    assert list(model.projections_) == ["view1"]
    model.partial_fit([x[300:] for x in views])
    assert model.cluster_centers_[0].shape == (4, 30)
    # Constant columns and rows of zeros.
    views[0][:, 3:9] = 1.0
    views[1][5::7] = 0.0
    model = mapped(scale="unit").fit(views)
    assert np.isfinite(model.cluster_centers_[0]).all()
    assert model.n_all_zero_["view1"] == len(views[1][5::7])
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    # A view in which all rows are equal.
    views[1][:] = 1.0
    assert set(mapped(scale="unit").fit(views).projections_) == {"view0"}
    # Few rows, two clusters, and more columns than any view has.
    few = mapped(n_clusters=2, **PLAIN).fit([x[:12] for x in views])
    assert few.projections_ == {}
    assert mapped(n_clusters=2, projection=2).fit(views).projections_["view0"].shape == (2, 30)
    assert mapped(projection=60).fit(views).projections_ == {}
    with pytest.raises(ValueError, match="projection"):
        mapped(projection=1).fit(views)


def test_rows_that_cannot_be_used_are_named():
    views, observed, _ = data()
    model = mapped().fit(views, observed=observed)
    views[0][7, 3] = np.nan
    with pytest.raises(vp.DataError, match="view 'view0', row 7: 1 of 30 values are NaN"):
        model.predict(views)
