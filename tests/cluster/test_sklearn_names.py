"""What users of scikit-learn look for: inertia_, n_samples_seen_, n_init, published, callback, names."""

from __future__ import annotations

import joblib
import numpy as np
import pytest

import viewpass as vp
from inputs import GAPS, IMAGE, PLAIN, TEXT, small
from viewpass.kernels.threads import available_threads

MODELS = {
    "plain": {"n_anchors": None},
    "graph": {"consensus": "graph", "n_anchors": 12},
    "merge": {"consensus": "merge", "n_anchors": 12},
    "published": {"init": "random", "scale": "unit", "n_anchors": None},
    "weighted": {"n_anchors": None, "view_weights": [2.0, 1.0]},
}


def unit(views, observed):
    rows = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in views]
    return [np.where(observed[:, [v]], x, np.nan) for v, x in enumerate(rows)]


@pytest.mark.parametrize("settings", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("n_passes", [1, 2])
def test_inertia_is_the_sum_of_squared_distances_to_the_centres(settings, n_passes):
    given = {"scale": "unit", **settings, "n_passes": n_passes}
    model = vp.OPIMC(3, random_state=0, chunk_size=20, warmup=0, **given).fit([IMAGE, TEXT], observed=GAPS)
    rows, labels = unit([IMAGE, TEXT], GAPS), model.stream_labels_
    expected = sum(
        weight * np.nansum((x - centres[labels]) ** 2)
        for x, centres, weight in zip(rows, model.cluster_centers_, model.view_weights_.values(), strict=True)
    )
    assert model.inertia_ == pytest.approx(expected, rel=1e-6)
    if model.consensus_ == "plain":
        weights, alphas = model.view_weights_.values(), model.alpha_.values()
        ridge = sum(
            weight * alpha * np.square(u).sum()
            for u, weight, alpha in zip(model.cluster_centers_, weights, alphas, strict=True)
        )
        assert model.objective_ == pytest.approx(model.inertia_ + ridge, rel=1e-6)


def test_offline_inertia_is_what_its_objective_is_without_the_ridge():
    model = vp.IMC(3, random_state=0).fit([IMAGE, TEXT], observed=GAPS)
    each = zip(model.alpha_.values(), model.cluster_centers_, strict=True)
    ridge = sum(alpha * np.square(u).sum() for alpha, u in each)
    assert model.objective_ == pytest.approx(model.inertia_ + ridge)


def test_samples_seen_counts_every_row_once():
    model = small(chunk_size=10, n_passes=3).fit([IMAGE, TEXT])
    assert model.n_samples_seen_ == len(IMAGE)
    parts = small(warmup=40)
    for stop in range(12, 49, 12):
        parts.partial_fit([IMAGE[stop - 12 : stop], TEXT[stop - 12 : stop]])
        assert parts.n_samples_seen_ == stop
    assert vp.IMC(3).fit([IMAGE, TEXT]).n_samples_seen_ == len(IMAGE)


@pytest.mark.parametrize("init", ["random", "auto", "k-means++"])
def test_more_starts_never_raise_the_loss_of_the_first_chunk(init):
    def loss(n_init, **settings):
        model = vp.OPIMC(4, init=init, n_init=n_init, **PLAIN, chunk_size=60, max_iter=3, **settings)
        return model.set_params(random_state=0).fit([IMAGE, TEXT], observed=GAPS).loss_curve_[0]

    losses = [loss(n_init) for n_init in (1, 2, 5, 10)]
    assert losses == sorted(losses, reverse=True)


def test_one_start_is_the_default_and_starts_are_reproducible():
    one, default = small(n_init=1).fit([IMAGE, TEXT]), small().fit([IMAGE, TEXT])
    assert one.objective_ == default.objective_
    again = [small(n_init=4, consensus="graph", n_anchors=9).fit([IMAGE, TEXT]).labels_ for _ in range(2)]
    np.testing.assert_array_equal(*again)


def test_the_published_procedure_is_what_its_settings_say():
    views = [IMAGE, TEXT]
    settings = {"init": "random", "scale": "unit", "n_anchors": None, "chunk_size": 20, "random_state": 0}
    by_hand = vp.OPIMC(3, alpha=0.5, **settings).fit(views)
    named = vp.OPIMC.published(3, alpha=0.5, chunk_size=20, random_state=0).fit(views)
    np.testing.assert_array_equal(named.stream_labels_, by_hand.stream_labels_)
    assert named.objective_ == by_hand.objective_
    for name, value in {"init": "auto", "n_anchors": 20, "scale": "auto", "reservoir": 5}.items():
        with pytest.raises(vp.SettingError, match=f"{name}= is not part of the published procedure"):
            vp.OPIMC.published(3, **{name: value})


def test_a_callback_sees_every_step_and_can_stop():
    seen = []
    whole = small(chunk_size=10, warmup=0, n_passes=2)
    whole.fit([IMAGE, TEXT], callback=seen.append)
    assert seen[-1].pass_number == 1
    assert seen[-1].n_rows_read == seen[-1].n_rows == len(IMAGE)
    assert seen[-1].loss == whole.loss_curve_[-1]

    rows = np.vstack([IMAGE] * 200)  # more than are processed in one step
    stopped = vp.OPIMC(3, chunk_size=1000, random_state=0, n_passes=3)
    stopped.fit([rows], callback=lambda progress: progress.n_rows_read >= 4000)
    n_rows = stopped.n_samples_seen_
    assert 4000 <= n_rows < len(rows)
    assert len(stopped.labels_) == len(stopped.stream_labels_) == n_rows
    ended = vp.OPIMC(3, chunk_size=1000, random_state=0).fit([rows[:n_rows]])
    np.testing.assert_array_equal(stopped.labels_, ended.labels_)
    assert stopped.objective_ == ended.objective_


def test_a_callback_that_fails_leaves_the_model_as_it_was():
    model = small().fit([IMAGE, TEXT])
    before = model.objective_

    def fail(progress):
        raise RuntimeError("enough")

    for use in (model.fit, model.partial_fit):
        with pytest.raises(RuntimeError, match="enough"):
            use([IMAGE[:30], TEXT[:30]], callback=fail)
        assert (model.objective_, model.n_samples_seen_) == (before, len(IMAGE))


def test_a_single_array_gives_a_single_array_of_centres(tmp_path):
    model = vp.OPIMC(3, random_state=0).fit(IMAGE)
    assert model.cluster_centers_.shape == (3, IMAGE.shape[1])
    listed = vp.OPIMC(3, random_state=0).fit([IMAGE]).cluster_centers_
    np.testing.assert_array_equal(model.cluster_centers_, listed[0])
    assert isinstance(vp.OPIMC(3, views=2).fit(IMAGE).cluster_centers_, list)
    model.save(tmp_path / "model.viewpass")
    np.testing.assert_array_equal(vp.load(tmp_path / "model.viewpass").cluster_centers_, listed[0])
    again = vp.OPIMC(3, init=model.cluster_centers_, random_state=0).fit(IMAGE)
    given = vp.OPIMC(3, init=listed, random_state=0).fit([IMAGE])
    np.testing.assert_array_equal(again.labels_, given.labels_)


def test_feature_names_out_name_the_clusters():
    plain = small(n_anchors=None).fit([IMAGE, TEXT])
    assert plain.get_feature_names_out().tolist() == ["cluster0", "cluster1", "cluster2"]
    graph = small(consensus="graph", n_anchors=9).fit([IMAGE, TEXT])
    names = [f"cluster{k}_of_{n}_anchors" for k, n in enumerate(np.bincount(graph.anchors_))]
    assert graph.get_feature_names_out().tolist() == names
    assert graph.transform([IMAGE, TEXT]).shape[1] == len(names)


def test_threads_follow_the_limits_of_joblib():
    with joblib.parallel_config(n_jobs=1):
        assert available_threads() == 1
    inside = joblib.Parallel(n_jobs=2, prefer="threads")(
        joblib.delayed(available_threads)() for _ in range(2)
    )
    assert inside == [1, 1]
    with joblib.parallel_config("loky", n_jobs=2, inner_max_num_threads=1):
        inside = joblib.Parallel()(joblib.delayed(available_threads)() for _ in range(2))
    assert inside == [1, 1]
