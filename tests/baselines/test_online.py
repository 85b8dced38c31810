"""OMVC and ONMF equal their direct implementations, and no step increases the objective."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import viewpass as vp
from baselines.slow import filled_chunks, omvc, onmf, planted
from viewpass.baselines.factors import newton_step, nnls, quadratic
from viewpass.baselines.omvc_stream import OMVCStream
from viewpass.baselines.onmf import ONMFStream
from viewpass.evaluate import make_mask
from viewpass.views.chunk import Chunk
from zipped import zipped


def incomplete(seed, **more):
    rng = np.random.default_rng(seed)
    views, groups = planted(rng, noise=0.3, **more)
    observed = make_mask("paper", len(groups), len(views), 0.3, rng)
    observed[0] = True
    return views, observed, groups


def learned(stream, views, observed, size, n_passes=1):
    for number in range(n_passes):
        if number:
            stream.begin_pass()
        for start in range(0, len(observed), size):
            rows = slice(start, start + size)
            stream.learn(Chunk.of([x[rows] for x in views], observed=observed[rows]))
    return stream


@pytest.mark.parametrize("n_passes", [1, 3])
@pytest.mark.parametrize("agreement", [1e-3, 1e-1])
def test_omvc_equals_the_slow_one(agreement, n_passes):
    views, observed, _ = incomplete(1, n_rows=40)
    chunks = filled_chunks(views, observed, 10, unit=False)
    totals = [sum(chunk[v].sum() for chunk, _ in chunks) for v in range(2)]
    settings = vp.OMVC(3, agreement=agreement, sparsity=1e-6, max_iter=6, tol=1e-4)
    rng = np.random.default_rng(5)
    start = [rng.random((x.shape[1], 3)) for x in views]
    stream = OMVCStream(3, settings, np.random.default_rng(5), 1)
    stream.totals = list(totals)
    learned(stream, views, observed, 10, n_passes)
    V, agreed, objective = omvc(chunks, start, agreement, 1e-6, 6, 1e-4, n_passes)
    for mine, theirs in zip(stream.components(), V, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-8)
    np.testing.assert_allclose(stream.consensus(), agreed, atol=1e-8 * agreed.max())
    np.testing.assert_allclose(stream.objective(), objective, rtol=1e-7)


@pytest.mark.parametrize("n_passes", [1, 2])
@pytest.mark.parametrize("diagonal", [False, True])
def test_onmf_equals_the_slow_one(diagonal, n_passes):
    views, observed, _ = incomplete(2, n_rows=40)
    chunks = filled_chunks(views, observed, 10, unit=True)
    rng = np.random.default_rng(5)
    start = [rng.random((x.shape[1], 3)) for x in views]
    start = np.concatenate([F / F.sum(axis=0) for F in start])
    settings = vp.ONMF(3, hessian="diagonal" if diagonal else "exact", max_iter=8)
    stream = ONMFStream(3, settings, np.random.default_rng(5), 1)
    learned(stream, views, observed, 10, n_passes)
    F, G, objective = onmf(chunks, start, 8, 1e-4, n_passes, diagonal=diagonal)
    np.testing.assert_allclose(np.concatenate(stream.components()), F, atol=1e-7)
    np.testing.assert_allclose(stream.consensus(), G * np.linalg.norm(F, axis=0), atol=1e-7)
    np.testing.assert_allclose(stream.objective(), objective, rtol=1e-8)


@pytest.mark.parametrize(("seed", "diagonal"), zipped(range(3), [False, True]))
def test_steps_never_increase_the_value_and_reach_the_best_basis(seed, diagonal):
    rng = np.random.default_rng(seed)
    G = rng.random((60, 6)) * (rng.random((60, 6)) < 0.5)
    X = rng.random((60, 40)) * (rng.random((60, 40)) < 0.3)
    H, V = G.T @ G, X.T @ G
    F = rng.random((40, 6))
    values = [quadratic(F, H, V)]
    for _ in range(600):
        F, value = newton_step(F, H, V, diagonal=diagonal)
        assert (F >= 0).all()
        values.append(value)
    assert (np.diff(values) <= 0).all()
    best = quadratic(nnls(H, V), H, V)
    assert best <= values[-1] * (1 - 1e-9) + 1e-9
    assert values[-1] - best <= 5e-3 * abs(best)


@pytest.mark.parametrize("hessian", ["exact", "diagonal"])
def test_onmf_objective_never_increases_over_passes(hessian):
    views, observed, _ = incomplete(3)
    values = [
        vp.ONMF(3, hessian=hessian, chunk_size=20, n_passes=n, random_state=0, tol=1e-6)
        .fit(views, observed=observed)
        .objective_
        for n in range(1, 6)
    ]
    assert (np.diff(values) <= 1e-9 * values[0]).all()


def test_onmf_curve_never_increases_within_later_passes():
    views, observed, _ = incomplete(4)
    model = vp.ONMF(3, chunk_size=20, n_passes=4, random_state=0).fit(views, observed=observed)
    later = model.objective_curve_.reshape(4, -1)[1:].ravel()
    assert (np.diff(later) <= 1e-9 * later[0]).all()
    np.testing.assert_allclose(later[-1], model.objective_, rtol=1e-9)


def test_omvc_without_penalties_never_increases_within_later_passes():
    views, observed, _ = incomplete(5)
    model = vp.OMVC(3, agreement=0, sparsity=0, chunk_size=20, n_passes=4, random_state=0)
    later = model.fit(views, observed=observed).objective_curve_.reshape(4, -1)[1:].ravel()
    assert (np.diff(later) <= 1e-9 * later[0]).all()
    np.testing.assert_allclose(later[-1], model.objective_, rtol=1e-9)


def test_both_rules_to_accept_a_basis_agree_in_the_first_pass():
    views, observed, _ = incomplete(6)
    one, other = (
        vp.OMVC(3, accept=accept, chunk_size=20, random_state=0).fit(views, observed=observed)
        for accept in ("sums", "scanned")
    )
    np.testing.assert_allclose(one.consensus_, other.consensus_, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(one.objective_, other.objective_, rtol=1e-6)
    vp.OMVC(3, accept="scanned", chunk_size=20, n_passes=3, random_state=0).fit(views, observed=observed)


def test_weight_one_is_another_model_only_where_rows_are_missing():
    views, observed, _ = incomplete(7)
    whole = [vp.OMVC(3, weights=w, random_state=0).fit(views).consensus_ for w in ("dynamic", "one")]
    np.testing.assert_array_equal(*whole)
    incomplete_fits = [
        vp.OMVC(3, weights=w, random_state=0).fit(views, observed=observed).consensus_
        for w in ("dynamic", "one")
    ]
    assert not np.allclose(*incomplete_fits)


def test_a_first_row_without_a_view_takes_the_consensus():
    views, observed, _ = incomplete(8)
    observed[0] = [False, True]
    model = vp.OMVC(3, chunk_size=10, random_state=0).fit(views, observed=observed)
    assert np.isfinite(model.consensus_[model.labels_ >= 0]).all()
    first = model._learnt.chunks[0]
    assert first.weights[0][0] == 0
    gauge = model._learnt.bases[1].gauge
    np.testing.assert_allclose(model.consensus_[0], first.coefficients[1][0] * gauge, rtol=1e-9)


@pytest.mark.parametrize("words", [5, 100])
@pytest.mark.parametrize("method", [vp.OMVC, vp.ONMF])
def test_word_counts_do_not_diverge(method, words):
    """Sparse whole numbers, wider than there are rows, in small chunks read many times."""
    rng = np.random.default_rng(words)
    topics = rng.integers(5, size=500)
    views = []
    for _ in range(3):
        shares = rng.dirichlet(np.full(2000, 0.1), 5)
        views.append(sp.csr_array(rng.poisson(words * shares[topics]).astype(float)))
    model = method(5, chunk_size=50, n_passes=10, max_iter=2, n_init=1, random_state=0, n_threads=1)
    model.fit(views, observed=rng.random((500, 3)) < 0.7)
    assert np.isfinite(model.consensus_[model.labels_ >= 0]).all()
    assert 0 <= model.objective_ <= model.objective_curve_.max() < np.inf
    assert all(np.isfinite(basis).all() for basis in model.components_)
