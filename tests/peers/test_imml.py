"""iMML's estimators: what their users expect of small tables with missing modalities.

What does not apply: an embedding of the rows, a choice of engine.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import viewpass as vp

ROWS = np.random.default_rng(42).random((8, 5))
ARRAYS = [ROWS[:, :2], ROWS[:, 2:4], ROWS[:, 4:]]
FRAMES = [pd.DataFrame(x) for x in ARRAYS]
FORMS = {"arrays": ARRAYS, "frames": FRAMES}
COMPARED = [vp.OMVC, vp.ONMF, vp.DAIMC]
KINDS = [vp.ViewPass, vp.OPIMC, vp.IMC, *COMPARED]
each = pytest.mark.parametrize("kind", KINDS)
each_form = pytest.mark.parametrize("views", FORMS.values(), ids=FORMS)


def with_missing(views):
    """A third of the entries missing, at least one left in each row."""
    observed = np.random.default_rng(1).random((8, 3)) < 0.67
    observed[~observed.any(axis=1), 0] = True
    if isinstance(views[0], pd.DataFrame):
        return [x.where(pd.Series(observed[:, v]), np.nan) for v, x in enumerate(views)]
    return [np.where(observed[:, [v]], x, np.nan) for v, x in enumerate(views)]


def check(labels, n_clusters):
    assert labels.shape == (8,)
    assert set(labels) == set(range(n_clusters))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in (vp.OPIMC, vp.IMC)])
@each_form
def test_defaults(kind, views):
    """With default settings, eight rows are eight clusters."""
    check(kind(random_state=42).fit_predict(views), 8)


@each
@each_form
def test_whole_rows(kind, views):
    """Every row is labelled, every cluster has rows, and distances are numbers."""
    model = kind(n_clusters=3, random_state=42)
    check(model.fit_predict(views), 3)
    if kind not in COMPARED:
        assert np.isfinite(model.transform(views)).all()
        assert model.transform(views).shape == (8, 3)
    assert kind is vp.ViewPass or model.n_iter_ > 0


@each
@each_form
def test_missing_modalities(kind, views):
    """Rows with missing modalities are labelled like the others."""
    views = with_missing(views)
    model = kind(n_clusters=3, random_state=42)
    check(model.fit_predict(views), 3)
    assert kind in COMPARED or np.isfinite(model.transform(views)).all()


@each
def test_frames_are_arrays(kind):
    """Frames give the labels of the arrays they hold, and the same seed gives the same labels."""
    found = [kind(n_clusters=3, random_state=42).fit_predict(views) for views in (ARRAYS, FRAMES, ARRAYS)]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@each
@pytest.mark.parametrize("n_clusters", ["invalid", 0, 2.5, True])
def test_wrong_number_of_clusters(kind, n_clusters):
    """A number of clusters that is none is refused with a ValueError."""
    with pytest.raises(ValueError, match="n_clusters"):
        kind(n_clusters=n_clusters).fit(ARRAYS)
