"""The number of clusters is read off a curve: its peak, its knee, or a warning that there is neither."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import viewpass as vp
from viewpass.errors import DataWarning
from viewpass.model.choice import Curve
from zipped import zipped


def curve(values, error=0.01):
    values = np.asarray(values, dtype=float)
    return Curve(np.arange(2, 2 + len(values)), values, np.full(len(values), error))


@pytest.mark.parametrize("n_clusters", [2, 5, 12])
def test_the_smallest_within_the_error_of_the_peak(n_clusters):
    numbers = np.arange(2, 21)
    rising = np.minimum(numbers, n_clusters) / 10 - 0.02 * np.maximum(numbers - n_clusters, 0)
    found = curve(rising).estimate()
    assert (found.n_clusters, found.clear) == (n_clusters, True)
    if n_clusters > 2:
        wide = curve(rising, error=0.15).estimate()
        assert wide.n_clusters < n_clusters  # the same curve, less certain: fewer clusters


@pytest.mark.parametrize("n_clusters", [6, 10])
def test_the_knee_of_a_curve_that_keeps_rising(n_clusters):
    numbers = np.arange(2, 21)
    values = np.minimum(numbers, n_clusters) * 0.1 + np.maximum(numbers - n_clusters, 0) * 0.02
    found = curve(values).estimate()
    assert (found.n_clusters, found.clear) == (n_clusters, True)
    assert "more slowly" in found.reason


def test_a_straight_or_flat_curve_determines_nothing():
    assert not curve(np.linspace(0, 1, 19)).estimate().clear
    flat = curve(np.zeros(19)).estimate()
    assert (flat.n_clusters, flat.clear, flat.reason) == (2, False, "2 to 20 clusters score alike")


def test_a_short_curve_has_a_number():
    for n_numbers in (1, 2, 3):
        assert curve(np.arange(n_numbers)).n_clusters in range(2, 2 + n_numbers)


def planted(n_clusters, n_rows=1500):
    rng = np.random.default_rng(n_clusters)
    group = rng.integers(n_clusters, size=n_rows)
    views = [6 * np.eye(n_clusters, width)[group] for width in (12, 9)]
    return [x + rng.standard_normal(x.shape) for x in views], rng.random((n_rows, 2)) > 0.3


@pytest.mark.parametrize(("consensus", "n_clusters"), zipped(["graph", "plain", "auto"], [3, 8]))
def test_planted_clusters_are_counted(consensus, n_clusters):
    views, observed = planted(n_clusters)
    model = vp.ViewPass("auto", consensus=consensus, random_state=0)
    model.fit(views, observed=observed)
    assert len(model.cluster_centers_[0]) == n_clusters
    assert model.cluster_curve_.n_clusters == n_clusters
    assert [each.chosen for each in model.choices_ if each.what == "n_clusters"] == [str(n_clusters)]
    assert len(set(model.predict(views).tolist())) == n_clusters


def test_noise_has_no_number_of_clusters_and_that_is_said():
    rng = np.random.default_rng(0)
    with pytest.warns(DataWarning, match="do not determine the number of clusters"):
        vp.ViewPass("auto", random_state=0).fit([rng.standard_normal((90, width)) for width in (4, 5)])
    with pytest.warns(DataWarning, match="give the number"):
        vp.ViewPass("auto", random_state=0).fit([rng.standard_normal((9, 3)), rng.standard_normal((9, 2))])


def test_the_number_does_not_depend_on_the_seed():
    views, observed = planted(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = {
            len(vp.ViewPass("auto", random_state=seed).fit(views, observed=observed).cluster_centers_[0])
            for seed in range(2)
        }
    assert found == {5}
