"""What is learnt from hidden views: curves rise, shares are those of the rows, patterns are few."""

from __future__ import annotations

import numpy as np
import pytest

import viewpass as vp
from cases import workspace
from clusters import made_rows
from viewpass.model.calibration import BINS, LEVELS, Calibration, interpolated, rising
from viewpass.reasons import calibrate as learning
from viewpass.sums.row_counts import patterns_of


def calibration(n_views, missing=0.3, **settings):
    rows = made_rows(500, widths=(5,) * n_views, missing=missing)
    model = vp.ViewPass(4, random_state=0, **settings).fit(rows)
    return learning.calibration_of(model._fitted_model(), workspace())


@pytest.mark.parametrize("settings", [{"consensus": "plain"}, {"n_anchors": 20, "consensus": "graph"}])
def test_curves_rise_and_are_shares(settings):
    found = calibration(3, **settings)
    assert found.patterns.tolist() == list(range(1, 8))  # every combination of three views
    for values in (found.margins, found.agreement, found.distances[:, :-1]):
        assert (np.diff(values, axis=1) >= 0).all()
    assert found.agreement.min() >= 0
    assert found.agreement.max() <= 1
    assert (found.distances[:, -1] >= 0).all()
    assert found.n_rows == 500


def test_patterns_are_bounded():
    assert len(calibration(9).patterns) <= 64


def test_equal_margins_have_one_confidence():
    margins = np.repeat([0.1, 0.5], 100)
    kept = np.arange(200) % 2 * learning.DOUBT_UNIT
    knots, values = learning._binned(margins, kept, doubt=None)
    found = interpolated(knots[None], values[None], np.zeros(2, int), np.array([0.1, 0.5]))
    np.testing.assert_allclose(found, 0.5, atol=learning.TILT)
    assert len(knots) == 2 * BINS


def test_shares_are_those_of_the_rows():
    rng = np.random.default_rng(0)
    margins = rng.random(4000)
    kept = (rng.random(4000) < margins).astype(np.int64) * learning.DOUBT_UNIT
    knots, values = learning._binned(margins, kept, doubt=None)
    found = interpolated(knots[None], values[None], np.zeros(4000, int), margins)
    assert np.abs(found - margins).mean() < 0.04
    assert abs(found.mean() - margins.mean()) < 0.02


def test_rising_keeps_what_rises_and_pools_what_falls():
    np.testing.assert_array_equal(rising([1, 2, 3], [4, 4, 4]), [0.25, 0.5, 0.75])
    np.testing.assert_array_equal(rising([3, 2, 1], [4, 4, 4]), [0.5, 0.5, 0.5])


def test_an_unknown_pattern_goes_by_its_largest_known_part():
    nothing = np.zeros((3, 4))
    known = Calibration(np.array([1, 2, 6]), *([nothing] * 6), (None,) * 4)
    assert [known.place(pattern) for pattern in (1, 3, 7, 14, 8)] == [0, 0, 2, 2, -1]
    np.testing.assert_array_equal(known.places(np.array([7, 1, 8])), [2, 0, -1])


def test_patterns_are_bits_of_views():
    seen = np.array([[True, False], [False, False], [True, True]])
    np.testing.assert_array_equal(patterns_of(seen), [5, 4])


def test_quantiles_that_few_rows_show_are_taken_from_the_tail():
    found = calibration(2)
    levels = np.array(LEVELS)
    few = (1 - levels) * 500 * 0.1 < learning.TAIL_ROWS  # patterns have fewer rows than all
    assert (np.diff(found.distances[:, :-1][:, few], axis=1) > 0).all()


def test_one_row_is_enough_to_learn_from():
    model = vp.ViewPass(1, random_state=0).fit([np.array([[1.0, 2.0]]), np.array([[3.0]])])
    assert model.outlier_score([np.array([[1.0, 2.0]]), None]).shape == (1,)
    assert model.impute([np.array([[1.0, 2.0]]), None]).views[1].tolist() == [[3.0]]


def test_rows_that_all_have_patterns_of_their_own_among_many_views_are_calibrated():
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=300)
    views = [2 * np.eye(3)[group] + rng.standard_normal((300, 3)) for _ in range(70)]
    observed = rng.random((300, 70)) < 0.7
    model = vp.ViewPass(3, scale="unit", consensus="plain", random_state=0).fit(views, observed=observed)
    confidence = model.confidence(views, observed=observed)
    assert ((confidence > 1 / 3) & (confidence <= 1)).all()
