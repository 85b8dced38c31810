"""What users of scikit-learn look for: inertia_, n_samples_seen_, callback, names."""

from __future__ import annotations

import joblib
import numpy as np
import pytest

import viewpass as vp
from inputs import GAPS, IMAGE, TEXT, small
from viewpass.kernels.threads import available_threads

MODELS = {
    "plain": {"consensus": "plain"},
    "graph": {"consensus": "graph", "n_anchors": 12},
    "more rows than sampled": {"consensus": "plain", "sample_size": 20},
    "weighted": {"consensus": "plain", "view_weights": [2.0, 1.0]},
}


def unit(views, observed):
    rows = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in views]
    return [np.where(observed[:, [v]], x, np.nan) for v, x in enumerate(rows)]


@pytest.mark.parametrize("settings", MODELS.values(), ids=MODELS)
def test_inertia_is_the_sum_of_squared_distances_to_the_centres(settings):
    given = {"scale": "unit", **settings}
    model = vp.ViewPass(3, random_state=0, **given).fit([IMAGE, TEXT], observed=GAPS)
    rows, labels = unit([IMAGE, TEXT], GAPS), model.labels_
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
    model = small().fit([IMAGE, TEXT])
    assert model.n_samples_seen_ == len(IMAGE)
    parts = small()
    for stop in range(12, 49, 12):
        parts.partial_fit([IMAGE[stop - 12 : stop], TEXT[stop - 12 : stop]])
        assert parts.n_samples_seen_ == stop
    assert vp.IMC(3).fit([IMAGE, TEXT]).n_samples_seen_ == len(IMAGE)


def test_a_callback_sees_every_step_and_can_stop():
    seen = []
    small(sample_size=20).fit([IMAGE, TEXT], callback=seen.append)
    assert seen[0].pass_number == 0
    assert seen[-1].pass_number > 1  # sampled, tallied and labelled
    assert seen[-1].n_rows_read == seen[-1].n_rows == len(IMAGE)

    rows = np.vstack([IMAGE] * 400)  # more than are read at once
    stopped = vp.ViewPass(3, random_state=0, sample_size=500)
    stopped.fit([rows], callback=lambda progress: progress.n_rows_read >= 4000)
    n_rows = stopped.n_samples_seen_
    assert 4000 <= n_rows < len(rows)
    assert len(stopped.labels_) == n_rows
    ended = vp.ViewPass(3, random_state=0, sample_size=500).fit([rows[:n_rows]])
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
    model = vp.ViewPass(3, random_state=0).fit(IMAGE)
    assert model.cluster_centers_.shape == (3, IMAGE.shape[1])
    listed = vp.ViewPass(3, random_state=0).fit([IMAGE]).cluster_centers_
    np.testing.assert_array_equal(model.cluster_centers_, listed[0])
    assert isinstance(vp.ViewPass(3, views=2).fit(IMAGE).cluster_centers_, list)
    model.save(tmp_path / "model.viewpass")
    np.testing.assert_array_equal(vp.load(tmp_path / "model.viewpass").cluster_centers_, listed[0])
    again = vp.OPIMC(3, init=model.cluster_centers_, random_state=0).fit(IMAGE)
    given = vp.OPIMC(3, init=listed, random_state=0).fit([IMAGE])
    np.testing.assert_array_equal(again.labels_, given.labels_)


def test_feature_names_out_name_the_clusters():
    plain = small(consensus="plain").fit([IMAGE, TEXT])
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
