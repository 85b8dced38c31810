"""Soft assignment of rows to their nearest anchors, and the anchor graph that it gives.

    z_j = (d_{r+1} - d_j) / (r d_{r+1} - d_1 - ... - d_r)   for the r nearest anchors, otherwise 0
    G = sum over rows of z z'                               the links between anchors

d_1 <= d_2 <= ... are the distances of a row (Eq. 15). The weights z do not depend on the number of views
the distances are over. They are rounded to a grid, so G is an exact sum: the order of rows, chunks and
machines does not matter.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from viewpass.graph.groups import Groups, groups_of
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import UNIT, Array, Floats, Integers, Labels, Links, neighbours
from viewpass.sums.centres import Centres
from viewpass.sums.workspace import Workspace
from viewpass.views.rows import MeasuredRows

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
    soft = backend(rows.reference).soft_assign(rows.handle, *given)
    workspace.n_compared += rows.n_rows
    return SoftAssignment(*soft)


def searched(
    rows: MeasuredRows, anchors: Centres, groups: Groups, workspace: Workspace
) -> tuple[SoftAssignment, Array]:
    """Soft assignment to the anchors that rows meet, and the squared distance of the nearest of them."""
    rows.measure(workspace.n_threads)
    met = groups.centres.suited(rows), groups.labels, groups.fewest
    near, weights, distance = backend(rows.reference).search_anchors(
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
