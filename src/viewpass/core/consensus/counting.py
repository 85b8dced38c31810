"""How many clusters? Read off the eigenvalues of the graph, or the prices of the merges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viewpass.kernels.grid import Floats, Integers

MOST = 100  # clusters that are looked for


class Curve(NamedTuple):
    """A value for each number of clusters; the largest tells."""

    kind: str  # "eigengap" or "merge price"
    numbers: Integers
    values: Floats

    @property
    def n_clusters(self) -> int:
        """The number with the largest value, the smallest of several."""
        return int(self.numbers[self.values.argmax()])


def from_gaps(eigenvalues: Floats) -> Curve:
    """K clusters leave a gap behind the K-th eigenvalue."""
    most = min(MOST, len(eigenvalues) // 2)
    numbers = np.arange(2, max(most, 2) + 1)
    padded = np.append(eigenvalues, 0.0)
    return Curve("eigengap", numbers, padded[numbers - 1] - padded[np.minimum(numbers, len(padded) - 1)])


def from_prices(prices: Floats) -> Curve:
    """The first merge that joins what belongs apart costs far more than the one before it.

    The value of K is what merging K clusters into K - 1 costs, over what K + 1 into K did.
    """
    falling = prices[::-1]  # falling[0] is the price of the last merge, 2 into 1
    most = min(MOST, len(falling) - 1)
    numbers = np.arange(2, max(most, 2) + 1)
    if len(falling) < 2:
        return Curve("merge price", numbers[:1], np.ones(1))
    here = falling[numbers - 2]
    before = np.maximum(falling[np.minimum(numbers - 1, len(falling) - 1)], np.finfo(float).tiny)
    return Curve("merge price", numbers, here / before)
