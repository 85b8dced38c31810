"""Links: the kernels equal plain NumPy, and G is an exact sum over rows, in any order and any chunks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewpass.core import assign
from viewpass.core.workspace import Workspace, assign_and_add
from viewpass.core.centres import Centres
from viewpass.core.links import NEIGHBOURS, first_mixture, links_of, mixture
from viewpass.kernels.links import UNIT
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows


def plain_mixture(distance, n_seen, n_near):
    """w_j = (d_{r+1} - d_j) / (r d_{r+1} - d_1 - ... - d_r), row after row."""
    near = np.argsort(distance, axis=1, kind="stable")[:, : n_near + 1]
    sorted_ = np.take_along_axis(distance, near, axis=1)
    gaps = sorted_[:, -1:] - sorted_[:, :-1]
    whole = np.zeros((len(distance), 1))
    for j in range(n_near):
        whole[:, 0] += gaps[:, j]
    shares = np.divide(gaps, whole, out=np.full_like(gaps, 1 / n_near), where=whole > 0)
    weights = np.where(n_seen[:, None] > 0, np.rint(shares * UNIT), 0).astype(np.int64)
    return near[:, :-1], weights


def plain_links(rows, n_anchors):
    z = np.zeros((len(rows.near), n_anchors), dtype=np.int64)
    np.put_along_axis(z, rows.near.astype(np.int64), rows.weights, axis=1)
    return z.T @ z


@st.composite
def looks(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n_anchors = draw(st.integers(1, 40)), draw(st.integers(2, 60))
    if draw(st.booleans()):  # many ties
        distance = rng.integers(0, 4, size=(n_rows, n_anchors)).astype(np.float64)
    else:
        distance = rng.random((n_rows, n_anchors))
    return distance, rng.integers(0, 3, size=n_rows)


@settings(max_examples=100, deadline=None)
@given(looks())
def test_the_kernels_equal_plain_numpy(look):
    distance, n_seen = look
    n_anchors = distance.shape[1]
    rows = mixture(distance, n_seen)
    near, weights = plain_mixture(distance, n_seen, min(NEIGHBOURS, n_anchors - 1))
    np.testing.assert_array_equal(rows.near, near)
    np.testing.assert_array_equal(rows.weights, weights)
    np.testing.assert_array_equal(links_of(rows, n_anchors), plain_links(rows, n_anchors))


@settings(max_examples=100, deadline=None)
@given(looks(), st.integers(0, 2**32 - 1))
def test_links_are_an_exact_sum_over_rows(look, seed):
    distance, n_seen = look
    rng = np.random.default_rng(seed)
    n_rows, n_anchors = distance.shape
    whole = links_of(mixture(distance, n_seen), n_anchors)
    np.testing.assert_array_equal(whole, whole.T)
    parts = np.array_split(rng.permutation(n_rows), rng.integers(1, n_rows + 1))
    added = sum(links_of(mixture(distance[part], n_seen[part]), n_anchors) for part in parts)
    np.testing.assert_array_equal(added, whole)
    seen = n_seen > 0
    np.testing.assert_array_equal(links_of(mixture(distance[seen], n_seen[seen]), n_anchors), whole)


@settings(max_examples=100, deadline=None)
@given(looks())
def test_the_weights_of_a_row_are_a_whole(look):
    distance, n_seen = look
    rows = mixture(distance, n_seen)
    sums = rows.weights.sum(axis=1)
    assert (abs(sums[n_seen > 0] - UNIT) <= rows.weights.shape[1] / 2).all()
    assert not sums[n_seen == 0].any()
    assert (rows.weights[n_seen > 0, 0] > 0).all()  # how rows without a view are told
    assert (np.diff(rows.weights, axis=1) <= 0).all()
    assert (rows.weights >= 0).all()


def test_what_all_distances_have_in_common_does_not_matter():
    rng = np.random.default_rng(0)
    distance = rng.integers(0, 1000, size=(50, 9)) / 64.0  # exact
    seen = np.ones(50, dtype=np.int64)
    one, other = mixture(distance, seen), mixture(distance * 4 + 32, seen)
    np.testing.assert_array_equal(one.near, other.near)
    np.testing.assert_array_equal(one.weights, other.weights)


@pytest.mark.parametrize("n_anchors", [1, 2, 3])
def test_few_anchors(n_anchors):
    rows = mixture(np.ones((5, n_anchors)), np.array([1, 1, 0, 2, 1]))
    assert rows.near.shape == (5, max(1, n_anchors - 1))
    assert links_of(rows, n_anchors).sum() > 0
    np.testing.assert_allclose(rows.of(np.ones((n_anchors, 2)))[[0, 1, 3, 4]], 1.0, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_anchors", [1, 3, 40])
def test_a_first_look_mixes_as_its_distances_do_whether_they_are_kept_or_not(dtype, n_anchors, monkeypatch):
    rng = np.random.default_rng(n_anchors)
    views = [rng.standard_normal((300, width)).astype(dtype) for width in (9, 5)]
    for view in views:
        view[rng.random(300) < 0.4] = np.nan
    centres = Centres.of([rng.standard_normal((n_anchors, view.shape[1])) for view in views])
    found = []
    for kept_bytes, n_threads in ((2**26, 1), (2**26, 2), (0, 2)):
        monkeypatch.setattr(assign, "KEPT_BYTES", kept_bytes)
        rows, workspace = MeasuredRows(Chunk.of(views)), Workspace(n_threads)
        decision, _ = assign_and_add(rows, centres, None, workspace, keep=True, mixed=True)
        if kept_bytes:
            found.append(mixture(decision.distance, rows.n_seen))
        found.append(first_mixture(rows, centres, decision, workspace))
    for one in found[1:]:
        np.testing.assert_array_equal(one.weights, found[0].weights)
        np.testing.assert_array_equal(one.near, found[0].near)
