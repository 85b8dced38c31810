"""Comparison of candidates by the criterion (hidden_views.py), with its error.

All candidates are scored fold after fold (division of the rows). One that falls behind is given up.
A candidate replaces a simpler one if its score is higher by more than the standard error of the difference,
which is counted over rows and over folds. Where scores are not above zero, as among few rows or unrelated
views, it must be higher by CLEAR errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from viewpass.kernels.portable import ordered_sum
from viewpass.solve.question.hidden_views import TEST_SHARE, Fold, Question, Score

CLEAR = 2.5  # standard errors behind another: a candidate is given up
SPREAD = 0.03  # of the score: what a difference varies by from fold to fold at least, since fits differ
SMALL = 0.01  # of the score: a difference that does not matter


class Difference(NamedTuple):
    """How much higher the score of one candidate is than that of another."""

    gain: float
    error: float
    score: float  # of the candidate
    other: float
    n_folds: int = 1

    @property
    def better(self) -> bool:
        """Whether the candidate is better by more than the error, and by more than does not matter.

        By CLEAR errors where labels tell little.
        """
        needed = 1.0 if self.score > 0 else CLEAR
        return self.gain > max(needed * self.error, SMALL * self.other)

    @property
    def behind(self) -> bool:
        """Whether the candidate is behind by CLEAR errors."""
        assumed = SPREAD * abs(self.other) / math.sqrt(self.n_folds)
        return self.gain < -CLEAR * max(self.error, assumed)


Scorer = Callable[[Fold], Score]


def race(question: Question, scorers: Sequence[Scorer]) -> list[list[Score]]:
    """The scores of candidates in as many folds as each of them took part in."""
    scores: list[list[Score]] = [[] for _ in scorers]
    left = list(range(len(scorers)))
    for fold in question.folds(TEST_SHARE):
        for own in left:
            scores[own].append(scorers[own](fold))
        left = [own for own in left if not _given_up(own, left, scores)]
        if len(left) < 2:
            break
    return scores


def _given_up(own: int, left: list[int], scores: list[list[Score]]) -> bool:
    """Whether a candidate is behind one of the others that are left."""
    return any(compared(scores[own], scores[other]).behind for other in left if other != own)


def compared(candidate: list[Score], other: list[Score]) -> Difference:
    """The difference between two candidates in the folds that both took part in."""
    return difference(list(zip(candidate, other, strict=False)))


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
