"""river's checks of its own estimators, for rows that arrive one by one or a few at a time."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import viewpass as vp
from peers.data import X

VIEWS = {"image": X, "text": X[:, ::-1] + 0.3}
WARMUPS = {"no warm-up": 0, "warm-up": 40}
each = pytest.mark.parametrize("warmup", WARMUPS.values(), ids=WARMUPS)


def rows(start, stop=None):
    stop = start + 1 if stop is None else stop
    return {name: x[start:stop] for name, x in VIEWS.items()}


def streamed(warmup, n_rows=60, **settings):
    model = vp.OPIMC(3, warmup=warmup, n_threads=1, random_state=0, **settings)
    for row in range(n_rows):
        model.partial_fit(rows(row))
    return model


@each
def test_inputs_stay_as_they_are(warmup):
    """Learning and predicting leave the rows they are given unchanged."""
    model, given = streamed(warmup), {name: x.copy() for name, x in VIEWS.items()}
    model.partial_fit(given)
    model.predict(given)
    for name, x in VIEWS.items():
        np.testing.assert_array_equal(given[name], x)


@each
def test_no_shared_memory(warmup):
    """Rows may be overwritten after they were learnt, also during the warm-up."""
    model, buffer = vp.OPIMC(3, warmup=warmup, random_state=0), {n: np.empty((1, 5)) for n in VIEWS}
    for row in range(60):
        for name, x in VIEWS.items():
            buffer[name][:] = x[row]
        model.partial_fit(buffer)
    np.testing.assert_array_equal(model.predict(VIEWS), streamed(warmup).predict(VIEWS))


@each
def test_predicting_learns_nothing(warmup):
    """Predicting between the rows does not change what is learnt."""
    asked = vp.OPIMC(3, warmup=warmup, n_threads=1, random_state=0)
    for row in range(60):
        asked.partial_fit(rows(row))
        asked.predict(rows(row))
        asked.transform(rows(row))
    assert asked.statistics_ == streamed(warmup).statistics_


@each
def test_one_by_one_is_all_at_once(warmup):
    """Rows predicted one by one get the labels and distances they get together."""
    model = streamed(warmup)
    labels = [model.predict(rows(row))[0] for row in range(len(X))]
    np.testing.assert_array_equal(labels, model.predict(VIEWS))
    distances = np.concatenate([model.transform(rows(row)) for row in range(len(X))])
    np.testing.assert_array_equal(distances, model.transform(VIEWS))


@each
@pytest.mark.parametrize("how", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_continue_alike(warmup, how):
    """A copy made in the middle of a stream goes on to the same state, and apart from the original."""
    model = streamed(warmup, n_rows=30)
    other = how(model)
    for row in range(30, 60):
        other.partial_fit(rows(row))
    assert other.statistics_ == streamed(warmup).statistics_
    assert model.n_samples_seen_ == 30


@each
def test_clones_forget(warmup):
    """A clone has the settings and nothing that was learnt, and learning leaves the original alone."""
    model = streamed(warmup)
    before = model.statistics_
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        fresh.predict(VIEWS)
    fresh.partial_fit(VIEWS)
    assert model.statistics_ == before


def test_nothing_learnt_yet():
    """Predicting before the first row is an error, not a guess."""
    with pytest.raises(NotFittedError):
        vp.OPIMC(3).predict(VIEWS)


@each
def test_order_of_views(warmup):
    """The order in which views are named does not matter."""
    model = vp.OPIMC(3, warmup=warmup, random_state=0)
    for row in range(60):
        given = rows(row)
        model.partial_fit(given if row % 2 == 0 else dict(reversed(given.items())))
    assert model.statistics_ == streamed(warmup).statistics_


@each
def test_views_that_disappear(warmup):
    """A view may be absent from any row after the first, and come back."""
    model = vp.OPIMC(3, warmup=warmup, random_state=0).partial_fit(VIEWS)
    model.partial_fit({"image": X[:1], "text": None})
    model.partial_fit({"text": VIEWS["text"][:1]})
    assert model.predict({"image": X[:2]}).min() >= 0
    model.partial_fit(VIEWS)
    assert model.n_samples_seen_ == 2 * len(X) + 2


@each
def test_columns_that_appear(warmup):
    """Columns or views that a model does not know are refused, and nothing is learnt from them."""
    model = streamed(warmup)
    before = model.statistics_
    for given in ({"image": np.ones((1, 6))}, {"audio": np.ones((1, 5))}):
        with pytest.raises(ValueError, match=r"columns|unknown"):
            model.partial_fit(given)
    assert model.statistics_ == before


@each
def test_seeds(warmup):
    """The same seed gives the same stream of labels."""
    one, same = streamed(warmup), streamed(warmup)
    assert one.statistics_ == same.statistics_


def test_memory_stays_bounded():
    """The state does not grow with the rows read, but for one number per chunk (`loss_curve_`)."""
    sizes, model = [], vp.OPIMC(3, warmup=40, random_state=0)
    for _ in range(3):
        for _ in range(20):
            model.partial_fit(VIEWS)
        sizes.append(len(pickle.dumps(model)))
    assert np.diff(sizes).max() <= 20 * 16


def test_printed_form():
    """The printed form makes an equal estimator again, and parameters are those of the signature."""
    model = vp.OPIMC(3, alpha=0.5, n_anchors=None)
    again = eval(repr(model), {"OPIMC": vp.OPIMC})
    assert again.get_params() == model.get_params()
