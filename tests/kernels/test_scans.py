"""Scans of distances and products with a soft V: the same as NumPy's and SciPy's, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from numba import njit

from viewpass.kernels import means, reference
from viewpass.kernels.chunk.eights import LANES
from viewpass.kernels.chunk.scanning import least_two_of_eights, lower_eights
from viewpass.kernels.sparse_view import SparseView


@njit
def _least_two(distances, number, out):
    least_two_of_eights(distances, number, out)


@njit
def _lower(distances, falls, number):
    return lower_eights(distances, falls, number)


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


@pytest.mark.parametrize("n_clusters", [8, 13, 31, 104])
def test_scans_find_the_least(n_clusters):
    rng = np.random.default_rng(n_clusters)
    whole = n_clusters // LANES * LANES
    for _ in range(50):
        distance = rng.integers(-6, 7, n_clusters) / 2.0  # with equals
        out = np.empty(3)
        _least_two(_address(distance), n_clusters, _address(out))
        two = np.sort(distance[:whole])[:2]
        assert out.tolist() == [*two.tolist(), distance[:whole].argmin()]
        falls = rng.standard_normal(n_clusters)
        expected = distance + falls
        assert _lower(_address(distance), _address(falls), n_clusters) == expected[:whole].min()
        np.testing.assert_array_equal(distance[:whole], expected[:whole])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_weighed_by_memberships(dtype):
    rng = np.random.default_rng(0)
    x = scipy.sparse.random_array((60, 300), density=0.1, rng=rng, format="csr", dtype=dtype)
    view, rows = SparseView(x), np.arange(1, 60, 2)
    inverse = 1.0 / np.sqrt(np.square(x.toarray().astype(np.float64)).sum(axis=1))
    memberships = rng.random((len(rows), 5))
    expected = view.unit_rows(rows, inverse).T @ memberships
    np.testing.assert_array_equal(view.weighed_sums(rows, inverse, memberships), expected)


@pytest.mark.parametrize("width", [1, 63, 64, 200])
def test_norms_and_traces_of_centres(width):
    rng = np.random.default_rng(width)
    centres, steps = rng.standard_normal((7, width)), rng.integers(-(2**40), 2**40, (7, width))
    np.testing.assert_array_equal(means.squared_norms(centres), reference.squared_norms(centres))
    terms = means.centre_terms(centres, steps, np.arange(7))
    np.testing.assert_array_equal(terms, reference.centre_terms(centres, steps))
