"""An estimator that was pickled, copied, cloned or used by several threads at once is the same estimator."""

from __future__ import annotations

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import viewpass as vp
from inputs import GAPS, IMAGE, TEXT, N, assert_same, csr, learnt, params, small
from zipped import zipped

BOTH = np.hstack([IMAGE, TEXT])
STATES = {
    "fitted": lambda: small().fit([IMAGE, TEXT], observed=GAPS),
    "fitted, sparse": lambda: small().fit({"image": csr(IMAGE), "text": csr(TEXT)}),
    "not solved yet": lambda: small().partial_fit([IMAGE[:30], csr(TEXT[:30])], observed=GAPS[:30]),
    "solved": lambda: small(sample_size=20).partial_fit([IMAGE, TEXT]),
    "no row yet": lambda: small(vp.OPIMC).partial_fit([IMAGE[:3] * np.nan, TEXT[:3] * 0]),
    "2-D": lambda: small(views=[4, -1]).fit(BOTH),
    "frames": lambda: small().fit(vp.frames({"a": pd.DataFrame(IMAGE), "b": pd.DataFrame(TEXT)})),
    "generator": lambda: small(random_state=np.random.default_rng(3)).partial_fit([IMAGE, TEXT]),
    "OPIMC": lambda: small(vp.OPIMC).fit([IMAGE, TEXT], observed=GAPS),
    "IMC": lambda: small(vp.IMC).fit([IMAGE, TEXT], observed=GAPS),
}


def joblibbed(model, tmp_path):
    joblib.dump(model, tmp_path / "model.joblib")
    return joblib.load(tmp_path / "model.joblib")


WAYS = {
    **{f"pickle {p}": (lambda model, _, p=p: pickle.loads(pickle.dumps(model, protocol=p))) for p in (2, 5)},
    "joblib": joblibbed,
    "deepcopy": lambda model, _: copy.deepcopy(model),
}


@pytest.mark.parametrize(("way", "state"), zipped(WAYS, STATES))
def test_a_restored_model_predicts_and_continues_the_same(state, way, tmp_path):
    model = STATES[state]()
    kept = WAYS[way](model, tmp_path)
    assert_same(learnt(kept), learnt(model))
    np.testing.assert_array_equal(kept.transform([IMAGE, TEXT]), model.transform([IMAGE, TEXT]))
    if hasattr(model, "partial_fit"):
        for each in (model, kept):
            each.partial_fit([IMAGE, TEXT], observed=GAPS).partial_fit([IMAGE[::-1], None])
        assert_same(learnt(kept), learnt(model))


@pytest.mark.parametrize("state", [state for state in STATES if state != "IMC"])
def test_training_a_copy_leaves_the_original_alone(state):
    model = STATES[state]()
    before = learnt(model)
    other = copy.deepcopy(model)
    other.partial_fit([IMAGE[::2], TEXT[::2]]).partial_fit([IMAGE, TEXT])
    assert_same(learnt(model), before)


@pytest.mark.parametrize("state", STATES)
def test_a_clone_has_the_settings_and_nothing_learnt(state):
    model = STATES[state]()
    fresh = clone(model)
    assert params(fresh) == params(model)
    assert not [name for name in vars(fresh) if name.endswith("_") or name.startswith("_")]


@pytest.mark.parametrize("estimator", [vp.ViewPass, vp.IMC])
def test_params_are_stored_as_given(estimator):
    given = {name: object() for name in estimator().get_params()}
    n_clusters = given.pop("n_clusters")
    model = estimator(n_clusters, **given)
    assert all(model.get_params()[name] is value for name, value in given.items())
    for name, value in estimator().get_params().items():
        model.set_params(**{name: value})
    assert model.get_params() == estimator().get_params()
    with pytest.raises(ValueError, match="Invalid parameter 'k'"):
        model.set_params(k=3)


@pytest.mark.parametrize("estimator", [vp.OPIMC, vp.IMC])
def test_arrays_as_settings_survive_a_clone(estimator):
    centres = [IMAGE[:3].copy(), TEXT[:3].copy()]
    model = clone(small(estimator, init=centres, views=np.array([4, 5])))
    np.testing.assert_array_equal(
        model.fit(BOTH).labels_, small(estimator, init=centres).fit([IMAGE, TEXT]).labels_
    )


FOLDS = list(KFold(3).split(BOTH))


