"""What was chosen from the sample, and the curve that the number of clusters is read off.

For each number of clusters the curve has how well labels predict hidden views
(solve/question/hidden_views.py). As long as clusters are split that differ in every view, labels predict
more; beyond, they do not. The number is

    the smallest whose score is within two standard errors (or 2 %) of the highest, if the curve has a peak,
    the knee, where the gain per cluster drops most (at least threefold), if it keeps rising.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from viewpass.kernels.grid import Floats, Integers


@dataclass(frozen=True)
class Choice:
    """Something that was chosen from the first rows.

    Attributes
    ----------
    what : str
        "scale", "consensus", "projection", "view_weights" or "n_clusters".
    chosen : str
        The candidate that was taken.
    scores : dict of str to float
        The score of each candidate that was tried, in nats; empty if nothing had to be asked.
    error : float
        The standard error of the difference that decided; 0 if nothing had to be asked.
    reason : str
        Why it was taken, in a few words.
    """

    what: str
    chosen: str
    scores: Mapping[str, float] = field(default_factory=dict)
    error: float = 0.0
    reason: str = ""

    def __str__(self) -> str:
        scores = ", ".join(f"{name} {score:.3f}" for name, score in self.scores.items())
        return f"{self.what}: {self.chosen} ({self.reason}{'; ' if scores else ''}{scores})"


WITHIN, SMALL = 2.0, 0.02  # standard errors of the highest score, or share of it: what counts as the same
KNEE = 3.0  # how many times larger the gain per cluster is before a knee than behind it
SPAN = 3  # numbers on each side that the gains are taken over
ALIKE = 0.5  # of the numbers tried: if more are within the error, the rows do not determine the number


class Estimate(NamedTuple):
    """A number of clusters, and whether the curve determines it."""

    n_clusters: int
    clear: bool
    reason: str


class Curve(NamedTuple):
    """A score for each number of clusters, and the error of its difference from the highest."""

    numbers: Integers
    values: Floats
    errors: Floats

    @property
    def n_clusters(self) -> int:
        """The number that is read off the curve."""
        return self.estimate().n_clusters

    def estimate(self, known: int | None = None) -> Estimate:
        """Read the number of clusters off the curve, and say whether it is clear.

        `known`: the number before, which is kept where it scores like the highest.
        """
        numbers, values = self.numbers, self.values
        highest = values.max()
        near = np.flatnonzero(values >= highest - np.maximum(WITHIN * self.errors, SMALL * highest))
        if known is not None and known in numbers[near]:
            return Estimate(known, True, "the number before, within two errors of the highest score")
        smallest = int(numbers[near[0]])
        if len(near) > max(ALIKE * len(numbers), 1):
            return Estimate(smallest, False, f"{smallest} to {numbers[near[-1]]} clusters score alike")
        if near[-1] < len(numbers) - 1 or len(numbers) == 1:
            return Estimate(smallest, True, "the smallest within two errors of the highest score")
        knee, ratio = self._knee()
        if ratio >= KNEE:
            return Estimate(knee, True, f"beyond it the score rises {min(ratio, 99.0):.0f} times more slowly")
        return Estimate(knee or smallest, False, "the score keeps rising with the number of clusters")

    def _knee(self) -> tuple[int, float]:
        """The number with the sharpest bend, and the ratio of the gains per cluster before and behind it."""
        numbers, values, best = self.numbers, self.values, (0, 0.0)
        least = 1e-3 * max(float(values.max() - values.min()), np.finfo(float).tiny)
        for i in range(1, len(numbers) - SPAN):
            low, high = max(i - SPAN, 0), i + SPAN
            before = (values[i] - values[low]) / (numbers[i] - numbers[low])
            behind = (values[high] - values[i]) / (numbers[high] - numbers[i])
            ratio = float(before / max(behind, least))
            if ratio > best[1]:
                best = int(numbers[i]), ratio
        return best
