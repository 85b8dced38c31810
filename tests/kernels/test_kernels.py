"""Each compiled kernel against its counterpart in reference.py, on shapes and values that are awkward."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from viewpass.kernels import means, reference
from viewpass.kernels.grid import ABSENT, EXTREME, INFINITE, LANES, OUTSIDE, PARTLY_NAN, STEP, UNSORTED
from viewpass.kernels.scratch import Scratch
from viewpass.kernels.view import centres_of, view_of

WIDTHS = [1, 2, LANES - 1, LANES, LANES + 1, 3 * LANES + 5]
N_ROWS, N_CLUSTERS = 300, 7


def rows_of(width, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((N_ROWS, width)).astype(dtype)
    x *= (10.0 ** rng.integers(-6, 7, size=(N_ROWS, 1))).astype(dtype)
    x[rng.random(x.shape) < 0.4] = 0
    x[3] = 0
    x[4] = np.nan
    return x, rng


def measured(view, wanted=None):
    wanted = np.ones(N_ROWS, dtype=bool) if wanted is None else wanted
    inverse, status = np.empty(N_ROWS), np.empty(N_ROWS, dtype=np.int64)
    view.measure(0, N_ROWS, wanted, inverse, status)
    return inverse, status


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def dtype(request):
    return request.param


@pytest.fixture(params=["dense", "sparse"])
def wrap(request):
    return (lambda x: view_of(scipy.sparse.csr_array(x))) if request.param == "sparse" else view_of


@pytest.mark.parametrize("width", WIDTHS)
def test_rows_measure_alike(width, dtype, wrap):
    x, rng = rows_of(width, dtype)
    wanted = rng.random(N_ROWS) < 0.8
    expected = measured(view_of(x, reference=True), wanted)
    given = measured(wrap(x), wanted)
    np.testing.assert_array_equal(given[0], expected[0])
    np.testing.assert_array_equal(given[1], expected[1])


@pytest.mark.parametrize("width", WIDTHS)
def test_the_float32_look_keeps_within_its_slack(width, dtype, wrap):
    x, rng = rows_of(width, dtype)
    view, exact = wrap(x), view_of(x, reference=True)
    inverse, _ = measured(view)
    centres = rng.standard_normal((N_CLUSTERS, width))
    squares = reference.squared_norms(centres)
    rows = rng.permutation(N_ROWS)[:200]
    expected, given = np.zeros((200, N_CLUSTERS)), np.zeros((200, N_CLUSTERS))
    slack = np.zeros(200)
    layout = centres_of("reference", centres, squares)
    exact.look(rows, inverse, layout, expected, np.zeros(200), Scratch())
    view.look(rows, inverse, centres_of(view.kind, centres, squares), given, slack, Scratch())
    assert (np.abs(given - expected) <= slack[:, None]).all()
    assert slack.max() < 1e-3
    read, read_slack = np.zeros((N_ROWS, N_CLUSTERS)), np.zeros(N_ROWS)
    again, status = np.empty(N_ROWS), np.empty(N_ROWS, dtype=np.int64)
    everyone = np.ones(N_ROWS, dtype=bool)
    layout = centres_of(view.kind, centres, squares)
    view.read(0, N_ROWS, everyone, again, status, layout, read, read_slack, Scratch())
    np.testing.assert_array_equal(again, inverse)
    assert (np.abs(read[rows] - expected) <= read_slack[rows][:, None]).all()


@pytest.mark.parametrize("width", WIDTHS)
def test_float64_distances_are_the_same_bits_in_every_kernel(width, dtype, wrap):
    x, rng = rows_of(width, dtype)
    view, exact = wrap(x), view_of(x, reference=True)
    inverse, _ = measured(view)
    centres = rng.standard_normal((N_CLUSTERS, width))
    squares = reference.squared_norms(centres)
    everyone = np.arange(N_ROWS)
    expected, given = np.zeros((N_ROWS, N_CLUSTERS)), np.zeros((N_ROWS, N_CLUSTERS))
    exact.distances(everyone, inverse, centres_of("reference", centres, squares), expected, Scratch())
    view.distances(everyone, inverse, centres_of(view.kind, centres, squares), given, Scratch())
    np.testing.assert_array_equal(given, expected)
    rows = np.sort(rng.integers(N_ROWS, size=500))
    clusters = rng.integers(N_CLUSTERS, size=500)
    pairs = np.zeros(500)
    view.settle(rows, clusters, inverse, centres_of(view.kind, centres, squares), pairs)
    np.testing.assert_array_equal(pairs, expected[rows, clusters])


@pytest.mark.parametrize("width", WIDTHS)
def test_sums_are_the_same_integers(width, dtype, wrap):
    x, rng = rows_of(width, dtype)
    labels = rng.integers(-1, N_CLUSTERS, size=N_ROWS).astype(np.int32)
    rows = rng.permutation(N_ROWS)[:250]
    sums = []
    for view in (view_of(x, reference=True), wrap(x)):
        inverse, _ = measured(view)
        steps = np.zeros((N_CLUSTERS, width), dtype=np.int64)
        counts = np.zeros(N_CLUSTERS, dtype=np.int64)
        view.add(rows, inverse, labels, 1, steps, counts)
        sums.append((steps.copy(), counts.copy()))
        view.add(rows[:100], inverse, labels, -1, steps, counts)
        sums[-1] += (steps, counts)
    for expected, given in zip(*sums, strict=True):
        np.testing.assert_array_equal(given, expected)


@pytest.mark.parametrize("width", WIDTHS)
def test_centres_norms_and_traces_follow_the_reference(width):
    rng = np.random.default_rng(1)
    steps = rng.integers(-(2**40), 2**40, size=(N_CLUSTERS, width))
    counts = np.array([0, 1, 5, 100, 7, 1, 3])
    before = rng.standard_normal((N_CLUSTERS, width))
    changed = np.array([True, True, True, False, True, True, True])
    centres = before.copy()
    squares, traces, shifts = (np.full(N_CLUSTERS, -1.0) for _ in range(3))
    means.refresh(steps, counts, 0.1, changed, before, centres, squares, traces, shifts)
    renewed = changed & (counts > 0)
    np.testing.assert_array_equal(centres[~renewed], before[~renewed])
    expected = steps[renewed] * (STEP / (counts[renewed, None] + 0.1))
    np.testing.assert_array_equal(centres[renewed], expected)
    np.testing.assert_array_equal(squares[renewed], reference.squared_norms(expected))
    np.testing.assert_allclose(traces[renewed], reference.centre_terms(expected, steps[renewed]), rtol=1e-12)
    np.testing.assert_array_equal(shifts[renewed], reference.squared_norms(expected - before[renewed]))
    some = np.array([4, 1])
    np.testing.assert_array_equal(
        means.centre_terms(before, steps, some), reference.centre_terms(before, steps)[some]
    )


def test_faults_are_told_apart(dtype):
    x = np.ones((N_ROWS, 70), dtype=dtype)
    x[1, 5] = np.nan
    x[2, 0] = np.nan
    x[3, 5] = np.inf
    x[4] = np.nan
    x[5] = 0
    expected = {1: PARTLY_NAN, 2: PARTLY_NAN, 3: INFINITE, 4: ABSENT, 5: ABSENT}
    if dtype == np.float64:
        x[6], x[7] = 1e-300, 1e300
        expected |= {6: EXTREME, 7: EXTREME}
    for view in (view_of(x), view_of(x, reference=True), view_of(scipy.sparse.csr_array(x))):
        inverse, status = measured(view)
        assert {row: status[row] for row in expected} == expected
        assert (inverse[list(expected)] == 0).all()


def test_sparse_rows_out_of_order_or_out_of_range_are_told(dtype):
    x = scipy.sparse.csr_array(np.ones((N_ROWS, 4), dtype=dtype))
    x.indices = x.indices.copy()
    x.indices[4:8] = [0, 2, 1, 3]
    x.indices[8:12] = [0, 1, 1, 3]
    x.indices[12:16] = [0, 1, 2, 4]
    x.indices[16:20] = [-1, 1, 2, 3]
    _, status = measured(view_of(x))
    assert status[1:5].tolist() == [UNSORTED, UNSORTED, OUTSIDE, OUTSIDE]
