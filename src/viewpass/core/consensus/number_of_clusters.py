"""Estimates the number of clusters, from the eigenvalues of the anchor graph or from merge prices.

    eigengap     K maximises lambda_K - lambda_(K+1)
    merge price  K maximises price(K -> K - 1) / price(K + 1 -> K)

Both scores jump where the next merge would join real clusters; the largest jump is the estimate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viewpass.kernels.grid import Floats, Integers

MAX_CLUSTERS = 100  # that are considered
NEGLIGIBLE = 1e-3  # price, relative to the most expensive merge
KINDS = GAP, PRICE = "eigengap", "merge price"


class Curve(NamedTuple):
    """A score for each number of clusters; the highest is chosen."""

    kind: str  # one of KINDS
    numbers: Integers
    values: Floats

    @property
    def n_clusters(self) -> int:
        """The number with the highest score; the smallest of several."""
        return int(self.numbers[self.values.argmax()])


def from_gaps(eigenvalues: Floats, n_anchors: int | None = None) -> Curve:
    """Eigengaps: K clusters leave a gap behind the K-th eigenvalue.

    Of `n_anchors` eigenvalues the leading MAX_CLUSTERS + 1 are enough; without it all of them are given.
    """
    n_anchors = len(eigenvalues) if n_anchors is None else n_anchors
    numbers = _numbers(n_anchors, n_anchors // 2)
    padded = np.append(eigenvalues, 0.0)
    return Curve(GAP, numbers, padded[numbers - 1] - padded[numbers])


def from_prices(prices: Floats) -> Curve:
    """Price ratios: the first merge of two real clusters costs far more than the merge before it.

    Prices that are negligible or negative count as NEGLIGIBLE times the highest.
    """
    falling = np.maximum(prices[::-1], 0.0)  # falling[0] is the price of the last merge, 2 into 1
    numbers = _numbers(len(falling) + 1, len(falling) - 1)
    least = max(NEGLIGIBLE * falling.max(initial=0.0), np.finfo(float).tiny)
    if len(falling) < 2:
        return Curve(PRICE, numbers, np.ones(1))
    return Curve(PRICE, numbers, falling[numbers - 2] / np.maximum(falling[numbers - 1], least))


def _numbers(n_anchors: int, most: int) -> Integers:
    """The numbers of clusters to consider: from 2 on if there are two anchors."""
    least = min(2, n_anchors)
    return np.arange(least, max(min(most, MAX_CLUSTERS), least) + 1)
