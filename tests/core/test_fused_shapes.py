"""The compiled phases on shapes at the edge: they equal the step view by view and the plain reference."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from cases import workspace
from viewpass.core.model import Plan
from viewpass.core.step import Rules
from viewpass.core.stream import Stream
from viewpass.kernels.bounds import MOST_VIEWS
from viewpass.kernels.chunk.desk import BUILT, FALL, RISE, new_room
from viewpass.views import rows
from viewpass.views.chunk import Chunk


def made(n_rows, widths, *, n_groups=5, present=0.6, seed=0, dtype=np.float32):
    """Views of noisy groups and which rows have them."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(n_groups, size=n_rows)
    views = [
        (rng.standard_normal((n_groups, width))[groups] + rng.standard_normal((n_rows, width))).astype(dtype)
        for width in widths
    ]
    return views, rng.random((n_rows, len(widths))) < present


def streamed(views, observed, n_clusters, *, chunk_size, n_threads=1, reference=False):
    plan = Plan(n_clusters, Rules(1e-2, 20, 0.0, "mean"), "random", reference=reference)
    stream = Stream(plan, np.random.default_rng(0), workspace(n_threads))
    labels = np.full(len(observed), -1, dtype=np.int32)
    for again in (False, True):
        for start in range(0, len(observed), chunk_size):
            part = slice(start, start + chunk_size)
            chunk = Chunk.of([x[part] for x in views], observed=observed[part], start=start)
            decided = stream.refeed(chunk, labels[part]) if again else stream.feed(chunk)
            labels[part] = decided.labels
    return [labels, stream.model.loss_curve, stream.model.total.flat, *stream.model.centres.values]


def assert_all_ways_agree(views, observed, n_clusters, monkeypatch, *, chunk_size=100):
    # Sparse rows are filtered by other products: they must come to the same labels all the same.
    stored = [views, [scipy.sparse.csr_array(x) for x in views]]
    kinds = [
        streamed(one, observed, n_clusters, chunk_size=chunk_size, n_threads=n_threads)
        for one in stored
        for n_threads in (1, 3)
    ]
    expected = streamed(views, observed, n_clusters, chunk_size=chunk_size, reference=True)
    monkeypatch.setattr(rows, "_numbers", lambda matrices: None)
    kinds.append(streamed(views, observed, n_clusters, chunk_size=chunk_size, n_threads=2))
    for found in kinds:
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("n_views", [8, 9, 31, 32, 62, 63, 64, 70])
def test_any_number_of_views(n_views, monkeypatch):
    views, observed = made(200, [1 + v % 3 for v in range(n_views)], present=0.7)
    assert_all_ways_agree(views, observed, 7, monkeypatch)


def test_room_for_the_bounds_of_as_many_patterns_as_are_tabulated():
    for n_views in (1, MOST_VIEWS, MOST_VIEWS + 1, 64, 1000):
        room = new_room(n_views, 3, n_views, 10, 4)
        n_patterns = 2**n_views if n_views <= MOST_VIEWS else 1
        assert len(room.held(BUILT)) == n_patterns
        assert len(room.held(RISE)) == len(room.held(FALL)) == 3 * n_patterns


@pytest.mark.parametrize(
    ("n_rows", "widths", "n_clusters"),
    [
        (1, (1,), 1),
        (1, (3, 1), 2),  # one row, more clusters
        (5, (4, 2), 9),  # fewer rows than clusters
        (150, (1, 1), 3),  # a unit row of one value is 1 or -1
        (150, (257, 1), 16),  # a column past a block of columns
        (150, (5, 64), 17),  # a cluster past a vector of them
        (150, (65,), 8),  # a column past the lanes of a norm
        (60, (6, 3), 1000),  # far more clusters than rows
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_narrow_and_crowded_shapes(n_rows, widths, n_clusters, dtype, monkeypatch):
    views, observed = made(n_rows, widths, dtype=dtype)
    observed[0] = True
    assert_all_ways_agree(views, observed, n_clusters, monkeypatch)


def test_chunks_without_any_row_and_a_view_nobody_has(monkeypatch):
    views, observed = made(240, (6, 3, 9))
    observed[80:160] = False
    observed[:, 2] = False
    assert_all_ways_agree(views, observed, 4, monkeypatch, chunk_size=80)
