"""Soft assignment of rows to their nearest anchors, and the anchor graph that it gives.

    z_j = (d_{r+1} - d_j) / (r d_{r+1} - d_1 - ... - d_r)   for the r nearest anchors, otherwise 0
    G = sum over rows of z z'                               the links between anchors

d_1 <= d_2 <= ... are the distances of a row (Eq. 15). The weights z do not depend on the number of views
the distances are over. They are rounded to a grid, so G is an exact sum: the order of rows, chunks and
machines does not matter.

With FEWEST_GROUPED anchors or more, a row is compared with the anchors of its nearest groups only:

    groups      ceil(sqrt(M)), by k-means on the M anchors
    searched    the nearest groups of a row, one after another, until they hold as many anchors as
                GROUPS_SEARCHED average groups

The groups are a function of the anchors alone: they are made anew for other anchors, and nothing about them
is stored. No anchor is a result by itself, so a chunk is not iterated until its labels settle
(sums/chunk_step.py): one distance pass gives labels and sums (Eq. 12-16), then the centres move once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from viewpass.kernels.backend import backend
from viewpass.kernels.grid import (
    FEWEST_GROUPED,
    GROUPS_SEARCHED,
    MANY_NEIGHBOURS,
    UNIT,
    Array,
    Floats,
    Integers,
    Labels,
    Links,
    neighbours,
)
from viewpass.sums.centres import Centres, loss, update
from viewpass.sums.chunk_step import ChunkStep, Outcome, State
from viewpass.sums.rules import Rules, Workspace
from viewpass.sums.statistics import Statistics
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows

GROUP_UPDATES = 2  # of k-means


@dataclass(frozen=True)
class Groups:
    """Groups of anchors, and how many anchors a row meets."""

    centres: Centres
    labels: Labels  # the group of each anchor

    @property
    def fewest(self) -> int:
        """Anchors that a row meets, at least."""
        n_anchors = len(self.labels)
        return min(
            max(-(-GROUPS_SEARCHED * n_anchors // self.centres.n_clusters), MANY_NEIGHBOURS + 1), n_anchors
        )

    @property
    def share(self) -> float:
        """Of a distance pass: what it costs to meet the groups and their anchors."""
        return min(1.0, (self.centres.n_clusters + self.fewest) / len(self.labels))


def groups_of(anchors: Centres, like: MeasuredRows, workspace: Workspace) -> Groups | None:
    """The groups of the anchors; None if these are few.

    `like`: any rows that may meet them.
    """
    if anchors.n_clusters < FEWEST_GROUPED:
        return None
    found: Groups = anchors.derived("groups", lambda: _grouped(anchors, like, workspace))
    return found


def _grouped(anchors: Centres, like: MeasuredRows, workspace: Workspace) -> Groups:
    """K-means on the anchors, from evenly spaced ones."""
    n_anchors = anchors.n_clusters
    n_groups = isqrt(n_anchors - 1) + 1
    spaced = np.arange(n_groups) * n_anchors // n_groups
    rules = Rules(alpha=0.0, max_iter=GROUP_UPDATES, tol=0.0, fill="mean")
    rows = _as_rows(anchors, like)
    state = State.without_rows(rows, anchors.take(spaced))
    found = ChunkStep(rules, Workspace(workspace.n_threads)).from_centres(rows, state)
    return Groups(found.centres, found.labels)


def _as_rows(anchors: Centres, like: MeasuredRows) -> MeasuredRows:
    """The anchors as rows that have every view there are centres in, at the length they have."""
    chunk = Chunk.of(list(anchors.values))
    if like.chunk.lengths is not None:
        chunk = replace(chunk, lengths=like.chunk.lengths.at_most())
    inverse = np.array([np.full(anchors.n_clusters, float(u is not None)) for u in anchors.values])
    return MeasuredRows.known(chunk, inverse)


MAX_ROWS = 2**32  # whose z z' add up to less than 2^63


class SoftAssignment(NamedTuple):
    """The nearest anchors of each row and their weights, in units of 1 / UNIT."""

    near: Array
    weights: Integers

    @property
    def labels(self) -> Labels:
        """The nearest anchor of each row; -1 without any view."""
        return np.where(self.weights[:, 0] > 0, self.near[:, 0], -1).astype(np.int32)

    def of(self, values: Floats) -> Floats:
        """The weighted mean of these values of the anchors (one row per anchor), for each row."""
        mixed = np.zeros((len(self.near), values.shape[1]))
        for near, weights in zip(self.near.T, self.weights.T, strict=True):
            mixed += (weights / UNIT)[:, None] * values[near]
        return mixed


def soft_assignment(
    rows: MeasuredRows, anchors: Centres, workspace: Workspace, *, n_near: int | None = None
) -> SoftAssignment:
    """Soft assignment of the rows to the anchors, through groups where these are many.

    `n_near`: how many anchors a row is a mixture of, fewer than there are; every anchor is then compared.
    """
    groups = groups_of(anchors, rows, workspace) if n_near is None else None
    if groups is not None:
        return searched(rows, anchors, groups, workspace)[0]
    rows.measure(workspace.n_threads)
    given = anchors.suited(rows), n_near or neighbours(anchors.n_clusters), workspace.n_threads
    soft = backend().soft_assign(rows.handle, *given)
    workspace.n_compared += rows.n_rows
    return SoftAssignment(*soft)


def searched(
    rows: MeasuredRows, anchors: Centres, groups: Groups, workspace: Workspace
) -> tuple[SoftAssignment, Array]:
    """Soft assignment to the anchors that rows meet, and the squared distance of the nearest of them."""
    rows.measure(workspace.n_threads)
    met = groups.centres.suited(rows), groups.labels, groups.fewest
    near, weights, distance = backend().search_anchors(
        rows.handle, anchors.suited(rows), *met, workspace.n_threads
    )
    workspace.n_compared += rows.n_rows * groups.share
    return SoftAssignment(near, weights), distance


def links_of(rows: SoftAssignment, n_anchors: int, copies: Integers | None = None) -> Links:
    """G of these rows, each as often as it counts, in units of 1 / UNIT^2."""
    return held_links(backend().links_of(rows.near, rows.weights, copies, n_anchors))


def link_parts(links: Links) -> tuple[Integers, Integers, Integers]:
    """Links in the form that kernels take: where each anchor's begin, with which anchor, and how many."""
    starts, columns, values = (
        part.astype(np.int64, copy=False) for part in (links.indptr, links.indices, links.data)
    )
    return starts, columns, values


