"""Bad input is refused with one clear error, before anything changes."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import InvalidParameterError

import viewpass as vp
from inputs import GAPS, IMAGE, TEXT, N, assert_same, csr, learnt, small
from zipped import zipped


def broken(x, row, value, column=1):
    x = x.copy()
    x[row, column] = value
    return x


def outside(x, row):
    rows = csr(x)
    rows.indices[rows.indptr[row]] = x.shape[1]
    return rows


# What is wrong with a pair of views, whatever is done with them: the data (and a mask), the message.
BAD = {
    "partly NaN": (
        lambda: [broken(IMAGE, 17, np.nan), TEXT],
        None,
        "view 'view0', row 17: 1 of 4 values are NaN.*missing",
    ),
    "partly NaN, sparse": (
        lambda: [IMAGE, csr(broken(TEXT, 17, np.nan))],
        None,
        "view 'view1', row 17: 1 of 5 .*NaN",
    ),
    "inf": (
        lambda: [IMAGE, broken(TEXT, 23, np.inf)],
        None,
        "view 'view1', row 23: 1 of 5 values are inf.*missing",
    ),
    "-inf": (lambda: [IMAGE, broken(TEXT, 23, -np.inf)], None, "view 'view1', row 23: 1 of 5 values are inf"),
    "inf, sparse": (
        lambda: [csr(broken(IMAGE, 23, np.inf)), TEXT],
        None,
        "view 'view0', row 23: 1 of 4 values are inf",
    ),
    "inf, float32": (
        lambda: [broken(IMAGE, 5, np.inf).astype("f"), TEXT],
        None,
        "view 'view0', row 5: 1 of 4 .*inf",
    ),
    "NaN and inf": (
        lambda: [broken(broken(IMAGE, 5, np.inf), 5, np.nan, 2), TEXT],
        None,
        "row 5: 1 of 4 .*NaN",
    ),
    "inf as float32, seen": (lambda: [broken(IMAGE, 9, np.nan), TEXT], GAPS | True, "view 'view0', row 9"),
    "outside": (
        lambda: [outside(IMAGE, 30), TEXT],
        None,
        "view 'view0', row 30: a column number .* outside its 4",
    ),
    "outside, masked": (lambda: [outside(IMAGE, 31), TEXT], GAPS, "view 'view0', row 31: a column number"),
    "fewer rows": (
        lambda: [IMAGE, TEXT[:-1]],
        None,
        "view 'view1' has 47 rows, view 'view0' has 48.*vp.frames",
    ),
    "ragged": (
        lambda: [[[1, 2, 3, 4], [1, 2]], TEXT],
        None,
        "view 'view0' cannot be read as numbers.*equal lengths",
    ),
    "1-D": (lambda: [IMAGE[:, 0], TEXT], None, r"view 'view0' has 1 dimension\(s\), 2"),
    "3-D": (lambda: [IMAGE[:, :, None], TEXT], None, r"view 'view0' has 3 dimension\(s\), 2"),
    "text": (
        lambda: [IMAGE.astype(str), TEXT],
        None,
        "view 'view0' holds <U32 values, numbers were expected",
    ),
    "text in objects": (lambda: [IMAGE.astype(str).astype(object), TEXT], None, "view 'view0' .* text"),
    "complex": (lambda: [IMAGE + 1j, TEXT], None, "view 'view0' holds complex128 values"),
    "times": (lambda: [IMAGE.astype("M8[s]"), TEXT], None, "view 'view0' holds datetime64"),
    "masked array": (
        lambda: [np.ma.masked_equal(IMAGE, 1), TEXT],
        None,
        "view 'view0' is a masked array.*NaN",
    ),
    "text column": (
        lambda: [pd.DataFrame(IMAGE).assign(q="a"), TEXT],
        None,
        "view 'view0', column 'q' holds",
    ),
    "category": (
        lambda: [pd.DataFrame({"q": pd.Categorical([1] * N)}), TEXT],
        None,
        "column 'q' holds category",
    ),
    "lazy frame": (lambda: [pl.DataFrame(IMAGE).lazy(), TEXT], None, "view 'view0' is a LazyFrame"),
    "a dict": (lambda: [{"a": IMAGE}, TEXT], None, "view 'view0' is a dict"),
    "a number": (lambda: [3.0, TEXT], None, "view 'view0' is a float"),
    "no view at all": (lambda: [None, None], None, "every view is None"),
    "no views": (list, None, "no view was given"),
    "no rows": (lambda: [IMAGE[:0], TEXT[:0]], None, "no rows"),
    "mask, rows": (lambda: [IMAGE, TEXT], GAPS[1:], r"observed has shape \(47, 2\), \(48, 2\) was expected"),
    "mask, views": (lambda: [IMAGE, TEXT], GAPS[:, :1], r"observed has shape \(48, 1\), \(48, 2\)"),
    "mask, values": (lambda: [IMAGE, TEXT], GAPS * 2, "observed must hold True and False"),
    "mask, NaN": (lambda: [IMAGE, TEXT], GAPS * np.nan, "observed must hold True and False"),
    "mask, ragged": (lambda: [IMAGE, TEXT], [[1, 0], [1]], "observed cannot be read"),
    "2-D masked array": (
        lambda: np.ma.masked_equal(np.hstack([IMAGE, TEXT]), 1),
        None,
        "X is a masked array.*NaN",
    ),
    "2-D, partly NaN": (lambda: broken(np.hstack([IMAGE, TEXT]), 6, np.nan), None, "row 6: 1 of"),
    "2-D, outside": (lambda: outside(np.hstack([IMAGE, TEXT]), 6), None, "X, row 6: a column number"),
}

# What does not fit a model of two views, 4 and 5 columns wide.
MISFITS = {
    "wrong width": (lambda: [IMAGE, TEXT[:, :4]], None, "view 'view1': 4 columns where 5 were expected"),
    "wrong width, sparse": (lambda: [csr(TEXT), TEXT], None, "view 'view0': 5 columns where 4 were expected"),
    "unknown view": (
        lambda: {"view0": IMAGE, "sound": TEXT},
        None,
        "view 'sound' is unknown; the views are 'view0', 'view1'",
    ),
    "too few views": (lambda: [IMAGE], None, r"1 views were given, the model has 2 .*Pass None"),
    "too many views": (lambda: [IMAGE, TEXT, TEXT], None, "3 views were given, the model has 2"),
}

STATES = {
    "ViewPass, fitted": lambda: small().fit([IMAGE, TEXT], observed=GAPS),
    "ViewPass, not solved yet": lambda: small().partial_fit([IMAGE[:30], TEXT[:30]]),
    "ViewPass, solved": lambda: small(sample_size=20).partial_fit([IMAGE, TEXT]),
    "ViewPass, 2-D": lambda: small(views=[4, 5]).fit(np.hstack([IMAGE, TEXT])),
    "OPIMC, fitted": lambda: small(vp.OPIMC).fit([IMAGE, TEXT], observed=GAPS),
    "OPIMC, no row yet": lambda: small(vp.OPIMC).partial_fit([IMAGE[:3] * np.nan, TEXT[:3] * 0]),
    "IMC, fitted": lambda: small(vp.IMC).fit([IMAGE, TEXT]),
}
METHODS = ["fit", "partial_fit", "predict", "transform", "score", "fit_predict", "fit_transform"]


@cache
def pickled(state):
    return pickle.dumps(STATES[state]())


def begun(state):
    """A model in this state, made once and copied."""
    return pickle.loads(pickled(state))


def continued(model):
    """What two more chunks make of it."""
    if hasattr(model, "partial_fit"):
        model.partial_fit([IMAGE, TEXT]).partial_fit([IMAGE[::-1], TEXT[::-1]])
    return learnt(model)


@cache
def undisturbed(state):
    return continued(begun(state))


def methods(model, only=METHODS):
    return [name for name in only if hasattr(model, name)]


@pytest.mark.parametrize(("what", "state"), zipped(BAD, STATES))
def test_bad_data_is_refused_and_leaves_no_trace(state, what):
    make, observed, message = BAD[what]
    model = begun(state)
    before = learnt(model)
    for method in methods(model):
        with pytest.raises(vp.DataError, match=message):
            getattr(model, method)(make(), observed=observed)
    assert_same(learnt(model), before)
    assert_same(continued(model), undisturbed(state))  # later chunks see no trace of the refused calls


@pytest.mark.parametrize(("what", "state"), zipped(MISFITS, STATES))
def test_data_that_does_not_fit_the_model_is_refused(state, what):
    make, observed, message = MISFITS[what]
    model = begun(state)
    before = learnt(model)
    for method in methods(model, ["partial_fit", "predict", "transform", "score"]):
        with pytest.raises(vp.DataError, match=message):
            getattr(model, method)(make(), observed=observed)
        assert_same(learnt(model), before)


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("estimator", [vp.ViewPass, vp.IMC])
def test_bad_data_leaves_an_estimator_unfitted(estimator, what):
    make, observed, message = BAD[what]
    model = small(estimator)
    before = dict(vars(model))
    for method in methods(model, ["fit", "partial_fit", "fit_predict"]):
        with pytest.raises(vp.DataError, match=message):
            getattr(model, method)(make(), observed=observed)
        assert vars(model) == before
    with pytest.raises(NotFittedError):
        model.predict([IMAGE, TEXT])


@pytest.mark.parametrize("row", [0, 19, 20, 39, 40, N - 1])
@pytest.mark.parametrize("method", ["fit", "predict"])
def test_rows_are_numbered_in_the_whole_data(row, method, monkeypatch):
    monkeypatch.setattr("viewpass.estimators.clusterer.PREDICT_BLOCK", 20)
    model = small().fit({"image": IMAGE, "text": TEXT})
    for wrong in (np.nan, np.inf):
        with pytest.raises(vp.DataError, match=rf"view 'text', row {row}: 1 of 5"):
            getattr(model, method)({"image": IMAGE, "text": broken(TEXT, row, wrong)})


@pytest.mark.parametrize(
    "x",
    [
        *(
            None,
            5,
            "abc",
            np.float64(3),
            np.arange(4.0),
            np.zeros((2, 2, 2)),
            np.empty((0, 4)),
            np.empty((5, 0)),
        ),
        *(np.array([IMAGE, None], dtype=object), IMAGE.astype(str), IMAGE + 1j, (row for row in IMAGE)),
    ],
    ids=lambda x: type(x).__name__,
)
def test_what_is_no_2d_array_is_refused_by_scikit_learn(x):
    model = small(views=2).fit(np.hstack([IMAGE, TEXT]))
    before = learnt(model)
    for method in methods(model):
        with pytest.raises(ValueError, match=r"."):
            getattr(model, method)(x)
        assert_same(learnt(model), before)


def test_a_2d_frame_must_hold_numbers():
    model = small(views=2).fit(pd.DataFrame(IMAGE, columns=list("abcd")))
    before = learnt(model)
    for wrong in ("x", pd.Categorical(["x"] * N)):
        for method in methods(model):
            with pytest.raises(ValueError, match=r"text|could not convert string to float"):
                getattr(model, method)(pd.DataFrame(IMAGE, columns=list("abcd")).assign(b=wrong))
            assert_same(learnt(model), before)


# ---- too few rows


@pytest.mark.parametrize("estimator", [vp.ViewPass, vp.IMC])
def test_fewer_rows_than_clusters_are_refused(estimator):
    model = small(estimator, n_clusters=3).fit([IMAGE, TEXT])
    before = learnt(model)
    unseen = np.full_like(IMAGE, np.nan)
    unseen[:2] = IMAGE[:2]
    for views, n in (([IMAGE[:2], TEXT[:2]], 2), ([unseen, TEXT * 0], 2), ([unseen * np.nan, None], 0)):
        with pytest.raises(
            vp.DataError, match=rf"{n} samples? with at least one view cannot form 3 clusters"
        ):
            model.fit(views)
        assert_same(learnt(model), before)
    labels = small(estimator, n_clusters=2).fit([unseen, TEXT * 0]).labels_
    assert labels.tolist() == [*labels[:2], *[-1] * (N - 2)]
    assert set(labels[:2]) <= {0, 1}


@pytest.mark.parametrize("settings", [{}, {"sample_size": 5}, {"consensus": "plain"}])
def test_a_chunk_may_have_fewer_rows_than_clusters(settings):
    model = small(**settings).partial_fit([IMAGE[:2], TEXT[:2]])
    with pytest.raises(vp.DataError, match="2 samples with at least one view cannot form 3 clusters"):
        model.predict([IMAGE, TEXT])
    for start in range(2, 10, 2):
        model.partial_fit([IMAGE[start : start + 2], TEXT[start : start + 2]])
        assert model.stream_labels_.shape == (2,)
        assert set(model.predict([IMAGE, TEXT])) <= {0, 1, 2}
    assert small(**settings).fit([IMAGE, TEXT]).labels_.shape == (N,)


# ---- settings

SETTINGS = {
    "n_clusters": [0, -1, 2.0, "3", None],
    "alpha": [-1, -0.1, np.nan, np.inf, "a", None],
    "chunk_size": [0, -5, 1.5, None],
    "n_passes": [0, 1.5],
    "max_iter": [0, -1, 2.5],
    "tol": [-1e-9, np.nan, "a"],
    "sample_size": [-1, 2.5, "all"],
    "n_anchors": [0, 2.5, "many", None],
    "consensus": ["merge", None],
    "missing_entries": ["mean", None],
    "projection": [1, "many", 2.5],
    "fill": ["median", 0],
    "compute_labels": ["yes", None],
    "n_threads": [0, -1, 1.5],
    "verbose": [-1, "loud"],
    "n_init": [0, 1.5],
}


@pytest.mark.parametrize(
    ("estimator", "name", "value"),
    [
        (estimator, name, value)
        for estimator in (vp.ViewPass, vp.OPIMC, vp.IMC)
        for name, values in SETTINGS.items()
        if name in estimator().get_params()
        for value in values
    ],
)
def test_settings_that_make_no_sense_are_refused(estimator, name, value):
    model = small(estimator).fit([IMAGE, TEXT])
    before = learnt(model)
    model.set_params(**{name: value})
    for method in methods(model, ["fit", "partial_fit"]):
        with pytest.raises(
            InvalidParameterError, match=f"The {name!r} parameter of {estimator.__name__} must be"
        ):
            getattr(model, method)([IMAGE, TEXT])
    model.set_params(**{name: small(estimator).get_params()[name]})
    assert_same(learnt(model), before)


@pytest.mark.parametrize("value", ["7", 7.5, True, -1, [1], np.random])
@pytest.mark.parametrize("estimator", [vp.ViewPass, vp.IMC])
def test_invalid_seeds_are_refused(estimator, value):
    with pytest.raises(vp.SettingError, match="random_state"):
        small(estimator, random_state=value).fit([IMAGE, TEXT])


_centres = [IMAGE[:3], TEXT[:3]]
INITS = {
    "unknown": ("kmeans", "init='kmeans': one of 'random'.* or an array"),
    "None": (None, "init is an array of shape"),
    "a number": (3, "init is an array of shape"),
    "ragged": ([[1, 2], [3]], "init cannot be read as an array"),
    "float labels": (np.zeros(N), "init is an array of shape .* integer labels"),
    "labels too high": (np.full(N, 3), "labels must lie between 0 and 2"),
    "labels below 0": (np.full(N, -1), "labels must lie between 0 and 2"),
    "labels of fewer rows": (np.zeros(7, dtype=int), "init has 7 rows, the first chunk has 48"),
    "memberships, clusters": (np.ones((N, 2)), r"init is an array of shape \(48, 2\)"),
    "memberships, rows": (np.ones((N - 1, 3)), "init has 47 rows, the first chunk has 48"),
    "memberships, NaN": (np.full((N, 3), np.nan), "memberships must be finite and not negative"),
    "memberships, negative": (np.full((N, 3), -1.0), "memberships must be finite and not negative"),
    "memberships, text": ([["a", "b", "c"]] * N, "init is an array of shape"),
    "3-D": (np.ones((2, 3, 4)), r"init is an array of shape \(2, 3, 4\)"),
    "centres of one view": ([IMAGE[:3]], "init has 1 entries, the data has 2 views"),
    "no centres": ([], "init has 0 entries, the data has 2 views"),
    "a view without": ([IMAGE[:3], None], "init cannot be read as an array"),
    "centres, clusters": ([IMAGE[:3], TEXT[:2]], "init, view 'view1': 3 finite centres"),
    "centres, columns": ([IMAGE[:3], IMAGE[:3]], r"init, view 'view1': centres of shape \(3, 4\), \(3, 5\)"),
    "centres, NaN": ([IMAGE[:3] * np.nan, TEXT[:3]], "init, view 'view0': 3 finite centres"),
    "centres, text": ({"view0": "a", "view1": "b"}, "init, view 'view0': 3 finite centres"),
    "centres, ragged": ({"view0": [[1], [2, 3]], "view1": TEXT[:3]}, "init, view 'view0' cannot be read"),
    "a name missing": ({"view0": IMAGE[:3]}, "init is given for 'view0'; the views are 'view0', 'view1'"),
    "a name too many": ({"view0": 1, "view1": 2, "q": 3}, "init is given for 'view0', 'view1', 'q'"),
}


@pytest.mark.parametrize(("what", "estimator"), zipped(INITS, [vp.OPIMC, vp.IMC]))
def test_starts_that_make_no_sense_are_refused(estimator, what):
    init, message = INITS[what]
    model = small(estimator).fit([IMAGE, TEXT])
    before = learnt(model)
    model.set_params(init=init)
    with pytest.raises(vp.SettingError, match=message):
        model.fit([IMAGE, TEXT])
    model.set_params(init="random")
    assert_same(learnt(model), before)
    if estimator is vp.OPIMC:
        fresh = small(vp.OPIMC, init=init)
        with pytest.raises(vp.SettingError, match=message):
            fresh.partial_fit([IMAGE, TEXT])
        assert not hasattr(fresh, "view_names_in_")


@pytest.mark.parametrize(
    "init",
    [
        *(
            _centres,
            tuple(_centres),
            [c.tolist() for c in _centres],
            [c.astype(np.float32) for c in _centres],
        ),
        *([c.astype(int) for c in _centres], dict(zip(("view0", "view1"), _centres, strict=True))),
    ],
    ids=["list", "tuple", "lists", "float32", "integers", "dict"],
)
def test_centres_in_any_form(init):
    wanted = small(vp.OPIMC, init=_centres).fit([IMAGE, TEXT])
    np.testing.assert_array_equal(small(vp.OPIMC, init=init).fit([IMAGE, TEXT]).labels_, wanted.labels_)


def test_errors_are_value_errors():
    assert issubclass(vp.DataError, ValueError)
    assert issubclass(vp.SettingError, ValueError)
    assert issubclass(InvalidParameterError, ValueError)
    with pytest.raises(NotFittedError):
        small().predict(sp.csr_array(IMAGE))
