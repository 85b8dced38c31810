"""k-means of a few points, and labels by a graph."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from viewpass.graph.soft_assignment import SoftAssignment
from viewpass.kernels import reference
from viewpass.kernels.backend import native
from viewpass.kernels.grid import UNIT
from viewpass.kernels.portable import directions, farness

compiled = pytest.mark.skipif(native is None, reason="the module is not compiled")
ENGINES = [reference] if native is None else [native, reference]


@compiled
@settings(max_examples=75, deadline=None)
@given(st.integers(0, 2**20), st.integers(1, 80), st.integers(1, 20), st.booleans())
def test_centres_are_the_means_of_the_points_nearest_to_them(seed, n_places, n_clusters, whole):
    """Many points are equal, or have no weight."""
    rng = np.random.default_rng(seed)
    places = rng.standard_normal((n_places, 3))
    places = np.round(places) if whole else places
    weights = rng.random(n_places) * (rng.random(n_places) < 0.7)
    weights[0] = 1.0
    labels, centres = native.small_kmeans(places, weights, n_clusters, 3, seed)
    far = ((places[:, None] - centres) ** 2).sum(axis=2)
    np.testing.assert_allclose(far[np.arange(n_places), labels], far.min(axis=1), atol=1e-12)
    for k in np.unique(labels[weights > 0]):
        mean = np.average(places[labels == k], weights=weights[labels == k], axis=0)
        np.testing.assert_allclose(centres[k], mean, atol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("n_clusters", [1, 3, 12])
def test_it_is_as_good_as_scikit_learns(engine, n_clusters):
    rng = np.random.default_rng(n_clusters)
    places = directions(
        rng.standard_normal((n_clusters, 8))[rng.integers(n_clusters, size=200)]
        + 0.3 * rng.standard_normal((200, 8))
    )
    weights = rng.random(200)
    labels, centres = engine.small_kmeans(places, weights, n_clusters, 20, 0)
    inertia = (weights * ((places - centres[labels]) ** 2).sum(axis=1)).sum()
    peer = KMeans(n_clusters, n_init=20, random_state=0).fit(places, sample_weight=weights)
    assert inertia <= 1.005 * peer.inertia_
    np.testing.assert_array_equal(labels, ((places[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1))


@pytest.mark.parametrize("engine", ENGINES)
def test_fewer_places_than_clusters(engine):
    places = np.repeat(np.eye(3), 4, axis=0)
    labels, centres = engine.small_kmeans(places, np.ones(12), 5, 3, 0)
    np.testing.assert_array_equal(centres[labels], places)


@compiled
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**20), st.integers(1, 40), st.integers(1, 9), st.integers(1, 20))
def test_labels_of_rows(seed, n_anchors, width, n_clusters):
    rng = np.random.default_rng(seed)
    rows = SoftAssignment(
        rng.integers(n_anchors, size=(50, 4)).astype(np.int32), rng.integers(0, UNIT + 1, size=(50, 4))
    )
    rows.weights[::7] = 0
    places, centres = rng.standard_normal((n_anchors, width)), rng.standard_normal((n_clusters, width))
    far = farness(directions(rows.of(places)), centres)
    np.testing.assert_array_equal(
        native.graph_labels(rows.near, rows.weights, places, centres), far.argmin(axis=1)
    )


@compiled
def test_what_cannot_be_answered_is_refused():
    near, weights = np.zeros((2, 1), dtype=np.int32), np.ones((2, 1), dtype=np.int64)
    places, centres = np.ones((3, 2)), np.ones((2, 2))
    for wrong in (
        (near + 3, weights, places, centres),
        (near - 1, weights, places, centres),
        (near, weights[:1], places, centres),
        (near, weights, places, centres[:, :1]),
    ):
        with pytest.raises(ValueError, match=r"near|same width"):
            native.graph_labels(*wrong)
