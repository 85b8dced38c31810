"""Candidates of the criterion (hidden_views.py): clusters with centres, or of an anchor graph.

They are fitted to some of the rows, as a stream is started.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from viewpass.core.auto.hidden_views import Fold, Question
from viewpass.core.consensus import graph
from viewpass.core.consensus.agglomeration import merges
from viewpass.core.consensus.mutual_information import adjusted_mutual_information
from viewpass.core.consensus.soft_assignment import SoftAssignment, links_of, soft_assignment
from viewpass.core.initialise import (
    ASSUMED_CLUSTERS,
    MIN_ANCHORS_PER_CLUSTER,
    anchors_for,
    initialise_anchors,
    initialise_ridged,
)
from viewpass.core.model import assign
from viewpass.core.plan import Plan
from viewpass.core.state.view_weights import Weights, learnt_weights
from viewpass.kernels.grid import Labels
from viewpass.views.projection import Projection
from viewpass.views.rows import MeasuredRows
from viewpass.views.seeds import own_generator

ANCHOR_VALUES = 2**22  # columns x anchors that are tried, unless that leaves too few anchors
RESTARTS = 5  # of the k-means that cuts a graph
SEPARATED = 0.95  # agreement of labels by some views with those by all: clusters are well separated


class Fitted(NamedTuple):
    """A candidate fitted to the rows of a fold."""

    labels: list[Labels]  # of the rows set aside, with each group of views hidden
    separated: bool = False  # whether it hardly matters which views rows are labelled by; of the first fold


def plain(fold: Fold, names: tuple[str, ...], *, weigh: bool = False) -> Fitted:
    """Clusters with centres of their own; `weigh`: with view weights learnt from them."""
    question, scaled = fold.question, fold.scaled(names)
    rng = own_generator(fold.number)
    plan, workspace = _plan(fold, question.n_clusters), question.workspace
    outcome, alpha = initialise_ridged(scaled.fitted, plan, workspace, rng)
    weights: Weights | None = None
    if weigh:
        weights = learnt_weights(outcome.total, alpha, scaled.fitted.squares.tolist())
        outcome, alpha = initialise_ridged(_weighted(scaled.fitted, weights), plan, workspace, rng)
    centres = outcome.centres

    def labeller(rows: MeasuredRows) -> Labels:
        return assign(_weighted(rows, weights), centres, workspace)[0]

    tested = scaled.tested
    labels = fold.labels(tested, labeller)
    return Fitted(labels, fold.number == 0 and _separated(tested, question.groups, labels, labeller(tested)))


class Anchored:
    """Anchors fitted to the rows of a fold, which can be cut into any number of clusters."""

    def __init__(
        self, fold: Fold, names: tuple[str, ...], n_anchors: int, projection: Projection | None = None
    ) -> None:
        question, scaled = fold.question, fold.scaled(names)
        fitted, tested = (_mapped(rows, projection) for rows in scaled)
        plan, workspace, rng = _plan(fold, None), question.workspace, own_generator(fold.number)
        outcome, self.alpha = initialise_anchors(fitted, n_anchors, plan, workspace, rng)
        soft = soft_assignment(fitted, outcome.centres, workspace)
        self.total = outcome.total
        self.links = links_of(soft, n_anchors, fitted.chunk.copies)
        self._soft: list[SoftAssignment] = []

        def nearest(rows: MeasuredRows) -> Labels:
            self._soft.append(soft_assignment(rows, outcome.centres, workspace))
            return self._soft[-1].near[:, 0].astype(np.int32)

        self._nearest = fold.labels(tested, nearest)

    def cuts(self, numbers: Sequence[int], shape: str) -> Iterator[list[Labels]]:
        """Labels with views hidden, for several numbers of clusters, by "graph" or "merge"."""
        if shape == "merge":
            merging = merges(self.total, self.alpha)
            for n_clusters in numbers:
                of_anchor = np.append(merging.labels(n_clusters), -1)
                yield [of_anchor[near] for near in self._nearest]
            return
        for cut in graph.cuts(self.links, numbers, RESTARTS):
            parts = zip(self._soft, self._nearest, strict=True)
            yield [np.where(near >= 0, cut.labels_of(soft), -1) for soft, near in parts]


def n_anchors_of(question: Question, n_clusters: int | None) -> int:
    """Number of anchors to try; 0 if the rows are too few for a graph."""
    n_rows, n_columns = question.n_fitted, question.rows.n_columns
    plan = replace(question.plan, n_clusters=n_clusters, consensus="auto")
    fitting = max(ANCHOR_VALUES // n_columns, MIN_ANCHORS_PER_CLUSTER * (n_clusters or ASSUMED_CLUSTERS))
    return min(anchors_for(plan, n_rows, n_columns), n_rows // 2, fitting)


def _plan(fold: Fold, n_clusters: int | None) -> Plan:
    """The plan with the default start, for these clusters."""
    plan = fold.question.plan
    return replace(plan, n_clusters=n_clusters, init="auto", consensus="plain", weights=None, n_init=1)


def _mapped(rows: MeasuredRows, projection: Projection | None) -> MeasuredRows:
    if projection is None:
        return rows
    return MeasuredRows(projection.apply(rows.chunk), reference=rows.reference).measure()


def _weighted(rows: MeasuredRows, weights: Weights | None) -> MeasuredRows:
    if weights is None:
        return rows
    return MeasuredRows(rows.chunk, reference=rows.reference, weights=weights).measure()


def _separated(
    rows: MeasuredRows, groups: Sequence[Sequence[int]], labels: Sequence[Labels], whole: Labels
) -> bool:
    """Whether rows have the same labels without each group of views as with all they have."""
    for group, each in zip(groups, labels, strict=True):
        both = (each >= 0) & (rows.inverse[list(group)] > 0).any(axis=0)
        if (
            len(np.unique(whole[both])) < 2
            or adjusted_mutual_information(each[both], whole[both]) < SEPARATED
        ):
            return False
    return True
