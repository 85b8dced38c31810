"""MultiNMF: its objective, written out, and that a round never raises it."""

from __future__ import annotations

import numpy as np
import pytest
from slow import planted

import viewpass as vp
from viewpass.core.factors.multinmf import Settings, drawn, factorise
from viewpass.core.factors.rows import Filled


def views_of(seed, noise=0.2):
    rng = np.random.default_rng(seed)
    views, groups = planted(rng, noise=noise)
    views = [x / x.sum() for x in views]
    filled = [Filled(x, np.zeros(len(x), dtype=bool), np.zeros(x.shape[1])) for x in views]
    return views, filled, groups


@pytest.mark.parametrize("agreement", [1e-3, 1e-1, 1.0])
def test_multinmf_objective_is_what_it_says_and_never_rises(agreement):
    views, filled, _ = views_of(0)
    settings = Settings(agreement, n_rounds=8, max_iter=20, n_tries=2)
    bases, coefficients, agreed, curve = factorise(
        filled, 3, settings, np.random.default_rng(0), 1, lambda number, value: None
    )
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
    mine_U, mine_V = drawn(filled[0], U, V, star, a, 1)
    np.testing.assert_allclose(mine_U, new_U / scale, rtol=1e-9)
    np.testing.assert_allclose(mine_V, new_V * scale, rtol=1e-9)


def test_a_round_that_rises_is_undone_and_the_method_ends():
    _, filled, _ = views_of(3, noise=0.0)
    settings = Settings(50.0, n_rounds=200, max_iter=1, n_tries=1)
    *_, curve = factorise(filled, 3, settings, np.random.default_rng(0), 1, lambda number, value: None)
    assert (np.diff(curve) <= 0).all()


def test_multinmf_is_the_same_for_any_number_of_threads():
    views, _, _ = views_of(4)
    models = [vp.MultiNMF(3, n_rounds=2, max_iter=20, random_state=0, n_threads=n).fit(views) for n in (1, 2)]
    np.testing.assert_array_equal(models[0].consensus_, models[1].consensus_)
