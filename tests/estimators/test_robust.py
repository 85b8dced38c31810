"""Outliers kept out of the centres: `robust=True`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score as nmi
from sklearn.metrics import roc_auc_score as area

import viewpass as vp
from viewpass.evaluate import load_digit
from viewpass.store.container.fields import Fields
from viewpass.store.state.fitting import pack_fitting, unpack_fitting
from viewpass.sums.rules import Workspace
from viewpass.tally.fitting import Fitting
from viewpass.views.chunk import Chunk

N_ROWS, N_FAR = 1200, 240
RNG = np.random.default_rng(3)
CLASSES = np.append(RNG.integers(4, size=N_ROWS), np.full(N_FAR, -1))
ORDER = RNG.permutation(N_ROWS + N_FAR)
FAR = (CLASSES < 0)[ORDER]


def _view(width: int) -> np.ndarray:
    near = 4 * np.eye(width)[CLASSES[:N_ROWS]] + 0.5 * RNG.standard_normal((N_ROWS, width))
    return np.concatenate([near, 4 * RNG.standard_normal((N_FAR, width))])[ORDER]


VIEWS = [_view(12), _view(8)]
VIEWS[1][RNG.random(len(ORDER)) < 0.3] = np.nan
GIVEN: dict[str, Any] = {"n_clusters": 4, "scale": "euclidean", "random_state": 0}


def _off(model: vp.ViewPass) -> float:
    """How far centres are from the means of the rows that are not far, at most."""
    means = vp.ViewPass(**GIVEN).fit([view[~FAR] for view in VIEWS])
    found = [
        np.abs(one[:, None] - other[None]).max(axis=2).min(axis=1).max()
        for one, other in zip(means.cluster_centers_, model.cluster_centers_, strict=True)
    ]
    return float(max(found))


@pytest.mark.parametrize("settings", [{}, {"sample_size": 500}, {"compute_labels": False}], ids=str)
@pytest.mark.parametrize("consensus", ["plain", "graph"])
def test_most_outliers_are_flagged_and_few_others(settings: dict[str, Any], consensus: str) -> None:
    model = vp.ViewPass(**GIVEN, consensus=consensus, robust=True, **settings).fit(VIEWS)
    flagged = model.is_outlier(VIEWS)
    assert flagged[FAR].mean() > 0.9
    few = 0.1 if consensus == "plain" else 0.3  # anchors are nearest to the sampled rows they are made of
    assert flagged[~FAR].mean() < few
    assert nmi(CLASSES[ORDER][~FAR], model.predict(VIEWS)[~FAR]) > 0.95


def test_rows_are_counted_and_labelled_all_the_same() -> None:
    model = vp.ViewPass(**GIVEN, consensus="plain", robust=True, sample_size=500).fit(VIEWS)
    assert (model.labels_ >= 0).all()
    assert model.n_samples_seen_ == len(ORDER)
    assert model.counts_[0].sum() == len(ORDER)


def test_rows_without_views_are_no_outliers() -> None:
    model = vp.ViewPass(**GIVEN).fit(VIEWS)
    assert not model.is_outlier([np.full((2, 12), np.nan), None]).any()


@pytest.mark.parametrize("sample_size", ["auto", 500])
def test_centres_of_rows_that_are_not_far(sample_size: Any) -> None:
    settings = {**GIVEN, "consensus": "plain", "sample_size": sample_size}
    models = [vp.ViewPass(**settings, robust=robust).fit(VIEWS) for robust in (False, True)]
    assert _off(models[1]) < 0.5 * _off(models[0])


def test_growing_clusters_are_refused() -> None:
    with pytest.raises(vp.SettingError, match=r"robust=True keeps rows .* Give one of them"):
        vp.ViewPass("grow", robust=True).fit(VIEWS)


def test_forgetting_is_a_fit_without_the_rows() -> None:
    gone = np.flatnonzero(FAR)[:50]
    model = vp.ViewPass(**GIVEN, robust=True).fit(VIEWS).forget(gone)
    left = np.delete(np.arange(len(ORDER)), gone)
    again = vp.ViewPass(**GIVEN, robust=True).fit([view[left] for view in VIEWS])
    assert model.n_samples_seen_ == again.n_samples_seen_
    assert nmi(*(one.predict(VIEWS)[~FAR] for one in (model, again))) > 0.95


@pytest.mark.data
def test_digit_with_a_fifth_of_noise() -> None:
    bundle, rng = load_digit(), np.random.default_rng(0)
    n_rows, views = len(bundle.labels), []
    for view in bundle.views.values():
        mean = view.mean(axis=0)
        away = rng.standard_normal((n_rows // 4, view.shape[1]))
        lengths = np.linalg.norm(view - mean, axis=1)[rng.integers(n_rows, size=len(away))]
        away *= (lengths / np.linalg.norm(away, axis=1))[:, None]
        views.append(np.vstack([view, mean + away]))
    model = vp.ViewPass(10, random_state=0, robust=True).fit(views)
    clean = vp.ViewPass(10, random_state=0).fit(list(bundle.views.values()))
    assert nmi(bundle.labels, model.labels_[:n_rows]) > nmi(bundle.labels, clean.labels_) - 0.02
    noise = np.arange(len(model.labels_)) >= n_rows
    assert area(noise, model.outlier_score(views)) > 0.97


def test_a_fit_that_was_interrupted_goes_on_with_the_same_bits() -> None:
    learning = vp.ViewPass(**GIVEN, robust=True, sample_size=500)._prepare(VIEWS, None)[0]._learnt
    whole = Chunk.of(VIEWS)
    chunks = [whole.cut(start, start + 360) for start in range(0, len(ORDER), 360)]
    models = []
    for interrupted in (False, True):
        fitting = Fitting(learning.plan, learning.seed, learning.sample)
        while not fitting.done:
            for number, chunk in enumerate(chunks):
                if interrupted and number == 2 and fitting.stage and not fitting.labelling:
                    arrays: dict[str, Any] = {}
                    fitting = unpack_fitting(Fields(pack_fitting(fitting, arrays), arrays))
                fitting.take(chunk, Workspace(1))
            fitting.end_stage(Workspace(1))
        models.append(fitting.model)
    for one, other in zip(*(model.centres.values for model in models), strict=True):
        np.testing.assert_array_equal(one, other)
