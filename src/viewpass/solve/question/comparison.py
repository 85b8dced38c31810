"""Comparison of candidates by the criterion (hidden_views.py), with its error.

A candidate replaces a simpler one if its score is higher by more than the standard error of the difference,
which is counted over rows and over divisions of the rows (folds). Where scores are not above zero, as among
few rows or unrelated views, it must be higher by CLEAR errors. Folds are added until the difference is
clear, or clearly small, or there have been enough. A candidate that is behind is given up sooner than one
that is ahead is taken: where nothing is certain the simpler one is kept anyway.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from viewpass.kernels.portable import ordered_sum
from viewpass.solve.question.hidden_views import Fold, Question, Score

# A difference of so many standard errors needs no further folds: the more, the fewer folds there have been,
# since they say little about how fits differ.
CLEAR, FEW_FOLDS = 2.5, 2.0
SPREAD = 0.05  # of the score: what a difference is assumed to vary by from fold to fold, since fits differ
SMALL = 0.01  # of the score: a difference that does not matter
BEHIND = 1.0  # errors that a candidate may be behind, and still come to be ahead
FOLDS, MOST_FOLDS = 4, 8  # every row is tested once; of few and narrow rows twice, where a candidate is ahead
FEW_ROWS = 3000


class Difference(NamedTuple):
    """How much higher the score of one candidate is than that of another."""

    gain: float
    error: float
    score: float  # of the candidate
    other: float
    n_folds: int = 1

    @property
    def better(self) -> bool:
        """Whether the candidate is better by more than the error, clearly so where labels tell little."""
        return self.gain > self._needed * self.error

    @property
    def matters(self) -> bool:
        """Whether it is better, and by more than a difference that does not matter."""
        return self.better and self.gain > SMALL * self.other

    @property
    def clear(self) -> bool:
        """Whether the difference is certain, or certain not to matter, or the candidate will not be taken."""
        assumed = SPREAD * abs(self.other) / math.sqrt(self.n_folds)
        error = (1.0 + FEW_FOLDS / self.n_folds) * max(self.error, assumed)
        small = self.gain + CLEAR * error < SMALL * self.other
        behind = self.gain < (self._needed - 1.0) * self.error - BEHIND * error
        return self.gain > CLEAR * error or behind or small

    @property
    def _needed(self) -> float:
        """Errors that the candidate must be ahead to be taken."""
        return 1.0 if self.score > 0 else CLEAR


Scorer = Callable[[Fold], Score]


def compared(question: Question, candidate: Scorer, simpler: Scorer) -> Difference:
    """The difference between two candidates, on as many folds as it takes."""
    pairs: list[tuple[Score, Score]] = []
    while True:
        fold = question.fold(len(pairs))
        pairs.append((candidate(fold), simpler(fold)))
        found = difference(pairs)
        more = found.gain > 0 and len(question.usable) < FEW_ROWS and not question.is_costly
        if found.clear or len(pairs) >= (MOST_FOLDS if more else FOLDS):
            return found


def difference(pairs: list[tuple[Score, Score]]) -> Difference:
    """The mean difference of two candidates over folds, and its standard error.

    The error is the larger of two estimates: from the spread of the rows within folds, and from the
    spread of the folds, whose fits differ.
    """
    gains, variances = [], []
    for mine, theirs in pairs:
        n_tests = max(int(mine.n_tests.sum()), 1)
        gain = mine.mean - theirs.mean
        apart = mine.sums - theirs.sums - gain * mine.n_tests
        gains.append(gain)
        variances.append(float(ordered_sum(apart * apart)) / n_tests**2)
    n_folds = len(pairs)
    gain = float(ordered_sum(np.array(gains))) / n_folds
    within = float(ordered_sum(np.array(variances))) / n_folds
    apart = np.array(gains) - gain
    between = float(ordered_sum(apart * apart)) / max(n_folds - 1, 1)
    means = np.array([[score.mean for score in pair] for pair in pairs])
    scores = ordered_sum(means.T) / n_folds
    error = math.sqrt(max(within, between) / n_folds)
    return Difference(gain, error, float(scores[0]), float(scores[1]), n_folds)
