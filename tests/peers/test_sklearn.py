"""scikit-learn's KMeans and MiniBatchKMeans: what their users expect, on one view.

What does not apply: clusters that differ in the length of their rows, rows at the origin (rows are
compared at unit length), and which row an empty cluster moves to (it stays where it was, as in the
paper); zeros on the diagonal of `transform(cluster_centers_)` (centres are shorter than 1); float32
centres; a common factor of weights (others than whole numbers are rounded to 1/1024); `init` as a
function, `algorithm`, `copy_x`, `init_size` and `reassignment_ratio`; texts and private names; strictly
better scores by more updates; a warning for `n_init` beside centres as `init`.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import viewpass as vp
from peers.data import CENTRES, FORMS, GROUP, KINDS, N_CLUSTERS, UNIT, X, same_groups

each_kind = pytest.mark.parametrize("model", KINDS.values(), ids=KINDS)
each_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
STARTS = {"random": "random", "k-means++": "k-means++", "centres": [CENTRES]}


def fresh(model, **settings):
    """The same estimator with these settings, as far as it has them: OPIMC has one start."""
    known = model.get_params()
    return clone(model).set_params(**{name: value for name, value in settings.items() if name in known})


def of_one_start(model):
    return fresh(model, init=[CENTRES], n_init=1)


@each_form
@pytest.mark.parametrize("init", STARTS.values(), ids=STARTS)
def test_starts(form, init):
    """Every kind of start finds groups that are well apart, in dense and sparse rows."""
    fitted = fresh(KINDS["IMC"], init=init, n_init=6).fit(form(X))
    assert same_groups(fitted.labels_, GROUP)
    assert fitted.inertia_ > 0


def test_partial_fit():
    """`partial_fit`, chunk by chunk and again and again, finds the groups."""
    plain = vp.ViewPass(N_CLUSTERS, scale="unit", consensus="plain", random_state=0)
    for model in (fresh(KINDS["OPIMC"], init=[CENTRES]), plain):
        for _ in range(5):
            for first in range(0, len(X), 32):
                model.partial_fit(X[first : first + 32])
        assert same_groups(model.predict(X), GROUP)


@each_kind
@each_form
def test_sparse(model, form):
    """Sparse rows give the labels and centres of the same rows stored densely."""
    dense, sparse = fresh(model).fit(X), fresh(model).fit(form(X))
    np.testing.assert_array_equal(sparse.labels_, dense.labels_)
    np.testing.assert_allclose(sparse.cluster_centers_, dense.cluster_centers_, atol=1e-8)


@each_kind
@each_form
@pytest.mark.parametrize("max_iter", [1, 50])
def test_predict(model, form, max_iter):
    """`predict` of the fitted rows, in any form, gives `labels_`; so does `fit_predict`."""
    fitted = fresh(model, max_iter=max_iter).fit(X)
    np.testing.assert_array_equal(fitted.predict(form(X)), fitted.labels_)
    np.testing.assert_array_equal(fresh(model, max_iter=max_iter).fit_predict(X), fitted.labels_)


@each_kind
def test_layout(model):
    """The layout of the array in memory does not matter: Fortran order, every second row, read-only."""
    expected = fresh(model).fit(X)
    padded = np.repeat(X, 2, axis=0)
    locked = X.copy()
    locked.flags.writeable = False
    for rows in (np.asfortranarray(X), padded[::2], locked, X.tolist()):
        found = fresh(model).fit(rows)
        np.testing.assert_array_equal(found.labels_, expected.labels_)
        np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)


@each_kind
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint16", "float16", "float32", ">f8"])
def test_number_types(model, dtype):
    """Whole numbers give the same labels in every type that holds them; centres are float64."""
    whole = np.rint(5 * np.abs(X))
    expected, found = fresh(model).fit(whole), fresh(model).fit(whole.astype(dtype))
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_allclose(found.cluster_centers_, expected.cluster_centers_, atol=1e-6)
    assert found.cluster_centers_.dtype == np.float64
    assert found.labels_.dtype == np.int32


@each_kind
def test_untouched(model):
    """Rows, weights and given centres are not changed, and the model does not share their memory."""
    rows, weights, centres = X.copy(), np.arange(1.0, len(X) + 1), CENTRES.copy()
    fitted = fresh(model, init=centres, n_init=1).fit(rows, sample_weight=weights)
    fitted.predict(rows)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(centres, CENTRES)
    np.testing.assert_array_equal(weights, np.arange(1.0, len(X) + 1))
    assert not np.shares_memory(fitted.cluster_centers_, centres)


def test_row_order():
    """The order of the rows does not matter where all are processed at once."""
    order = np.random.default_rng(0).permutation(len(X))
    expected, found = of_one_start(KINDS["IMC"]).fit(X), of_one_start(KINDS["IMC"]).fit(X[order])
    np.testing.assert_array_equal(found.labels_, expected.labels_[order])
    np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)


@each_kind
def test_column_order(model):
    """The order of the columns does not matter."""
    order = [3, 0, 4, 1, 2]
    expected = fresh(model, init=[CENTRES], n_init=1).fit(X)
    found = fresh(model, init=[CENTRES[:, order]], n_init=1).fit(X[:, order])
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_allclose(found.cluster_centers_, expected.cluster_centers_[:, order], atol=1e-9)


@each_kind
def test_centre_order(model):
    """Clusters are numbered as the given centres are."""
    order = np.array([2, 0, 1])
    expected = fresh(model, init=[CENTRES], n_init=1).fit(X)
    found = fresh(model, init=[CENTRES[order]], n_init=1).fit(X)
    np.testing.assert_array_equal(order[found.labels_], expected.labels_)


@each_kind
def test_units(model):
    """Rows and given centres in another unit give the same labels."""
    found = fresh(model, init=[1e-3 * CENTRES], n_init=1).fit(1e-3 * X)
    np.testing.assert_array_equal(found.labels_, of_one_start(model).fit(X).labels_)


@each_kind
def test_unit_weights(model):
    """Weights of 1 change nothing, to the bit."""
    with_ones = fresh(model).fit(X, sample_weight=np.ones(len(X)))
    without = fresh(model).fit(X)
    np.testing.assert_array_equal(with_ones.labels_, without.labels_)
    np.testing.assert_array_equal(with_ones.cluster_centers_, without.cluster_centers_)


def test_repeated_rows():
    """A row of weight w counts as w equal rows."""
    weights = np.random.default_rng(0).integers(1, 5, size=len(X))
    weighted = of_one_start(KINDS["IMC"]).fit(X, sample_weight=weights)
    repeated = of_one_start(KINDS["IMC"]).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_array_equal(np.repeat(weighted.labels_, weights), repeated.labels_)
    np.testing.assert_array_equal(weighted.cluster_centers_, repeated.cluster_centers_)
    assert weighted.inertia_ == pytest.approx(repeated.inertia_)


@each_kind
def test_scaled_weights(model):
    """A common factor of all weights changes nothing but the sums."""
    weights = np.random.default_rng(0).integers(1, 100, size=len(X)) / 64
    one, other = (of_one_start(model).fit(X, sample_weight=by * weights) for by in (1.0, 4.0))
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, rtol=1e-12)


@each_kind
def test_zero_weights(model):
    """Rows of weight 0 are labelled and have no effect."""
    weights = np.ones(len(X))
    weights[5::3] = 0
    expected, found = fresh(model).fit(X[weights > 0]), fresh(model).fit(X, sample_weight=weights)
    np.testing.assert_allclose(found.counts_[0].sum(), weights.sum())
    if isinstance(model, vp.IMC):
        np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
    assert same_groups(found.labels_, GROUP)


def test_more_starts():
    """More starts never end at a larger objective, and one of them is kept."""
    models = [fresh(KINDS["IMC"], n_clusters=7, init="k-means++", n_init=n).fit(X) for n in (1, 2, 5, 10)]
    objectives = [model.objective_ for model in models]
    assert objectives == sorted(objectives, reverse=True)
    assert all(len(model.objectives_) == n for model, n in zip(models, (1, 2, 5, 10), strict=True))


@each_form
def test_start_from_fitted_centres(form):
    """A start from the centres of a fitted model stays where it is."""
    fitted = fresh(KINDS["IMC"]).fit(form(X))
    again = fresh(KINDS["IMC"], init=[fitted.cluster_centers_]).fit(form(X))
    np.testing.assert_array_equal(again.labels_, fitted.labels_)
    np.testing.assert_allclose(again.cluster_centers_, fitted.cluster_centers_)


@pytest.mark.parametrize("seed", range(3))
def test_convergence(seed):
    """With tol=0 the updates end when no label changes, long before `max_iter`."""
    rows = np.random.default_rng(seed).standard_normal((500, 6))
    fitted = vp.IMC(5, n_init=1, tol=0, max_iter=300, random_state=seed).fit(rows)
    assert fitted.n_iter_ < 300
    more = vp.IMC(5, init=[fitted.cluster_centers_], tol=0, alpha=0.0).fit(rows)
    assert more.n_iter_ <= fitted.n_iter_


def test_max_iter():
    """`n_iter_` stays within `max_iter`, and more updates never score worse."""
    rows = np.random.default_rng(0).standard_normal((300, 6))
    scores = []
    for max_iter in (1, 3, 10, 50):
        fitted = vp.IMC(6, n_init=1, max_iter=max_iter, random_state=0).fit(rows)
        assert 1 <= fitted.n_iter_ <= max_iter
        scores.append(fitted.score(rows))
    assert scores == sorted(scores)


@each_kind
def test_transform(model):
    """`transform` gives squared distances of unit rows to the centres; the nearest one is the label."""
    fitted = fresh(model).fit(X)
    found = fitted.transform(X)
    expected = ((UNIT[:, None, :] - fitted.cluster_centers_[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_array_equal(found.argmin(axis=1), fitted.labels_)
    np.testing.assert_array_equal(fresh(model).fit_transform(X), found)
    assert fitted.get_feature_names_out().shape == (N_CLUSTERS,)


@each_kind
def test_inertia(model):
    """`inertia_` is the sum of squared distances to the centres of the clusters, weighted by row."""
    weights = np.random.default_rng(0).integers(1, 4, size=len(X))
    fitted = fresh(model, tol=0).fit(X, sample_weight=weights)
    squares = ((UNIT - fitted.cluster_centers_[fitted.labels_]) ** 2).sum(axis=1)
    assert fitted.inertia_ == pytest.approx((weights * squares).sum())


def test_one_cluster():
    """One cluster has the mean of the unit rows as its centre."""
    fitted = fresh(KINDS["IMC"], n_clusters=1).fit(X)
    np.testing.assert_allclose(fitted.cluster_centers_[0], UNIT.mean(axis=0), atol=1e-8)
    assert set(fitted.labels_) == {0}


def test_as_many_clusters_as_rows():
    """As many clusters as rows: each row is a cluster of its own, without a warning."""
    rows = np.random.default_rng(0).standard_normal((40, 5))
    fitted = vp.ViewPass(40, scale="unit", consensus="plain", random_state=0).fit(rows)
    assert sorted(fitted.labels_) == list(range(40))


@each_kind
def test_threads(model):
    """Any number of threads gives the same bits."""
    one, three = (fresh(model, n_threads=n).fit(X) for n in (1, 3))
    np.testing.assert_array_equal(one.labels_, three.labels_)
    np.testing.assert_array_equal(one.cluster_centers_, three.cluster_centers_)


@each_kind
def test_seeds(model):
    """The same seed gives the same model; a RandomState is accepted and advances."""
    one, same = (fresh(model, random_state=7).fit(X) for _ in range(2))
    np.testing.assert_array_equal(one.cluster_centers_, same.cluster_centers_)
    state = np.random.RandomState(7)
    fresh(model, random_state=state).fit(X)
    assert state.randint(2**30) != np.random.RandomState(7).randint(2**30)


@each_kind
def test_duplicates(model):
    """Fewer distinct rows than clusters give a ConvergenceWarning with the number found."""
    rows = np.repeat([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], 3, axis=0)
    with pytest.warns(ConvergenceWarning, match="only 3 of 4 clusters"):
        fitted = fresh(model, n_clusters=4).fit(rows)
    assert len(set(fitted.labels_)) == 3


@each_kind
def test_predict_changes_nothing(model):
    """`predict` and `transform` do not change the model."""
    fitted = fresh(model).fit(X)
    before = fitted.cluster_centers_.copy()
    fitted.predict(X[::-1])
    fitted.transform(1000 * X[:3])
    np.testing.assert_array_equal(fitted.cluster_centers_, before)


WRONG = {
    "n_clusters": ({"n_clusters": 0}, "n_clusters"),
    "too many clusters": ({"n_clusters": len(X) + 1}, "Give more rows or a smaller n_clusters"),
    "n_init": ({"n_init": 0}, "n_init"),
    "max_iter": ({"max_iter": 0}, "max_iter"),
    "tol": ({"tol": -1.0}, "tol"),
    "a start's name": ({"init": "wrong"}, "one of 'random'.* or an array"),
    "number of centres": ({"init": [CENTRES[:2]], "n_init": 1}, "3 finite centres"),
    "columns of centres": ({"init": [CENTRES[:, :4]], "n_init": 1}, r"shape \(3, 4\), \(3, 5\) was expected"),
    "infinite centres": ({"init": [CENTRES + np.inf], "n_init": 1}, "finite"),
}


@each_kind
@pytest.mark.parametrize(("settings", "message"), WRONG.values(), ids=WRONG)
def test_wrong_settings(model, settings, message):
    """Wrong settings are refused with a ValueError that names them."""
    settings = {name: value for name, value in settings.items() if name in model.get_params()}
    if not settings:
        return
    with pytest.raises(ValueError, match=message):
        fresh(model, **settings).fit(X)
