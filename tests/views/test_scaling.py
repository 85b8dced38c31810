"""Scales do what their names say, leave missing views missing, and do not change their input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import viewpass as vp
from inputs import csr, parts
from viewpass.kernels import reference
from viewpass.views.chunk import Chunk
from viewpass.views.kinds import columns_of
from viewpass.views.rows import MeasuredRows
from viewpass.views.scaling import Scaling

N_ROWS = 700


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def dtype(request):
    return request.param


def rows_of(dtype, width=9, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(3.0, 2.0, size=(N_ROWS, width)) * 10.0 ** rng.integers(-5, 6, size=width)
    x = x.astype(dtype)
    x[5] = 0
    x[6] = np.nan
    observed = rng.random((N_ROWS, 1)) < 0.7
    return x, observed, observed[:, 0] & ~np.isin(np.arange(N_ROWS), (5, 6))


def counts_of(dtype, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.poisson(rng.random(30) ** 3, size=(N_ROWS, 30)).astype(dtype)
    x[:, 7] = 0  # a column that the first rows do not have
    return x


def learnt(x, name, observed=None, *, stated=False):
    chunk = replace(Chunk.of([x], observed=observed), stated=stated)
    return Scaling.learn(MeasuredRows(chunk).measure(), [name]), chunk


def test_standard_is_mean_and_spread_of_the_observed_rows(dtype):
    x, observed, present = rows_of(dtype)
    scaling, chunk = learnt(x, "standard", observed)
    exact = x[present].astype(np.float64)
    expected = (exact - exact.mean(axis=0)) / exact.std(axis=0)
    given = scaling.apply(chunk)
    assert given.views[0].dtype == dtype
    np.testing.assert_array_equal(given.observed[:, 0], present)
    np.testing.assert_allclose(given.views[0][present], expected, rtol=1e-5, atol=1e-6)
    assert not given.views[0][~present].any()


def test_idf_weighs_columns_and_keeps_zeros(dtype):
    x = counts_of(dtype)
    expected = np.log((1 + N_ROWS - (~x.any(axis=1)).sum()) / (1 + (x != 0).sum(axis=0))) + 1
    dense, chunk = learnt(x, "idf")
    sparse, rows = learnt(csr(x), "idf")
    weights = sparse.views[0].weights
    np.testing.assert_allclose(weights, expected / expected.max(), rtol=1e-14)
    assert weights[7] == weights.max() == 1.0  # never seen so far: as rare as can be
    np.testing.assert_array_equal(weights, dense.views[0].weights)
    given = sparse.apply(rows).views[0]
    assert given.dtype == dtype
    assert np.shares_memory(given.indices, rows.views[0].indices)
    assert np.shares_memory(given.indptr, rows.views[0].indptr)
    np.testing.assert_array_equal(given.toarray(), (x.astype(np.float64) * weights).astype(dtype))
    np.testing.assert_array_equal(dense.apply(chunk).views[0], given.toarray())


def test_standard_keeps_the_zeros_of_sparse_rows(dtype):
    x = counts_of(dtype)
    scaling, rows = learnt(csr(x), "standard")
    assert scaling.views[0].mean is None
    present = x.any(axis=1)
    spread = x[present].astype(np.float64).std(axis=0)
    ratio = scaling.views[0].weights * spread
    np.testing.assert_allclose(ratio[spread > 0], ratio.max(), rtol=1e-12)
    assert scaling.views[0].weights[7] == 1.0
    np.testing.assert_array_equal(scaling.apply(rows).views[0].toarray() != 0, x != 0)


def test_duplicate_entries_count_once():
    x = counts_of(np.float64)
    whole, _ = learnt(csr(x), "idf")
    halves, _ = learnt(sp.csr_array(parts(x, halves=True), shape=x.shape), "idf")
    np.testing.assert_array_equal(whole.views[0].weights, halves.views[0].weights)


def test_learning_does_not_depend_on_the_order_but_for_rounding(dtype):
    x, observed, _ = rows_of(dtype)
    order = np.random.default_rng(3).permutation(N_ROWS)
    one, other = (learnt(x[o], "standard", observed[o])[0].views[0] for o in (slice(None), order))
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-12)
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-12)


def test_dense_and_sparse_columns_have_the_same_statistics():
    x = counts_of(np.float32) - 1
    a, b = (columns_of(form, np.arange(N_ROWS) % 3 > 0) for form in (x, csr(x)))
    for name in ("n_rows", "whole", "n_ones", "counts"):
        assert getattr(a, name) == getattr(b, name)
    np.testing.assert_array_equal(a.n_nonzero, b.n_nonzero)
    np.testing.assert_allclose(a.mean, b.mean, rtol=1e-12)
    np.testing.assert_allclose(a.spread, b.spread, rtol=1e-12)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("width", [1, 9, 400])
def test_the_kernel_equals_the_reference(dtype, width, n_threads):
    x, observed, _ = rows_of(dtype, width)
    scale, _ = learnt(x, "standard", observed)
    mean, weights = scale.views[0].mean, scale.views[0].weights
    with np.errstate(over="ignore", invalid="ignore"):
        x[10] *= np.finfo(dtype).max
        x[11] *= np.finfo(dtype).tiny
        x[12, 0] = np.finfo(dtype).max / 2
    x[13] = mean
    x[14, :1] = np.nan
    x[15, -1:] = np.inf
    wanted = observed[:, 0].copy()
    wanted[10:16] = True
    expected = np.empty_like(x)
    there = reference.standardise(x, wanted, mean, weights, expected, 1)
    chunk = replace(Chunk.of([x], observed=wanted[:, None]), stated=False)
    given = scale.apply(chunk, n_threads=n_threads)
    np.testing.assert_array_equal(given.views[0], expected)
    np.testing.assert_array_equal(given.observed[:, 0], there)
    assert np.isfinite(given.views[0][12]).all()


def test_numbers_near_the_end_of_their_range_survive():
    x = np.random.default_rng(0).normal(size=(50, 3)) * [1e300, 1e-250, 1.0]
    scale, chunk = learnt(x, "standard")
    z = scale.apply(chunk).views[0]
    np.testing.assert_allclose(z.std(axis=0), 1.0, rtol=1e-12)
    wild = np.array([[1e-300, 1e300, 0.0], [-1e308, 1.0, 1.0]])
    out = scale.apply(Chunk.of([wild])).views[0]
    assert np.isfinite(out).all()
    np.testing.assert_allclose(np.abs(out).argmax(axis=1), [1, 1])


def test_columns_without_spread_are_centred_only():
    x = np.random.default_rng(0).normal(size=(1000, 3)).astype(np.float32)
    x[:, 1] = 0.1
    scale, chunk = learnt(x, "standard")
    assert scale.views[0].weights[1] == 1.0
    assert np.abs(scale.apply(chunk).views[0][:, 1]).max() < 1e-7


@pytest.mark.parametrize("x", [np.full((4, 3), 2.5), np.array([[1.0, 2.0]]), np.zeros((3, 2))], ids=str)
def test_a_view_without_spread_stays_as_it_is(x):
    scale, chunk = learnt(x, "standard")
    assert scale.names == ("unit",)
    assert scale.apply(chunk) is chunk


def test_a_row_equal_to_the_mean_counts_as_missing():
    x = np.array([[1.0, 5.0], [3.0, 1.0], [2.0, 3.0]])
    scale, chunk = learnt(x, "standard")
    assert scale.apply(chunk).observed[:, 0].tolist() == [True, True, False]


def test_faulty_rows_are_named_after_scaling():
    x, _, _ = rows_of(np.float64)
    scale, _ = learnt(x, "standard")
    for value, message in ((np.nan, "1 of 9 values are NaN"), (np.inf, "1 of 9 values are inf")):
        bad = x.copy()
        bad[33, 2] = value
        chunk = Chunk.of([bad], names=["image"], start=100)
        with pytest.raises(vp.DataError, match=f"view 'image', row 133: {message}"):
            MeasuredRows(scale.apply(chunk)).measure()


def test_columns_outside_are_refused_before_they_are_used():
    scale, _ = learnt(csr(counts_of(np.float64)), "idf")
    bad = csr(counts_of(np.float64))
    bad.indices[100] = 10**6
    with pytest.raises(vp.DataError, match="column number"):
        MeasuredRows(scale.apply(Chunk.of([bad]))).measure()
    centred, _ = learnt(counts_of(np.float64), "standard")
    with pytest.raises(vp.DataError, match="column number"):
        centred.apply(Chunk.of([bad]))


def test_rows_may_change_between_dense_and_sparse(dtype):
    x = counts_of(dtype)
    for name in ("standard", "idf"):
        scale, chunk = learnt(x, name)
        other = scale.apply(Chunk.of([csr(x)]))
        given = other.views[0].toarray() if name == "idf" else other.views[0]
        np.testing.assert_array_equal(given, scale.apply(chunk).views[0])


AUTO = {
    "measurements": (rows_of(np.float32)[0], "standard"),
    "many zeros, but measured": (np.maximum(rows_of(np.float64)[0] - 1e3, 0), "standard"),
    "pixels": (np.random.default_rng(0).integers(0, 7, size=(50, 8)), "standard"),
    "pixels, mostly zero": (np.random.default_rng(0).integers(-9, 7, size=(50, 8)).clip(0), "standard"),
    "sparse pixels": (csr(np.random.default_rng(0).integers(-9, 7, size=(50, 8)).clip(0.0)), "unit"),
    "counts": (counts_of(np.float32), "idf"),
    "sparse counts": (csr(counts_of(np.float32)), "idf"),
    "one-hot": (np.eye(9)[np.arange(90) % 9], "idf"),
    "weighed already": (csr(counts_of(np.float64) * 0.37), "unit"),
    "sparse with signs": (csr(counts_of(np.float64) - 1), "unit"),
}


@pytest.mark.parametrize("what", AUTO)
def test_auto_goes_by_what_the_values_are(what):
    x, expected = AUTO[what]
    assert learnt(x, "auto")[0].names == (expected,)


def test_the_kernels_take_every_type():
    for number in ("float32", "float64"):
        for index in ("int32", "int64"):
            x = sp.csr_array(counts_of(number)[:20])
            x.indices, x.indptr = x.indices.astype(index), x.indptr.astype(index)
            scale, chunk = learnt(x, "idf")
            assert scale.apply(chunk).views[0].indices.dtype == index
