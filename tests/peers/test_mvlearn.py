"""mvlearn's MultiviewKMeans: what its users expect of several views.

What does not apply: fewer rows than clusters with a warning (they are refused); rows of zeros as a
cluster (at unit length they are missing views); `patience`; refusing centres for two views where there
are two.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import viewpass as vp
from peers.data import CENTRES, GROUP, X, same_groups

VIEWS = [X, X[:, ::-1] + 0.1]
each_kind = pytest.mark.parametrize("kind", [vp.OPIMC, vp.IMC])
RNG = np.random.default_rng(0)


@each_kind
def test_shapes(kind):
    """There is one array of centres per view, and every new row gets the number of a cluster."""
    model = kind(2, random_state=0).fit([RNG.random((60, 20)), RNG.random((60, 18))])
    assert [u.shape for u in model.cluster_centers_] == [(2, 20), (2, 18)]
    labels = model.predict([RNG.random((5, 20)), RNG.random((5, 18))])
    assert labels.shape == (5,)
    assert set(labels) <= {0, 1}


GIVEN = {"init": [CENTRES, CENTRES[:, ::-1] + 0.1]}
STARTS = [
    (vp.ViewPass, {}),
    (vp.OPIMC, GIVEN),
    (vp.IMC, GIVEN),
    (vp.IMC, {"init": "k-means++"}),
    (vp.IMC, {}),
]


@pytest.mark.parametrize(("kind", "start"), STARTS)
def test_groups(kind, start):
    """Groups that all views show are found from every kind of start."""
    assert same_groups(kind(3, random_state=0, **start).fit_predict(VIEWS), GROUP)


@pytest.mark.filterwarnings("ignore:only .* clusters have rows")
@each_kind
def test_few_rows(kind):
    """As few rows as clusters are enough."""
    few = [x[[0, 5]] for x in VIEWS]
    assert set(kind(2, random_state=0).fit(few).predict(VIEWS)) <= {0, 1}


@each_kind
def test_not_fitted(kind):
    """A model that was not fitted says so."""
    with pytest.raises(NotFittedError):
        kind(2).predict(VIEWS)


WRONG_VIEWS = {
    "lengths": [X, X[:-1]],
    "three dimensions": [np.zeros((5, 8, 7)), np.zeros((5, 9, 7))],
    "numbers": [1, 3],
    "nothing": [],
    "text": [X, np.full(X.shape, "a")],
}


@each_kind
@pytest.mark.parametrize("views", WRONG_VIEWS.values(), ids=WRONG_VIEWS)
def test_wrong_views(kind, views):
    """Views of other lengths, dimensions or types are refused with a ValueError."""
    with pytest.raises(ValueError, match=r"."):
        kind(2).fit(views)


WRONG_CENTRES = {
    "numbers of clusters": [CENTRES[:2], CENTRES],
    "columns": [CENTRES[:, :4], CENTRES],
    "one view": [CENTRES],
    "three views": [CENTRES] * 3,
    "numbers": [1, 3],
    "one dimension": [CENTRES[0], CENTRES[0]],
    "three dimensions": [CENTRES[:, :, None]] * 2,
}


@each_kind
@pytest.mark.parametrize("init", WRONG_CENTRES.values(), ids=WRONG_CENTRES)
def test_wrong_centres(kind, init):
    """Centres that do not fit the views are refused with a ValueError."""
    with pytest.raises(ValueError, match="init"):
        kind(3, init=init).fit(VIEWS)


@each_kind
@pytest.mark.parametrize(
    "settings", [{"n_clusters": -1}, {"random_state": "ab"}, {"max_iter": -1}, {"tol": -0.1}]
)
def test_wrong_settings(kind, settings):
    """Settings out of range, and seeds that are none, are refused with a ValueError."""
    with pytest.raises(ValueError, match=next(iter(settings))):
        kind(**settings).fit(VIEWS)
