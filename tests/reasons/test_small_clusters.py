"""Unusual rows of models with few centres are found by small clusters of the sample."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import viewpass as vp
from clusters import made_rows
from viewpass.reasons.calibrate import calibration_of

PLAIN = {"consensus": "plain", "scale": "unit", "random_state": 0}
ROWS = made_rows(900, widths=(12, 7), seed=3)


def small(model):
    return calibration_of(model._fitted_model()).small


def on_curves(n_rows, seed):
    """Rows of three closed curves in two views: spread out, but nowhere near noise."""
    rng = np.random.default_rng(seed)
    turn, curve = 2 * np.pi * rng.random(n_rows), rng.integers(3, size=n_rows)
    waves = np.stack([f(k * turn) for k in (1, 2, 3) for f in (np.sin, np.cos)], axis=1)
    maps = np.random.default_rng(7).standard_normal((2, 3, 6, 20))
    views = [np.einsum("nw,nwd->nd", waves, own[curve]) for own in maps]
    return [x + 0.05 * rng.standard_normal(x.shape) for x in views]


def with_noise(n_rows, seed):
    rows, rng = on_curves(n_rows, seed), np.random.default_rng(seed)
    noise = rng.permutation(n_rows) < n_rows // 20
    for x in rows:
        x[noise] = x.mean(axis=0) + x.std(axis=0) * rng.standard_normal((noise.sum(), x.shape[1]))
    return rows, noise


def area(score, positive):
    ranks = np.argsort(np.argsort(score)) + 1.0
    n = positive.sum()
    return (ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(score) - n))


def test_noise_stands_out_by_one_view_of_other_rows():
    """Learnt on rows with noise among them, judged on others."""
    model = vp.ViewPass(6, **PLAIN).fit(with_noise(1500, 0)[0])
    rows, noise = with_noise(1500, 1)
    learnt = calibration_of(model._fitted_model())
    for alone in ([rows[0], None], [None, rows[1]]):
        found = area(model.outlier_score(alone), noise)
        assert found >= 0.95
        model._fitted_model().calibration = replace(learnt, small=())
        assert area(model.outlier_score(alone), noise) < found
        model._fitted_model().calibration = learnt


@pytest.mark.parametrize("settings", [{}, {"view_weights": [1, 0.3]}, {"scale": "euclidean"}])
def test_the_same_bits_for_any_number_of_threads_and_after_saving(settings, tmp_path):
    made = [vp.ViewPass(4, **(PLAIN | settings), n_threads=n).fit(ROWS) for n in (1, 3)]
    assert len(small(made[0])[0]) >= 8
    for number, model in enumerate(made):
        model.save(tmp_path / str(number))
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()
    again = vp.load(tmp_path / "0")
    np.testing.assert_array_equal(again.outlier_score(ROWS), made[0].outlier_score(ROWS))


def test_anchors_and_many_centres_need_none():
    assert small(vp.ViewPass(4, n_anchors=24, consensus="graph", random_state=0).fit(ROWS)) == ()
    assert small(vp.ViewPass(50, **PLAIN).fit(ROWS)) == ()
    assert small(vp.ViewPass(4, **PLAIN).fit([x[:60] for x in ROWS])) == ()  # too few rows
