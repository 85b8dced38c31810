"""Soft assignment follows the exact distances; the anchor graph is an exact sum, in any order and chunks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import cases, computing, workspace
from graphs import mixture
from viewpass.graph.soft_assignment import links_of, soft_assignment
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import UNIT
from viewpass.sums.centres import Centres
from viewpass.views.rows import MeasuredRows


def plain_links(rows, n_anchors):
    z = np.zeros((len(rows.near), n_anchors), dtype=np.int64)
    np.put_along_axis(z, rows.near.astype(np.int64), rows.weights, axis=1)
    return z.T @ z


def anchors_of(case, n_anchors):
    """Some of them twice: ties."""
    which = case.rng.integers(max(1, n_anchors - 2), size=n_anchors)
    return Centres.of([case.rng.standard_normal((n_anchors, x.shape[1]))[which] for x in case.views])


@settings(max_examples=50, deadline=None)
@given(cases(), st.integers(1, 60), st.booleans(), st.integers(1, 3))
def test_rows_are_mixed_by_their_distances(case, n_anchors, sparse, n_threads):
    rows, anchors = case.measured(sparse=sparse), anchors_of(case, n_anchors)
    found = soft_assignment(rows, anchors, workspace(n_threads))
    with computing():
        same = soft_assignment(case.measured(), Centres.of(anchors.values), workspace())
    for mine, theirs in zip(found, same, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(links_of(found, n_anchors).toarray(), plain_links(found, n_anchors))
    exact = backend().all_distances(rows.handle, anchors.suited(rows), True, 1)
    written, seen = mixture(exact, rows.n_seen), rows.n_seen > 0
    np.testing.assert_array_equal(found.near[seen], written.near[seen])
    np.testing.assert_array_equal(found.weights, written.weights)


@settings(max_examples=50, deadline=None)
@given(cases(), st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_links_are_an_exact_sum_over_rows(case, n_anchors, seed):
    rng, anchors = np.random.default_rng(seed), anchors_of(case, n_anchors)
    rows = case.measured()
    mixed = soft_assignment(rows, anchors, workspace())
    whole = links_of(mixed, n_anchors).toarray()
    np.testing.assert_array_equal(whole, whole.T)
    some = [*np.array_split(rng.permutation(case.n_rows), rng.integers(1, case.n_rows + 1))]
    parts = [MeasuredRows(rows.chunk.take(part)) for part in some]
    soft = (soft_assignment(part, anchors, workspace()) for part in parts)
    added = sum(links_of(of_part, n_anchors).toarray() for of_part in soft)
    np.testing.assert_array_equal(added, whole)


@settings(max_examples=50, deadline=None)
@given(cases(), st.integers(2, 60))
def test_the_weights_of_a_row_are_a_whole(case, n_anchors):
    rows = case.measured()
    mixed = soft_assignment(rows, anchors_of(case, n_anchors), workspace())
    seen, sums = rows.n_seen > 0, mixed.weights.sum(axis=1)
    assert (abs(sums[seen] - UNIT) <= mixed.weights.shape[1] / 2).all()
    assert not sums[~seen].any()
    assert (mixed.weights[seen, 0] > 0).all()  # 0 marks rows without a view
    assert (np.diff(mixed.weights, axis=1) <= 0).all()
    assert (mixed.weights >= 0).all()


@pytest.mark.parametrize("n_anchors", [1, 2, 3])
def test_few_anchors(n_anchors):
    rows = mixture(np.ones((5, n_anchors)), np.array([1, 1, 0, 2, 1]))
    assert rows.near.shape == (5, max(1, n_anchors - 1))
    assert links_of(rows, n_anchors).sum() > 0
    np.testing.assert_allclose(rows.of(np.ones((n_anchors, 2)))[[0, 1, 3, 4]], 1.0, atol=1e-4)
