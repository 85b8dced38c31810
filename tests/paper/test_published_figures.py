"""Digit under the published procedure, 50 seeds, against an independent reading of the paper."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.reproduction import N_SEEDS, REFERENCE, measured


@pytest.mark.long
@pytest.mark.data
@pytest.mark.parametrize("setting", REFERENCE, ids=str)
def test_within_three_standard_errors_of_the_difference(setting, data_folder):
    mean, spread = measured(setting)
    acc, acc_spread, information, information_spread = REFERENCE[setting]
    error = np.sqrt((spread**2 + np.array([acc_spread, information_spread]) ** 2) / N_SEEDS)
    assert np.all(np.abs(mean - [acc, information]) <= 3 * error)
