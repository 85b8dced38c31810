"""Values missing inside a view: filled from the sample, in every form of data and to the bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

import viewpass as vp
from viewpass.evaluate import nmi
from viewpass.solve.completion import learn_completion
from viewpass.views.chunk import Chunk
from viewpass.views.gaps import LEAST_HELD, QUANTUM, with_gaps
from viewpass.views.rows import MeasuredRows
from zipped import zipped

WAYS = ["fill", "local"]
SCALES = ["unit", "standard", "idf", "euclidean", "auto"]


def data(n=300, share=0.3, seed=0, dtype=np.float64):
    """Two views with groups, values missing at random; some rows lack a view or nearly all of it."""
    rng = np.random.default_rng(seed)
    group = rng.integers(3, size=n)
    views = [rng.normal(size=(3, d))[group] + 0.3 * rng.normal(size=(n, d)) + 1 for d in (12, 8)]
    for view in views:
        view[rng.random(view.shape) < share] = np.nan
        view[rng.random(n) < 0.1] = np.nan
    views[0][5, 1:] = np.nan  # one value of twelve: too few
    views[0][5, 0] = 1.0
    return [view.astype(dtype) for view in views], group


def imputed(views):
    """The same, filled beforehand by the means of all rows that have a view."""
    made = []
    for view in views:
        held = (~np.isnan(view)).sum(axis=1)
        few = held < LEAST_HELD * view.shape[1]
        x = np.where(few[:, None], np.nan, view)
        x = np.where(np.isnan(x) & ~few[:, None], np.nanmean(x, axis=0), x)
        made.append(x)
    return made


def filling(**settings):
    return vp.ViewPass(**{"n_clusters": 3, "random_state": 0, "missing_entries": "fill", **settings})


@pytest.mark.parametrize("scale", ["unit", "standard", "euclidean"])
def test_filling_is_imputing_by_the_means_of_the_sample(scale):
    views, _ = data()
    settings = {"scale": scale, "consensus": "plain"}
    model = filling(**settings).fit(views)
    has = [~np.isnan(x).any(axis=1) for x in imputed(views)]
    assert ((model.labels_ >= 0) == (has[0] | has[1])).all()
    if scale == "unit":  # others learn spreads from the values that are there
        expected = filling(**settings, missing_entries="refuse").fit(imputed(views))
        assert (model.labels_ == expected.labels_).all()
        for mine, theirs in zip(model.cluster_centers_, expected.cluster_centers_, strict=True):
            np.testing.assert_allclose(mine, theirs, atol=1e-7)


def test_values_that_are_missing_are_zero_after_standardising():
    views, _ = data()
    model = filling(scale="standard").fit(views)
    scale = model._fitted_model().scaling.views[0]
    np.testing.assert_allclose(scale.mean, scale.fill)
    alone = np.full((1, 12), np.nan)
    alone[0, :6] = views[0][np.isfinite(views[0]).all(axis=1).argmax(), :6]
    exact = alone.copy()
    exact[0, 6:] = scale.mean[6:]
    np.testing.assert_allclose(model.transform([alone, None]), model.transform([exact, None]), atol=1e-12)


@pytest.mark.parametrize(("scale", "dtype", "way"), zipped(SCALES, [np.float32, np.float64], WAYS))
def test_complete_rows_get_the_same_bits(scale, dtype, way):
    views, _ = data(share=0.0, dtype=dtype)
    views[0][5] = np.nan
    plain = vp.ViewPass(3, random_state=0, scale=scale).fit(views)
    model = filling(scale=scale, missing_entries=way).fit(views)
    assert (plain.labels_ == model.labels_).all()
    if scale != "unit" or way == "local":
        assert plain.statistics_ == model.statistics_


@pytest.mark.parametrize(("scale", "way"), zipped(SCALES, WAYS))
def test_same_bits_for_chunks_threads_and_parts(scale, way):
    views, _ = data()
    settings = {"scale": scale, "sample_size": 100, "missing_entries": way}
    model, again = (filling(n_threads=n, **settings).fit(views) for n in (1, 2))
    whole, parts = filling(**settings).partial_fit(views), filling(**settings)
    for first in range(0, 300, 70):
        parts.partial_fit([view[first : first + 70] for view in views])
    assert model.statistics_ == again.statistics_
    assert whole.statistics_ == parts.statistics_
    assert (model.labels_ == model.predict(views)).all()
    assert (model.predict([v[:7] for v in views]) == model.labels_[:7]).all()


@pytest.mark.parametrize("form", ["arrays", "frames", "polars", "one array", "table", "parquet"])
def test_every_form_of_data(form, tmp_path):
    views, _ = data()
    expected = filling().fit({"a": views[0], "b": views[1]})
    names = [[f"{name}{j}" for j in range(x.shape[1])] for name, x in zip("ab", views, strict=True)]
    frames = [pd.DataFrame(x, columns=c) for x, c in zip(views, names, strict=True)]
    wide = pd.concat(frames, axis=1)
    settings = {"views": {"a": "a*", "b": "b*"}} if form in ("table", "parquet") else {}
    if form == "frames":
        given = vp.frames({"a": frames[0], "b": frames[1]})
    elif form == "polars":
        given = vp.frames(
            {
                n: pl.from_pandas(f.assign(item=np.arange(300)), nan_to_null=True)
                for n, f in zip("ab", frames, strict=True)
            },
            id="item",
        )
    elif form == "one array":
        given, settings = wide.to_numpy(), {"views": [12, 8]}
    elif form == "parquet":
        wide.to_parquet(tmp_path / "wide.parquet")
        given = vp.scan(tmp_path / "wide.parquet", settings.pop("views"))
    else:
        given = wide if form == "table" else views
    model = filling(**settings).fit(given)
    assert (model.labels_ == expected.labels_).all()
    assert model.statistics_ == expected.statistics_
    assert list(model.n_gaps_.values()) == list(expected.n_gaps_.values())
    assert (model.predict(given) == expected.labels_).all()


@pytest.mark.parametrize("way", WAYS)
def test_models_keep_what_fills_gaps(way, tmp_path):
    views, _ = data()
    for scale in ("unit", "standard", "euclidean"):
        model = filling(scale=scale, missing_entries=way).fit(views)
        model.save(tmp_path / "model")
        loaded = vp.load(tmp_path / "model")
        assert (loaded.predict(views) == model.labels_).all()
        assert loaded.missing_entries == way


@pytest.mark.parametrize("way", WAYS)
def test_a_sample_keeps_its_gaps(way, tmp_path):
    views, _ = data()
    model = filling(sample_size=200, missing_entries=way)
    whole = filling(sample_size=200, missing_entries=way).partial_fit(views)
    for first in range(0, 300, 100):
        model.partial_fit([view[first : first + 100] for view in views])
        model.save(tmp_path / "model")
        model = vp.load(tmp_path / "model")
    assert model.statistics_ == whole.statistics_


def test_counts():
    views, _ = data()
    model = filling().fit(views)
    for name, view in zip(model.view_names_in_, views, strict=True):
        held = (~np.isnan(view)).sum(axis=1)
        width = view.shape[1]
        few = (held > 0) & (held < LEAST_HELD * width)
        partly = (held > 0) & (held < width) & ~few
        counts = model.n_gaps_[name]
        assert counts.rows == partly.sum()
        assert counts.values == np.isnan(view[partly]).sum()
        assert counts.too_few == few.sum()
    assert model.n_gaps_["view0"].too_few >= 1


def test_refused_by_default_with_the_setting_named():
    views, _ = data()
    with pytest.raises(vp.DataError, match="missing_entries='local'"):
        vp.ViewPass(3).fit(views)
    with pytest.raises(vp.DataError, match="view 'view0', row 0"):
        vp.OPIMC(3).fit(views)
    with pytest.raises(ValueError, match="missing_entries"):
        vp.ViewPass(3, missing_entries="mean").fit(views)


@pytest.mark.parametrize("way", WAYS)
def test_a_view_first_seen_later_counts_from_the_next_solve(way):
    views, _ = data(share=0.2)
    model = filling(sample_size=150, scale="unit", missing_entries=way)  # solved at 150 rows, then at 225
    model.partial_fit([views[0][:150], None])
    model.partial_fit([x[150:220] for x in views])
    assert model.counts_[1].sum() == 0
    model.partial_fit([x[220:230] for x in views])
    assert model.counts_[1].sum() > 0
    assert model.n_gaps_["view1"].rows > 0


@pytest.mark.parametrize("way", WAYS)
def test_groups_are_found_with_half_of_the_values_missing(way):
    views, group = data(share=0.5)
    labels = filling(missing_entries=way).fit(views).labels_
    assert nmi(group[labels >= 0], labels[labels >= 0]) > (0.8 if way == "fill" else 0.9)


def test_gaps_take_values_of_similar_rows():
    rng = np.random.default_rng(0)
    group = rng.integers(4, size=400)
    whole = [3 * rng.normal(size=(4, d))[group] + 0.3 * rng.normal(size=(400, d)) for d in (10, 6)]
    views = [np.where(rng.random(x.shape) < 0.3, np.nan, x) for x in whole]
    chunk = with_gaps(Chunk.of(views))
    filled = learn_completion(MeasuredRows(chunk).measure()).apply(chunk)
    assert filled.gaps == ()
    for x, truth, made in zip(views, whole, filled.views, strict=True):
        gaps = np.isnan(x) & ~np.isnan(made)  # not of rows that lack the view
        np.testing.assert_array_equal(made[~np.isnan(x)], truth[~np.isnan(x)])
        error = np.sqrt(np.mean((made - truth)[gaps] ** 2))
        assert error < 0.4 * np.sqrt(np.mean((truth - np.nanmean(x, axis=0))[gaps] ** 2))


def test_the_nearest_prototypes_do_not_depend_on_the_order_of_adding():
    views, _ = data()
    chunk = with_gaps(Chunk.of(views))
    completion = learn_completion(MeasuredRows(chunk).measure())
    own, view, held = completion.views[0], chunk.views[0], ~(chunk.gaps[0] | np.isnan(views[0]))
    order = np.random.default_rng(0).permutation(12)
    turned = replace(own, mean=own.mean[order], spread=own.spread[order], values=own.values[:, order])
    expected = own.differences(np.nan_to_num(view), held)
    np.testing.assert_array_equal(turned.differences(np.nan_to_num(view)[:, order], held[:, order]), expected)
    slow = [
        [
            sum((q - u) ** 2 for q, u, h in zip(row, proto, mask, strict=True) if h) / max(mask.sum(), 1)
            for proto in own.values / QUANTUM
        ]
        for row, mask in zip(own.quantised(np.nan_to_num(view), held)[:20], held[:20], strict=True)
    ]
    np.testing.assert_array_equal(expected[:20], slow)
