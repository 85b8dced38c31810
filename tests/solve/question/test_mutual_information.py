"""Adjusted mutual information: scikit-learn's, to ten digits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_mutual_info_score

from viewpass.solve.question.comparison import adjusted_mutual_information


@settings(max_examples=75, deadline=None)
@given(
    st.integers(0, 2**20), st.integers(1, 400), st.integers(1, 40), st.integers(1, 40), st.floats(0.0, 1.0)
)
def test_it_is_scikit_learns(seed, n_rows, n_first, n_second, equal):
    rng = np.random.default_rng(seed)
    first = rng.integers(n_first, size=n_rows)
    second = np.where(rng.random(n_rows) < equal, first, rng.integers(n_second, size=n_rows))
    found = adjusted_mutual_information(first, second)
    if len(set(first)) == len(set(second)) == len(set(zip(first, second, strict=True))):
        assert found == 1.0  # the same clusters: the peer's rounding may say anything where all are single
        return
    if len(set(second)) == n_rows or len(set(first)) == n_rows:  # 0 / 0 but for rounding
        return
    assert found == pytest.approx(adjusted_mutual_info_score(first, second), abs=1e-10)
    assert adjusted_mutual_information(second, first) == pytest.approx(found, abs=1e-12)


def test_names_do_not_matter():
    rng = np.random.default_rng(0)
    first, second = rng.integers(5, size=300), rng.integers(7, size=300)
    found = adjusted_mutual_information(first, second)
    assert abs(found) < 0.05
    assert adjusted_mutual_information(first * 10 - 3, second) == found


def test_many_rows_and_clusters():
    rng = np.random.default_rng(1)
    for n_clusters in (2, 100):
        first = rng.integers(n_clusters, size=2000)
        second = np.where(rng.random(2000) < 0.5, first, rng.integers(n_clusters, size=2000))
        expected = adjusted_mutual_info_score(first, second)
        assert adjusted_mutual_information(first, second) == pytest.approx(expected, abs=1e-10)


def test_nothing_and_one_cluster():
    nothing = np.zeros(0, dtype=np.int64)
    assert adjusted_mutual_information(nothing, nothing) == 1.0
    one = np.zeros(9, dtype=np.int64)
    assert adjusted_mutual_information(one, one) == 1.0
    assert adjusted_mutual_information(one, np.arange(9) % 2) == pytest.approx(0.0, abs=1e-12)
