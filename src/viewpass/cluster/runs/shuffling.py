"""Random numbers of rows that follow from their number alone, so that samples are the same everywhere."""

from __future__ import annotations

import numpy as np

from viewpass.kernels.grid import Floats, Integers

SAMPLE = 2000  # rows of a summary


def shuffled(numbers: Integers, seed: int) -> Floats:
    """A number from 0 to 1 for each row, uniform and the same everywhere (splitmix64)."""
    with np.errstate(over="ignore"):
        x = numbers.astype(np.uint64) + np.uint64(seed % 2**32) * np.uint64(0xD1342543DE82EF95)
        x = x * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x = x ^ (x >> np.uint64(31))
    return (x >> np.uint64(11)).astype(np.float64) * 2.0**-53