def held_links(parts: tuple[Integers, Integers, Integers]) -> Links:
    """Links from that form."""
    starts, columns, values = parts
    return csr_array((values, columns, starts), shape=(len(starts) - 1,) * 2)


def sparse_links(given: Any, n_anchors: int) -> Links:
    """Links in the form they are kept in, from a table, or from values and where they are added."""
    links = csr_array(given, shape=(n_anchors, n_anchors), dtype=np.int64)
    links.sum_duplicates()
    links.eliminate_zeros()
    return links


def searched_updates(
    rows: MeasuredRows, state: State, rules: Rules, workspace: Workspace, counted: Labels | None = None
) -> Outcome:
    """Process rows again and again, until no label changes or the updates that the rules allow are made.

    `counted`: labels under which the statistics already include the rows. `state` is not changed.
    """
    outcome = _step(rows, state, rules, workspace, counted)
    while outcome.n_iter < rules.max_iter:
        before = outcome
        outcome = _step(rows, before, rules, workspace, before.labels)
        outcome.n_iter += before.n_iter
        if np.array_equal(outcome.labels, before.labels):
            break
    return outcome


def _step(
    rows: MeasuredRows, state: State, rules: Rules, workspace: Workspace, counted: Labels | None
) -> Outcome:
    """Assign the rows once, then update the centres once."""
    labels, n_threads = soft_assignment(rows, state.centres, workspace).labels, workspace.n_threads
    total = state.total.widened(state.centres.widths(state.total.widths)).copy()
    if counted is None:
        total.move(rows, labels, 1, n_threads)
    else:
        counted = np.where(labels >= 0, counted, -1).astype(np.int32)
        labels = np.where(counted >= 0, labels, -1).astype(np.int32)
        moved = np.flatnonzero(counted != labels)
        total.move(rows, counted, -1, n_threads, moved)
        total.move(rows, labels, 1, n_threads, moved)
    seen = np.asarray(rows.inverse[:, rows.counted].any(axis=1))
    everyone, fill = np.ones(total.n_clusters, dtype=bool), rules.fill is not None
    means = _means(rows, n_threads) if fill else [None] * len(seen)
    centres = update(total, seen, state.centres, everyone, rules.alpha, fill=fill, means=means)
    value = loss(centres, total, rules.alpha, ~everyone)
    margins = np.where(labels >= 0, 0.0, np.inf)
    return Outcome(total, centres, labels, margins, np.array([value]), 1)


def _means(rows: MeasuredRows, n_threads: int) -> list[Floats | None]:
    """The mean of the rows in each view."""
    total = Statistics(1, rows.widths)
    total.move(rows, np.zeros(rows.n_rows, dtype=np.int32), 1, n_threads)
    return [total.mean(v, rows) for v in range(rows.n_views)]
