"""Centres as `init` are in the scale of the data, and scaled like rows."""

from __future__ import annotations

import numpy as np
import pytest

import viewpass as vp
from inputs import IMAGE, PLAIN, TEXT

SIZES = (40, 25, 35)
GROUP = np.repeat(np.arange(3), SIZES)
SPREAD = np.array([1000.0, 1.0, 0.01, 1.0, 50.0])


def far_from_unit_length(seed=0):
    """Three groups by direction, of lengths from 5 to 5,000, columns of different spread, far from 0."""
    rng = np.random.default_rng(seed)
    rows = 6 * np.eye(3, 5)[GROUP] + 0.5 * rng.standard_normal((len(GROUP), 5))
    return rows * rng.uniform(1, 100, len(GROUP))[:, None], rows * SPREAD + 20 * SPREAD


def means(x):
    return np.stack([x[k == GROUP].mean(axis=0) for k in range(3)])


@pytest.mark.parametrize("kind", [vp.OPIMC, vp.IMC])
@pytest.mark.parametrize("scale", ["unit", "standard", "idf"])
def test_the_means_of_the_groups_find_the_groups(kind, scale):
    plain, shifted = far_from_unit_length()
    views = [plain, shifted if scale == "standard" else plain]
    model = kind(3, init=[means(x) for x in views], scale=scale).fit(views)
    np.testing.assert_array_equal(model.labels_, GROUP)
    by_name = kind(3, init={"b": means(views[1]), "a": means(views[0])}, scale=scale)
    by_name.fit({"a": views[0], "b": views[1]})
    np.testing.assert_array_equal(by_name.labels_, GROUP)


@pytest.mark.parametrize("kind", [vp.OPIMC, vp.IMC])
def test_the_length_of_a_centre_does_not_matter_at_unit_length(kind):
    lengths = np.array([[1e-200], [1.0], [1e200]])
    one, other = (
        kind(3, init=[IMAGE[:3] * by, TEXT[:3] * by], scale="unit").fit([IMAGE, TEXT])
        for by in (1.0, lengths)
    )
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_allclose(one.cluster_centers_[0], other.cluster_centers_[0], rtol=1e-12)


@pytest.mark.parametrize("kind", [vp.OPIMC, vp.IMC])
def test_centres_of_a_single_array_may_be_an_array_or_nested_lists(kind):
    rows, _ = far_from_unit_length()
    for init in (means(rows), means(rows).tolist(), [means(rows)]):
        np.testing.assert_array_equal(kind(3, init=init).fit(rows).labels_, GROUP)
    square = rows[:, :3]  # as many columns as clusters: only a first chunk of 3 rows could have memberships
    np.testing.assert_array_equal(kind(3, init=means(square)).fit(square).labels_, GROUP)
    with pytest.raises(vp.SettingError, match=r"could be the centres .* or the memberships"):
        kind(3, init=np.eye(3)).fit(square[[0, 50, 99]])


@pytest.mark.parametrize("kind", [vp.OPIMC, vp.IMC])
def test_a_fitted_models_centres_start_the_same_clusters(kind):
    views = [IMAGE, TEXT]
    model = vp.ViewPass(3, **PLAIN, random_state=0).fit(views)
    again = kind(3, init=model.cluster_centers_, scale="unit").fit(views)
    np.testing.assert_array_equal(again.labels_, model.labels_)


def test_a_centre_of_zeros_stays_at_the_origin():
    rows, _ = far_from_unit_length()
    centres = means(rows)
    centres[2] = 0
    model = vp.OPIMC(3, init=[centres], scale="unit").partial_fit([rows[:1]])
    np.testing.assert_array_equal(model.cluster_centers_[0][2], np.zeros(5))


@pytest.mark.parametrize("kind", [vp.OPIMC, vp.IMC])
def test_centres_that_do_not_fit_are_refused(kind):
    for init, message in (
        ([np.full((3, 4), np.nan), TEXT[:3]], "view 'view0': 3 finite centres"),
        ([IMAGE[:2], TEXT[:3]], "view 'view0': 3 finite centres"),
        ([IMAGE[:3], IMAGE[:3]], r"view 'view1': centres of shape \(3, 4\), \(3, 5\) was expected"),
        ([IMAGE[:3]], "1 entries, the data has 2 views"),
    ):
        with pytest.raises(vp.SettingError, match=message):
            kind(3, init=init, scale="unit").fit([IMAGE, TEXT])
