"""MultiNMF, MIC and DAIMC: objectives equal their definitions, and no step increases them."""

from __future__ import annotations

import numpy as np
import pytest

import viewpass as vp
from baselines.slow import planted
from viewpass.baselines import daimc, mic
from viewpass.baselines.multinmf import factorise, pulled
from viewpass.baselines.rows import FilledView


def views_of(seed, noise=0.2):
    rng = np.random.default_rng(seed)
    views, groups = planted(rng, noise=noise)
    views = [x / x.sum() for x in views]
    filled = [FilledView.unfilled(x, np.ones(len(x), dtype=bool)) for x in views]
    return views, filled, groups


@pytest.mark.parametrize("agreement", [1e-3, 1e-1, 1.0])
def test_rounds_of_multinmf_never_increase_its_objective(agreement):
    views, filled, _ = views_of(0)
    settings = vp.MultiNMF(3, agreement=agreement, n_rounds=8, max_iter=20, n_tries=2, n_threads=1)
    bases, coefficients, agreed, curve = factorise(filled, settings, np.random.default_rng(0))
    assert (np.diff(curve) <= 0).all()
    direct = sum(
        ((x - V @ U.T) ** 2).sum() + agreement * ((V * U.sum(axis=0) - agreed) ** 2).sum()
        for x, U, V in zip(views, bases, coefficients, strict=True)
    )
    np.testing.assert_allclose(curve[-1], direct, rtol=1e-9)
    for U, V in zip(bases, coefficients, strict=True):
        np.testing.assert_allclose(U.sum(axis=0), 1)
        assert (U >= 0).all()
        assert (V >= 0).all()


def test_a_step_of_multinmf_is_the_published_one():
    views, filled, _ = views_of(1)
    rng = np.random.default_rng(2)
    U, V, star = rng.random((9, 3)), rng.random((90, 3)), rng.random((90, 3))
    U /= U.sum(axis=0)
    x, a = views[0], 0.3
    new_V, new_U = V.copy(), U.copy()
    for i in range(90):
        for k in range(3):
            top = sum(x[i, j] * U[j, k] for j in range(9)) + a * star[i, k]
            bottom = sum(V[i, m] * (U[:, m] @ U[:, k]) for m in range(3)) + a * V[i, k]
            new_V[i, k] = V[i, k] * top / max(bottom, 1e-10)
    for j in range(9):
        for k in range(3):
            top = x[:, j] @ new_V[:, k] + a * (new_V[:, k] @ star[:, k])
            bottom = sum(U[j, m] * (new_V[:, m] @ new_V[:, k]) for m in range(3))
            bottom += a * (new_V[:, k] @ new_V[:, k]) * U[:, k].sum()
            new_U[j, k] = U[j, k] * top / max(bottom, 1e-10)
    scale = new_U.sum(axis=0)
    mine_U, mine_V = pulled(filled[0], U, V, star, a, 1)
    np.testing.assert_allclose(mine_U, new_U / scale, rtol=1e-9)
    np.testing.assert_allclose(mine_V, new_V * scale, rtol=1e-9)


def test_a_round_that_increases_the_objective_is_undone():
    _, filled, _ = views_of(3, noise=0.0)
    settings = vp.MultiNMF(3, agreement=50.0, n_rounds=200, max_iter=1, n_tries=1, n_threads=1)
    *_, curve = factorise(filled, settings, np.random.default_rng(0))
    assert (np.diff(curve) <= 0).all()


def test_multinmf_is_the_same_for_any_number_of_threads():
    views, _, _ = views_of(4)
    models = [vp.MultiNMF(3, n_rounds=2, max_iter=20, random_state=0, n_threads=n).fit(views) for n in (1, 2)]
    np.testing.assert_array_equal(models[0].consensus_, models[1].consensus_)


def with_gaps(seed):
    rng = np.random.default_rng(seed)
    views, _, _ = views_of(seed)
    filled = []
    for x in views:
        missing = rng.random(len(x)) < 0.3
        mean = x[~missing].mean(axis=0)
        filled.append(FilledView(np.where(missing[:, None], 0.0, x), missing, mean))
    return filled


