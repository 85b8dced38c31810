"""How many clusters? Read off the eigenvalues of the graph, or the prices of the merges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viewpass.kernels.grid import Floats, Integers

MOST = 100  # clusters that are looked for
NOTHING = 1e-3
KINDS = GAP, PRICE = "eigengap", "merge price"


class Curve(NamedTuple):
    """A value for each number of clusters; the largest tells."""

    kind: str  # of KINDS
    numbers: Integers
    values: Floats

    @property
    def n_clusters(self) -> int:
        """The number with the largest value, the smallest of several."""
        return int(self.numbers[self.values.argmax()])


def from_gaps(eigenvalues: Floats, n_anchors: int | None = None) -> Curve:
    """K clusters leave a gap behind the K-th eigenvalue.

    Of `n_anchors` eigenvalues the leading MOST + 1 are enough; without it all of them are given.
    """
    n_anchors = len(eigenvalues) if n_anchors is None else n_anchors
    numbers = _numbers(n_anchors, n_anchors // 2)
    padded = np.append(eigenvalues, 0.0)
    return Curve(GAP, numbers, padded[numbers - 1] - padded[numbers])


def from_prices(prices: Floats) -> Curve:
    """The first merge that joins what belongs apart costs far more than the one before it.

    The value of K is what merging K clusters into K - 1 costs, over what K + 1 into K did. A price that is
    next to nothing, or a gain, counts as NOTHING of the dearest one.
    """
    falling = np.maximum(prices[::-1], 0.0)  # falling[0] is the price of the last merge, 2 into 1
    numbers = _numbers(len(falling) + 1, len(falling) - 1)
    least = max(NOTHING * falling.max(initial=0.0), np.finfo(float).tiny)
    if len(falling) < 2:
        return Curve(PRICE, numbers, np.ones(1))
    return Curve(PRICE, numbers, falling[numbers - 2] / np.maximum(falling[numbers - 1], least))


def _numbers(n_anchors: int, most: int) -> Integers:
    """The numbers of clusters that are looked at: from 2 on, where there are so many anchors."""
    least = min(2, n_anchors)
    return np.arange(least, max(min(most, MOST), least) + 1)
