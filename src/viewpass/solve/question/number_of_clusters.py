"""The score of each number of clusters, by the criterion (hidden_views.py).

Anchors fitted to part of the rows are cut into 2, 3, 4 ... clusters, by their graph or by merging; the rows
set aside follow their anchors. model/curve.py reads the number off the curve.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewpass.model.curve import Curve
from viewpass.solve.question.candidates import Anchored
from viewpass.solve.question.comparison import difference
from viewpass.solve.question.hidden_views import Question, Score

FINE, GROWTH, MOST = 20, 1.2, 60  # every number up to FINE, then GROWTH times the one before, up to MOST
ANCHORS_PER_CLUSTER = 4  # at least


def tried(n_anchors: int) -> list[int]:
    """The numbers of clusters to try."""
    most, found = min(n_anchors // ANCHORS_PER_CLUSTER, MOST), [2]
    while found[-1] < most:
        last = found[-1]
        found.append(min(last + 1 if last < FINE else int(np.ceil(last * GROWTH)), most))
    return found


def curve_of(
    question: Question, fits: Sequence[Anchored], shape: str, spaces: Sequence[tuple[str, ...]]
) -> Curve:
    """The score of each number of clusters, given anchors fitted in the first folds."""
    numbers = tried(fits[0].links.shape[0])
    scores: list[list[Score]] = [[] for _ in numbers]
    for fold, anchored in zip(question.folds(len(fits)), fits, strict=True):
        for own, labels in zip(scores, anchored.cuts(numbers, shape), strict=True):
            own.append(fold.score(labels, spaces))
    values = np.array([np.cumsum([each.mean for each in own])[-1] / len(own) for own in scores])
    best = scores[int(values.argmax())]
    errors = np.array([difference(list(zip(own, best, strict=True))).error for own in scores])
    typical = np.sort(errors)[len(errors) // 2]  # few folds may be alike by chance
    return Curve(np.array(numbers), values, np.maximum(errors, typical))