@pytest.mark.parametrize(("estimator", "n_jobs"), zipped([vp.ViewPass, vp.IMC], [None, 2]))
def test_grid_search_over_a_pipeline(estimator, n_jobs):
    name = estimator.__name__.lower()
    grid = {f"{name}__n_clusters": [2, 3], f"{name}__views": [[4, -1], 2, None]}
    pipeline = make_pipeline(StandardScaler(), small(estimator))
    with joblib.parallel_config("threading"):
        search = GridSearchCV(pipeline, grid, cv=FOLDS, n_jobs=n_jobs).fit(BOTH)
    results = search.cv_results_
    scores = [
        [clone(pipeline).set_params(**settings).fit(BOTH[train]).score(BOTH[test]) for train, test in FOLDS]
        for settings in results["params"]
    ]
    np.testing.assert_array_equal(results["mean_test_score"], np.mean(scores, axis=1))
    assert search.best_index_ == np.argmax(np.mean(scores, axis=1))
    best = search.best_estimator_
    plain = clone(best[-1]).fit(StandardScaler().fit_transform(BOTH))
    np.testing.assert_array_equal(search.predict(BOTH), plain.labels_)
    assert search.transform(BOTH).shape == (N, best[-1].n_clusters)
    assert best[:-1].transform(BOTH).shape == BOTH.shape


def test_a_refit_starts_from_nothing():
    model = small().fit({"a": IMAGE, "b": TEXT, "c": csr(IMAGE)})
    model.fit([IMAGE, TEXT])
    assert_same(learnt(model), learnt(small().fit([IMAGE, TEXT])))
    model.partial_fit([IMAGE, TEXT])
    model.fit(pd.DataFrame(BOTH, columns=list("abcdefghi")))
    assert model.feature_names_in_.tolist() == list("abcdefghi")
    model.fit([IMAGE, TEXT])
    assert not hasattr(model, "feature_names_in_")
    assert_same(learnt(model), learnt(small().fit([IMAGE, TEXT])))


# ---- several threads


@pytest.mark.parametrize(("state", "n_threads"), zipped(STATES, [1, 2]))
def test_concurrent_predictions_are_the_serial_ones(state, n_threads):
    model = STATES[state]().set_params(n_threads=n_threads)
    rng = np.random.default_rng(0)
    views = []
    for k in range(8):
        rows = rng.integers(N, size=rng.integers(1, 200))
        form = csr if k % 3 == 0 else np.array
        views.append([form(IMAGE[rows]), None if k % 4 == 1 else form(TEXT[rows])])
    serial = [(model.predict(x), model.transform(x), model.score(x)) for x in views]
    fresh = pickle.loads(
        pickle.dumps(STATES[state]().set_params(n_threads=n_threads))
    )  # nothing laid out yet
    ready = threading.Barrier(4)

    def predict(part):
        ready.wait()
        return [(k, fresh.predict(views[k]), fresh.transform(views[k]), fresh.score(views[k])) for k in part]

    with ThreadPoolExecutor(4) as pool:
        answers = pool.map(predict, [list(range(8))[start:] + list(range(start)) for start in range(0, 8, 2)])
        for k, labels, distances, score in (answer for part in answers for answer in part):
            np.testing.assert_array_equal(labels, serial[k][0])
            np.testing.assert_array_equal(distances, serial[k][1])
            assert score == serial[k][2]


def test_a_refused_predict_does_not_disturb_the_others():
    model = small(n_threads=2).fit([IMAGE, TEXT])
    bad = IMAGE.copy()
    bad[40, 0] = np.inf

    def predict(k):
        if k % 2:
            with pytest.raises(vp.DataError, match="row 40"):
                model.predict([bad, TEXT])
            return True
        return np.array_equal(model.predict([IMAGE, TEXT]), model.labels_)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(predict, range(80)))


def test_predictions_during_a_fit_are_of_one_model():
    model = small().fit([IMAGE, TEXT])
    other = [TEXT[:, :4], TEXT]
    answers = {model.labels_.tobytes(), small().fit(other).predict([IMAGE, TEXT]).tobytes()}
    stop = threading.Event()

    def predict():
        seen = set()
        while not stop.is_set():
            seen.add(model.predict([IMAGE, TEXT]).tobytes())
        return seen

    with ThreadPoolExecutor(1) as pool:
        answered = pool.submit(predict)
        for _ in range(10):
            model.fit(other).fit([IMAGE, TEXT])
        stop.set()
        assert answered.result() <= answers
