"""Non-negative least squares: SciPy's answer, for any start, any number of threads, odd matrices too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls as one_by_one

from viewpass.baselines.factors import nnls
from viewpass.kernels import reference as specified
from viewpass.kernels.backend import backend


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 40))
def test_equals_scipy_row_by_row(seed, size, width):
    rng = np.random.default_rng(seed)
    basis = rng.standard_normal((width + size, size))
    rows = rng.standard_normal((7, width + size))
    wanted = np.array([one_by_one(basis, row)[0] for row in rows])
    given_start = rng.random((7, size)) * (rng.random((7, size)) < 0.5)
    for start in (None, given_start):
        found = nnls(basis.T @ basis, rows @ basis, start)
        np.testing.assert_allclose(found, wanted, atol=1e-7 * (1 + np.abs(wanted).max()))
        assert (found >= 0).all()


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_a_singular_gram_still_gives_a_minimum(rank):
    rng = np.random.default_rng(rank)
    basis = rng.random((20, rank)) @ rng.random((rank, 6))
    rows = rng.random((50, 20))
    found = nnls(basis.T @ basis, rows @ basis)
    assert np.isfinite(found).all()
    reached = np.square(rows - found @ basis.T).sum(axis=1)
    best = np.array([one_by_one(basis, row)[1] ** 2 for row in rows])
    np.testing.assert_allclose(reached, best, rtol=1e-5)


def test_threads_and_the_rest_of_the_batch_change_nothing():
    rng = np.random.default_rng(0)
    basis, rows = rng.random((30, 8)), rng.standard_normal((1500, 30))
    gram, products = basis.T @ basis, rows @ basis
    whole = nnls(gram, products)
    np.testing.assert_array_equal(nnls(gram, products, n_threads=2), whole)
    np.testing.assert_array_equal(nnls(gram, products[700:703]), whole[700:703])
    assert nnls(gram, products[:0]).shape == (0, 8)


@pytest.mark.filterwarnings("ignore:.*encountered")
@pytest.mark.parametrize("reference", [False, True], ids=["compiled", "reference"])
def test_it_ends_whatever_the_values(reference):
    """The first of these once took steps for ever, in compiled code, where Ctrl-C does nothing."""
    gram, products = np.array([[1e-60, 1e-60], [2.0, 1e90]]), np.array([[1e308, 1e200]])
    module = specified if reference else backend()
    module.nnls(gram, products, np.array([[0.0, 1e-90]]), 1)
    rng = np.random.default_rng(0)
    wild = [0, 1, -1, 1e90, -1e90, 1e-90, 1e200, -1e200, 1e308, 1e-300, np.inf, np.nan]
    for _ in range(300):
        gram, products, start = (rng.choice(wild, (3, 3)) for _ in range(3))
        module.nnls(gram, products, np.abs(start), 1)
