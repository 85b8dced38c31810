"""Candidates of the criterion (hidden_views.py): clusters with centres, or of an anchor graph.

They are fitted to some of the rows. For the number of clusters, anchors fitted to part of the rows are cut
into 2, 3, 4 ... clusters, by their graph or by merging; the rows set aside follow their anchors.
model/choice.py reads the number off the curve.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from viewpass.graph import spectral as graph
from viewpass.graph.cut import merges
from viewpass.graph.soft_assignment import SoftAssignment, links_of, soft_assignment
from viewpass.kernels.grid import Labels, Links
from viewpass.kernels.threads import cached_property
from viewpass.model.choice import Curve
from viewpass.model.model import assign
from viewpass.solve import starts
from viewpass.solve.centres import (
    ASSUMED_CLUSTERS,
    MIN_ANCHORS_PER_CLUSTER,
    anchors_for,
    ridged,
)
from viewpass.solve.plan import ROWS_PER_CENTRE, SMALL_PER_CLUSTER, VALUES, Plan
from viewpass.solve.question.comparison import difference
from viewpass.solve.question.hidden_views import Fold, Question, Scaled, Score
from viewpass.solve.ridge import start_ridge
from viewpass.sums.chunk_step import ChunkStep, Outcome
from viewpass.sums.rules import Alpha
from viewpass.sums.statistics import Statistics
from viewpass.views.rows import MeasuredRows
from viewpass.views.seeds import own_generator

RESTARTS = 5  # of the k-means that cuts a graph
SEPARATED = 0.99  # of rows have the same label by some views as by all: clusters are well separated


class Fitted(NamedTuple):
    """A candidate fitted to the rows of a fold."""

    labels: list[Labels]  # of the rows set aside, with each group of views hidden
    separated: bool = False  # whether it hardly matters which views rows are labelled by; of the first fold


class Anchored:
    """Anchors fitted to the rows of a fold, which can become any number of clusters.

    They are what a graph is made of, and where clusters with centres start from.
    """

    def __init__(self, fold: Fold, rows: Scaled, first: Outcome) -> None:
        self.fold, self.rows, self._first = fold, rows, first
        self._plan, self._workspace = _plan(fold), fold.question.workspace
        self._nearest: list[Labels] = []
        self._soft: list[SoftAssignment] = []

    @classmethod
    def fitted(cls, fold: Fold, names: tuple[str, ...], n_anchors: int) -> Anchored:
        """Anchors of the rows of a fold in a scale."""
        rows, step = fold.scaled(names), ChunkStep(_plan(fold).rules, fold.question.workspace)
        rng = own_generator(fold.number)
        return cls(fold, rows, starts.quick_anchors(rows.fitted, n_anchors, step, rng))

    @property
    def total(self) -> Statistics:
        """Statistics of the anchors."""
        return self._settled[0].total

    @property
    def alpha(self) -> Alpha:
        """Their ridge."""
        return self._settled[1]

    @cached_property
    def links(self) -> Links:
        """The anchor graph."""
        outcome, fitted = self._settled[0], self.rows.fitted
        soft = soft_assignment(fitted, outcome.centres, self._workspace)
        return links_of(soft, outcome.total.n_clusters, fitted.chunk.copies)

    @cached_property
    def _settled(self) -> tuple[Outcome, Alpha]:
        return ridged(self.rows.fitted, self._plan, self._first, self._workspace, whole=False)

    def cuts(self, numbers: Sequence[int], shape: str) -> Iterator[list[Labels]]:
        """Labels with views hidden, for several numbers of clusters, by "graph" or "merge"."""
        if not self._nearest:
            self._nearest = self.fold.labels(self.rows.tested, self._find_nearest)
        if shape == "merge":
            merging = merges(self.total, self.alpha)
            for n_clusters in numbers:
                of_anchor = np.append(merging.labels(n_clusters), -1)
                yield [of_anchor[near] for near in self._nearest]
            return
        for cut in graph.cuts(self.links, numbers, RESTARTS):
            parts = zip(self._soft, self._nearest, strict=True)
            yield [np.where(near >= 0, cut.labels_of(soft), -1) for soft, near in parts]

    def _find_nearest(self, rows: MeasuredRows) -> Labels:
        self._soft.append(soft_assignment(rows, self._settled[0].centres, self._workspace))
        return self._soft[-1].near[:, 0].astype(np.int32)

    def plain(self, n_clusters: int) -> Fitted:
        """Clusters with centres of their own."""
        fitted, tested = self.rows
        plan, first, workspace = replace(self._plan, n_clusters=n_clusters), self._first, self._workspace
        ridge = start_ridge(fitted.n_counted, n_clusters, plan.rules.alpha)
        cluster_of = np.append(merges(first.total, ridge, to_mean=True).labels(n_clusters), -1)
        labels = cluster_of[first.labels].astype(np.int32)
        step = ChunkStep(plan.rules, workspace).at_most(2 * starts.UPDATES)
        outcome = step.from_labels(fitted, labels, n_clusters)
        outcome, _ = ridged(fitted, plan, outcome, workspace, whole=False)

        def labeller(rows: MeasuredRows) -> Labels:
            return assign(rows, outcome.centres, workspace)[0]

        found = self.fold.labels(tested, labeller)
        first_fold = self.fold.number == 0
        groups = self.fold.question.groups
        return Fitted(found, first_fold and _separated(tested, groups, found, labeller(tested)))


def n_anchors_of(question: Question, n_clusters: int | None) -> int:
    """Number of anchors to try; 0 if the rows are too few for a graph."""
    n_rows, n_columns = question.n_fitted, question.rows.n_columns
    plan = replace(question.plan, n_clusters=n_clusters, consensus="auto")
    least = MIN_ANCHORS_PER_CLUSTER * (n_clusters or ASSUMED_CLUSTERS)
    carried = min(max(n_rows // ROWS_PER_CENTRE, least), n_rows // 2)  # `n_anchors` is for many more rows
    fitting = max(VALUES // (2 * n_columns), least)
    return min(anchors_for(plan, n_rows, n_columns), carried, fitting)


def n_small(question: Question) -> int:
    """Number of anchors where no graph can be asked for: clusters with centres start from them."""
    n_columns, n_clusters = question.rows.n_columns, question.n_clusters
    return max(starts.few_small(n_columns, question.n_fitted, n_clusters), n_clusters)


def _plan(fold: Fold) -> Plan:
    """The plan of centres, with equal view weights."""
    plan = fold.question.plan
    return replace(plan, n_clusters=None, consensus="plain", weights=None)


def _separated(
    rows: MeasuredRows, groups: Sequence[Sequence[int]], labels: Sequence[Labels], whole: Labels
) -> bool:
    """Whether rows have the same labels without each group of views as with all they have."""
    for group, each in zip(groups, labels, strict=True):
        both = (each >= 0) & (rows.inverse[list(group)] > 0).any(axis=0)
        kept = each[both] == whole[both]
        if len(np.unique(whole[both])) < 2 or kept.mean() < SEPARATED:
            return False
    return True


FINE, GROWTH = 20, 1.2  # every number up to FINE, then GROWTH times the one before


def tried(n_anchors: int) -> list[int]:
    """The numbers of clusters to try."""
    most, found = n_anchors // SMALL_PER_CLUSTER, [2]
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
