"""The same input and seed give the same bits: any threads, any blocks, compiled or reference."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import viewpass as vp
from cases import cases, computing, workspace
from viewpass.algorithm1.algorithm1 import Algorithm1, Settings
from viewpass.model.model import assign
from viewpass.sums.centres import Centres
from viewpass.sums.rules import Rules
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows


def streamed(case, *, n_threads=1, sparse=False, n_passes=2, chunk_size=17):
    settings = Settings(case.n_clusters, Rules(case.alpha, 20, 1e-6, "mean"))
    algorithm = Algorithm1(settings, np.random.default_rng(case.seed), workspace(n_threads))
    views = case.sparse() if sparse else case.views
    labels = np.full(case.n_rows, -1, dtype=np.int32)
    for number in range(n_passes):
        for start in range(0, case.n_rows, chunk_size):
            rows = slice(start, start + chunk_size)
            chunk = Chunk.of([x[rows] for x in views], observed=case.observed[rows], start=start)
            decided = algorithm.learn(chunk, chunk_size, labels[rows] if number else None)
            labels[rows] = np.concatenate(list(decided))
    return labels, algorithm.model


def assert_same(a, b):
    np.testing.assert_array_equal(a[0], b[0])
    assert a[1].total == b[1].total
    assert a[1].loss_curve == b[1].loss_curve
    for u, w in zip(a[1].centres.values, b[1].centres.values, strict=True):
        np.testing.assert_array_equal(u, w)


@given(cases())
def test_compiled_kernels_equal_the_reference_to_the_bit(case):
    assume(case.present[:17].any())
    with computing():
        expected = streamed(case)
    assert_same(streamed(case), expected)


@given(cases())
def test_sparse_kernels_equal_the_sparse_reference_to_the_bit(case):
    # Only the soft start differs in storage (it sums in another order): give hard labels.
    labels = case.labels()
    assume(case.present.any())
    start = np.maximum(labels, 0)
    outcomes = []
    for sparse in (False, True):
        for reference in (False, True):
            settings = Settings(case.n_clusters, Rules(case.alpha, 20, 0.0, "mean"), start)
            algorithm = Algorithm1(settings, np.random.default_rng(0), workspace())
            views = case.sparse() if sparse else case.views
            with computing(reference=reference):
                (decided,) = algorithm.learn(Chunk.of(views, observed=case.observed), case.n_rows)
            outcomes.append((decided, algorithm.model))
    for other in outcomes[1:]:
        assert_same(other, outcomes[0])


@given(cases(max_rows=300, min_rows=150), st.sampled_from([2, 3, 5]))
def test_threads_do_not_matter(case, n_threads):
    assume(case.present[:140].any())
    alone = streamed(case, chunk_size=140)
    assert_same(streamed(case, n_threads=n_threads, chunk_size=140), alone)


@given(cases(max_rows=200), st.lists(st.integers(1, 200), min_size=1, max_size=5))
def test_predict_in_blocks_of_any_size(case, cuts):
    rng = case.rng
    centres = Centres.of([rng.standard_normal((case.n_clusters, x.shape[1])) for x in case.views])
    whole = assign(case.measured(), centres, workspace())[0]
    edges = sorted({0, case.n_rows, *(cut for cut in cuts if cut < case.n_rows)})
    parts = []
    for start, stop in itertools.pairwise(edges):
        rows = case.measured().chunk.take(np.arange(start, stop))
        parts.append(assign(MeasuredRows(rows), centres, workspace(2))[0])
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    with computing():
        reference = assign(case.measured(), Centres.of(centres.values), workspace())[0]
    np.testing.assert_array_equal(whole, reference)


@pytest.mark.parametrize("scale", ["standard", "euclidean"])
def test_the_memory_layout_of_arrays_does_not_matter(scale):
    rng = np.random.default_rng(0)
    views = [np.exp(rng.standard_normal((700, width))) for width in (9, 6)]
    models = [
        vp.ViewPass(3, scale=scale, random_state=0).fit(given)
        for given in (
            views,
            [np.asfortranarray(x) for x in views],
            [x[:, ::-1].copy()[:, ::-1] for x in views],
        )
    ]
    for other in models[1:]:
        assert other.statistics_ == models[0].statistics_
        assert other.alpha_ == models[0].alpha_
