"""vp.merge: statistics add up exactly, in any order; clusters are matched by the price of merging."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import viewpass as vp
from clusters import made_rows
from inputs import PLAIN
from viewpass.core.start.alpha import estimated_alpha

VIEWS = made_rows(900, seed=3)
PARTS = [slice(0, 250), slice(250, 600), slice(600, 900)]


def site(part, seed=0, **settings):
    settings = {"chunk_size": 100, "random_state": seed, "compute_labels": False, **settings}
    return vp.OPIMC(4, **{**PLAIN, **settings}).fit([x[part] for x in VIEWS])


def statistics_of(labels):
    views = [np.nan_to_num(x) for x in VIEWS]
    return vp.Statistics(4, [x.shape[1] for x in VIEWS]).add(views, labels)


def test_the_same_centres_merge_exactly_in_any_order():
    start = [np.random.default_rng(0).standard_normal((4, x.shape[1])) for x in VIEWS]
    models = [site(part, init=start) for part in PARTS]
    merged = vp.merge(models)
    labels = np.concatenate([model.stream_labels_ for model in models])
    assert merged.statistics_ == statistics_of(labels)
    for order in itertools.permutations(models):
        other = vp.merge(order)
        assert other.statistics_ == merged.statistics_
        np.testing.assert_equal(other.cluster_centers_, merged.cluster_centers_)
    assert merged._fitted_model().n_rows == 900
    assert merged.n_rows_without_views_ == sum(model.n_rows_without_views_ for model in models)


def test_different_centres_are_matched_by_the_price_of_merging():
    whole = site(slice(0, 900), alpha=0.1)
    models = [site(part, seed, alpha=0.1) for seed, part in enumerate(PARTS)]
    merged = vp.merge(models)
    apart = sum(model.objective_ for model in models)
    assert merged.objective_ >= apart - 1e-9  # merging never explains more
    by_index = vp.merge(models, match="index")
    assert merged.objective_ <= by_index.objective_
    assert merged.score([x.copy() for x in VIEWS]) >= 1.1 * whole.score([x.copy() for x in VIEWS])


def test_ridges_that_were_estimated_apart_are_estimated_again_from_all_sums():
    models = [site(part, seed) for seed, part in enumerate(PARTS)]
    merged = vp.merge(models)
    assert models[0].alpha_ != models[1].alpha_
    assert tuple(merged.alpha_.values()) == estimated_alpha(merged.statistics_, None, 1)
    fitted = merged.statistics_.centres([*merged.alpha_.values()])
    for mine, theirs in zip(merged.cluster_centers_, fitted, strict=True):
        np.testing.assert_allclose(mine, theirs)


def test_renamed_clusters_are_found_again():
    from viewpass.engine.model_merging import matched, reordered

    model = site(PARTS[0])._fitted_model()
    order = np.array([2, 0, 3, 1])
    renamed = reordered(model, order)
    np.testing.assert_array_equal(matched(model.total, renamed.total, 0.1), np.argsort(order))


def test_a_merged_model_is_saved_and_goes_on(tmp_path):
    merged = vp.merge([site(PARTS[0]), site(PARTS[1], 1)])
    merged.save(tmp_path / "model.viewpass")
    again = vp.load(tmp_path / "model.viewpass")
    more = [x[PARTS[2]] for x in VIEWS]
    np.testing.assert_array_equal(again.predict(more), merged.predict(more))
    assert again.partial_fit(more).statistics_ == merged.partial_fit(more).statistics_
    assert merged._fitted_model().n_rows == 900


def test_the_models_stay_as_they_were():
    models = [site(PARTS[0]), site(PARTS[1], 1)]
    before = [model.statistics_ for model in models]
    vp.merge(models).partial_fit([x[PARTS[2]] for x in VIEWS])
    assert [model.statistics_ for model in models] == before


def test_what_cannot_be_merged():
    one = site(PARTS[0])
    with pytest.raises(vp.DataError, match="no model"):
        vp.merge([])
    with pytest.raises(vp.SettingError, match="match='nearest'"):
        vp.merge([one], match="nearest")
    with pytest.raises(vp.SettingError, match=r"model 1 has alpha=0\.5"):
        vp.merge([one, site(PARTS[1], alpha=0.5)])
    with pytest.raises(vp.DataError, match="model 1 is a IMC"):
        vp.merge([one, vp.IMC(4).fit([x[PARTS[1]] for x in VIEWS])])
    with pytest.raises(vp.DataError, match="columns where"):
        vp.merge([one, vp.OPIMC(4, **PLAIN).fit([x[PARTS[1]][:, :3] for x in VIEWS])])
    waiting = vp.OPIMC(4, **PLAIN).partial_fit([x[:50] for x in VIEWS])
    with pytest.raises(vp.DataError, match="model 1 has no centres yet"):
        vp.merge([one, waiting])


def test_anchors_are_merged_like_clusters():
    init = {"n_anchors": 12, "consensus": "graph", "scale": "unit"}
    mapped = [site(part, seed, projection=2, **init) for seed, part in enumerate(PARTS)]
    with pytest.raises(vp.SettingError, match=r"another scale or map .* projection=None"):
        vp.merge(mapped)
    parts = [site(part, seed, projection=None, **init) for seed, part in enumerate(PARTS)]
    both = vp.merge(parts)
    assert (both.consensus_, len(both.anchors_)) == ("graph", 12)
    links = sum(int(part._learnt.model.links.sum()) for part in parts)
    assert int(both._learnt.model.links.sum()) == links
    assert sum(both.counts_[0]) == sum(sum(part.counts_[0]) for part in parts)


def test_scales_that_differ_do_not_add_up():
    parts = [site(part, scale="standard") for part in PARTS[:2]]
    with pytest.raises(vp.SettingError, match="another scale"):
        vp.merge(parts)


def test_anchors_that_are_born_and_merge():
    rng = np.random.default_rng(0)
    group = np.sort(rng.integers(4, size=400))
    views = [5 * np.eye(4, width)[group] + rng.standard_normal((400, width)) for width in (6, 5)]
    settings = {"n_anchors": 20, "consensus": "graph", "scale": "unit", "warmup": 40, "chunk_size": 40}
    halves = [
        vp.OPIMC(4, adaptive_anchors=True, random_state=0, **settings).fit([x[part::2] for x in views])
        for part in range(2)
    ]
    both = vp.merge(halves)
    assert both.statistics_.n_present == (400, 400)
    assert both.partial_fit([x[:40] for x in views]).n_samples_seen_ == 440
    other = vp.OPIMC(4, adaptive_anchors=False, random_state=0, **settings).fit(views)
    with pytest.raises(vp.SettingError, match="same adaptive_anchors"):
        vp.merge([halves[0], other])
