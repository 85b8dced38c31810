"""The portable logarithm against the library's, and inner products in a fixed order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewpass.kernels.backend import backend, native
from viewpass.kernels.portable import log
from viewpass.kernels.reference import products as reference_products

POSITIVE = st.floats(min_value=5e-324, max_value=1.7e308)


@given(POSITIVE)
def test_the_logarithm_is_good_to_the_last_place(x):
    expected = math.log(x)
    assert abs(float(log(x)) - expected) <= 1.5 * math.ulp(expected)


def test_whole_numbers():
    assert log(1.0) == 0.0
    np.testing.assert_allclose(log(np.arange(1, 5000)), np.log(np.arange(1, 5000)), rtol=4e-16)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**20), st.integers(1, 20), st.integers(1, 20), st.integers(0, 200))
def test_products_are_those_of_the_specification(seed, n_rows, n_others, width):
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((n_rows, width)), rng.standard_normal((n_others, width))
    products = backend().products
    found = products(a, b)
    assert found.tobytes() == reference_products(a, b).tobytes()
    np.testing.assert_allclose(found, a @ b.T, atol=1e-12)
    own = products(a, a)
    assert own.tobytes() == reference_products(a, a).tobytes() == own.T.tobytes()


@pytest.mark.skipif(native is None, reason="the module is not compiled")
def test_rows_of_other_widths_are_refused():
    with pytest.raises(ValueError, match="same width"):
        native.products(np.ones((2, 3)), np.ones((2, 4)))
