"""Counts of rows along the stream: the same however rows are cut, and bounded."""

from __future__ import annotations

import numpy as np
import pytest

from viewpass.sums.row_counts import BINS, MOST_PATTERNS, Census


def counted(labels, seen, cuts):
    census = Census.none(5)
    for first, last in zip([0, *cuts], [*cuts, len(labels)], strict=True):
        census = census.added(labels[first:last], first, seen[:, first:last])
    return census


@pytest.mark.parametrize("n_views", [3, 12])
@pytest.mark.parametrize("seed", range(5))
def test_cuts_make_no_difference(n_views, seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(1, 5000))
    labels = rng.integers(-1, 5, size=n_rows).astype(np.int32)
    seen = rng.random((n_views, n_rows)) < 0.7
    whole = counted(labels, seen, [])
    parts = counted(labels, seen, sorted(rng.integers(0, n_rows, size=20).tolist()))
    assert (parts.width, dict(parts.patterns), parts.n_other) == (
        whole.width,
        dict(whole.patterns),
        whole.n_other,
    )
    assert np.array_equal(parts.counts, whole.counts)
    assert whole.sizes.tolist() == np.bincount(labels[labels >= 0], minlength=5).tolist()
    assert len(whole.counts) <= BINS
    assert (len(whole.counts) - 1) * whole.width < n_rows <= len(whole.counts) * whole.width
    assert sum(whole.patterns.values()) + whole.n_other == n_rows
    assert len(whole.patterns) <= MOST_PATTERNS


def test_streams_read_at_the_same_time_are_added_bin_by_bin():
    one = Census.none(1).added(np.zeros(100, dtype=np.int32), 0)
    two = Census.none(1).added(np.zeros(500, dtype=np.int32), 0)
    both = one.joined(two)
    assert both.width == two.width == 8
    assert both.counts[:13].sum() == 204
    assert both.sizes.tolist() == two.joined(one).sizes.tolist() == [600]