def dense(view):
    return np.where(view.missing[:, None], view.fill, view.matrix)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sparsity", [0.0, 1e-3])
def test_steps_of_mic_never_increase_its_objective(seed, sparsity):
    rng = np.random.default_rng(seed)
    view = with_gaps(seed)[0]
    settings = vp.MIC(3, agreement=0.1, sparsity=sparsity)
    U, V, agreed = rng.random((90, 3)) / 90, rng.random((9, 3)), rng.random((90, 3)) / 90
    weights = np.where(view.missing, 0.49, 1.0)
    x = dense(view)
    direct = (weights[:, None] * (x - U @ V.T) ** 2).sum()
    direct += 0.1 * (weights[:, None] * (U - agreed) ** 2).sum() + sparsity * np.linalg.norm(U, axis=1).sum()
    value = mic.value_of(view, U, V, agreed, weights, settings)
    np.testing.assert_allclose(value, direct, rtol=1e-9)
    for _ in range(30):
        U = mic.coefficient_step(view, U, V, agreed, weights, settings)
        after = mic.value_of(view, U, V, agreed, weights, settings)
        assert after <= value * (1 + 1e-9)
        V = mic.basis_step(view, U, V, weights)
        value = mic.value_of(view, U, V, agreed, weights, settings)
        assert value <= after * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_steps_of_daimc_solve_their_equations(seed):
    rng = np.random.default_rng(seed)
    views = with_gaps(seed)
    V = rng.random((90, 3))
    B = rng.standard_normal((9, 3))
    W = np.diag((~views[0].missing).astype(float))
    x = dense(views[0])
    U = daimc.basis_step(views[0], V, B, 0.3)
    left = 0.3 * B @ B.T @ U + U @ (V.T @ W @ V)
    np.testing.assert_allclose(left, x.T @ W @ V + 0.3 * B, rtol=1e-6, atol=1e-8)
    new = daimc.alignment_step(U, B, 0.7)
    D = np.diag(1 / np.sqrt((B**2).sum(axis=1) + 1e-10))
    np.testing.assert_allclose(new, np.linalg.solve(0.35 * D + U @ U.T, U), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_steps_of_daimc_never_increase_its_objective(seed):
    rng = np.random.default_rng(seed)
    views = with_gaps(seed)
    settings = vp.DAIMC(3, alignment=0.3, sparsity=0.7)
    V = rng.random((90, 3))
    bases = [rng.standard_normal((view.width, 3)) for view in views]
    aligning = [rng.standard_normal((view.width, 3)) for view in views]
    direct = sum(
        (((dense(view) - V @ U.T) ** 2)[~view.missing]).sum()
        + 0.3 * (((B.T @ U - np.eye(3)) ** 2).sum() + 0.7 * np.linalg.norm(B, axis=1).sum())
        for view, U, B in zip(views, bases, aligning, strict=True)
    )
    value = daimc.value_of(views, V, bases, aligning, settings)
    np.testing.assert_allclose(value, direct, rtol=1e-9)
    for _ in range(30):
        V = daimc.shared_steps(views, V, bases, 1e-4, 1)
        after = daimc.value_of(views, V, bases, aligning, settings)
        assert after <= value * (1 + 1e-9)
        value = after


@pytest.mark.parametrize("seed", range(3))
def test_daimc_repeats_the_step_of_v_until_its_fit_converges(seed):
    rng = np.random.default_rng(seed)
    views, V = with_gaps(seed), rng.random((90, 3))
    bases = [rng.standard_normal((view.width, 3)) for view in views]

    def fit(V):
        squares = (
            ((dense(view) - V @ U.T) ** 2)[~view.missing] for view, U in zip(views, bases, strict=True)
        )
        return sum(square.sum() for square in squares)

    expected, fits = V, []
    while len(fits) < 30 and (len(fits) < 2 or abs(fits[-1] - fits[-2]) >= 1e-4 * fits[-2]):
        expected = daimc.shared_steps(views, expected, bases, 1e-4, 1)
        fits.append(fit(expected))
    assert len(fits) > 1
    np.testing.assert_allclose(daimc.shared_steps(views, V, bases, 1e-4), expected, rtol=1e-9)
