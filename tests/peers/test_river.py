"""river's checks of its own estimators, for rows that arrive one by one or a few at a time.

What does not apply: features that appear or disappear (whole views may); a state of constant size
(`loss_curve_` has one number per chunk).
"""

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
KINDS = {
    "OPIMC": vp.OPIMC(3, n_threads=1, random_state=0),
    "ViewPass": vp.ViewPass(3, n_threads=1, random_state=0, sample_size=40),
}
each = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def rows(start, stop=None):
    stop = start + 1 if stop is None else stop
    return {name: x[start:stop] for name, x in VIEWS.items()}


def streamed(kind, n_rows=60):
    model = clone(kind)
    for row in range(n_rows):
        model.partial_fit(rows(row))
    return model


@each
def test_inputs_stay_as_they_are(kind):
    """Learning and predicting leave the rows they are given unchanged."""
    model, given = streamed(kind), {name: x.copy() for name, x in VIEWS.items()}
    model.partial_fit(given)
    model.predict(given)
    for name, x in VIEWS.items():
        np.testing.assert_array_equal(given[name], x)


@each
def test_no_shared_memory(kind):
    """Rows may be overwritten after they were learnt, also before the first solve."""
    model, buffer = clone(kind), {n: np.empty((1, 5)) for n in VIEWS}
    for row in range(60):
        for name, x in VIEWS.items():
            buffer[name][:] = x[row]
        model.partial_fit(buffer)
    np.testing.assert_array_equal(model.predict(VIEWS), streamed(kind).predict(VIEWS))


@each
def test_predicting_learns_nothing(kind):
    """Predicting between the rows does not change what is learnt."""
    asked = clone(kind)
    for row in range(60):
        asked.partial_fit(rows(row))
        if row >= 2:  # three clusters need three rows
            asked.predict(rows(row))
            asked.transform(rows(row))
    assert asked.statistics_ == streamed(kind).statistics_


@each
def test_one_by_one_is_all_at_once(kind):
    """Rows predicted one by one get the labels and distances they get together."""
    model = streamed(kind)
    labels = [model.predict(rows(row))[0] for row in range(len(X))]
    np.testing.assert_array_equal(labels, model.predict(VIEWS))
    distances = np.concatenate([model.transform(rows(row)) for row in range(len(X))])
    np.testing.assert_array_equal(distances, model.transform(VIEWS))


@each
@pytest.mark.parametrize("how", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_continue_alike(kind, how):
    """A copy made in the middle of a stream goes on to the same state, and apart from the original."""
    model = streamed(kind, n_rows=30)
    other = how(model)
    for row in range(30, 60):
        other.partial_fit(rows(row))
    assert other.statistics_ == streamed(kind).statistics_
    assert model.n_samples_seen_ == 30


@each
def test_clones_forget(kind):
    """A clone has the settings and nothing that was learnt, and learning leaves the original alone."""
    model = streamed(kind)
    before = model.statistics_
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        fresh.predict(VIEWS)
    fresh.partial_fit(VIEWS)
    assert model.statistics_ == before


@each
def test_nothing_learnt_yet(kind):
    """Predicting before the first row is an error, not a guess."""
    with pytest.raises(NotFittedError):
        clone(kind).predict(VIEWS)


@each
def test_order_of_views(kind):
    """The order in which views are named does not matter."""
    model = clone(kind)
    for row in range(60):
        given = rows(row)
        model.partial_fit(given if row % 2 == 0 else dict(reversed(given.items())))
    assert model.statistics_ == streamed(kind).statistics_


@each
def test_views_that_disappear(kind):
    """A view may be absent from any row after the first, and come back."""
    model = clone(kind).partial_fit(VIEWS)
    model.partial_fit({"image": X[:1], "text": None})
    model.partial_fit({"text": VIEWS["text"][:1]})
    assert model.predict({"image": X[:2]}).min() >= 0
    model.partial_fit(VIEWS)
    assert model.n_samples_seen_ == 2 * len(X) + 2


@each
def test_columns_that_appear(kind):
    """Columns or views that a model does not know are refused, and nothing is learnt from them."""
    model = streamed(kind)
    before = model.statistics_
    for given in ({"image": np.ones((1, 6))}, {"audio": np.ones((1, 5))}):
        with pytest.raises(ValueError, match=r"columns|unknown"):
            model.partial_fit(given)
    assert model.statistics_ == before


@each
def test_seeds(kind):
    """The same seed gives the same stream of labels."""
    one, same = streamed(kind), streamed(kind)
    assert one.statistics_ == same.statistics_


@each
def test_memory_stays_bounded(kind):
    """The state does not grow with the rows read, but for one number per chunk (`loss_curve_`)."""
    sizes, model = [], clone(kind)
    for _ in range(3):
        for _ in range(20):
            model.partial_fit(VIEWS)
        sizes.append(len(pickle.dumps(model)))
    assert np.diff(sizes).max() <= 20 * 16


@each
def test_printed_form(kind):
    """The printed form makes an equal estimator again, and parameters are those of the signature."""
    model = type(kind)(3, alpha=0.5)
    again = eval(repr(model), {name: type(each) for name, each in KINDS.items()})
    assert again.get_params() == model.get_params()
