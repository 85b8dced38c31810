"""Soft assignment of rows to their nearest anchors, and the anchor graph that it gives.

    z_j = (d_{r+1} - d_j) / (r d_{r+1} - d_1 - ... - d_r)   for the r nearest anchors, otherwise 0
    G = sum over rows of z z'                               the links between anchors

d_1 <= d_2 <= ... are the distances of a row (Eq. 15). The weights z do not depend on the number of views
the distances are over. They are rounded to a grid, so G is an exact sum: the order of rows, chunks and
machines does not matter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viewpass.core.state.centres import Centres
from viewpass.core.step.workspace import Workspace
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import UNIT, Array, Floats, Integers
from viewpass.views.rows import MeasuredRows

MAX_ROWS = 2**32  # whose z z' add up to less than 2^63


class SoftAssignment(NamedTuple):
    """The nearest anchors of each row and their weights, in units of 1 / UNIT."""

    near: Array
    weights: Integers

    def of(self, values: Floats) -> Floats:
        """The weighted mean of these values of the anchors (one row per anchor), for each row."""
        mixed = np.zeros((len(self.near), values.shape[1]))
        for near, weights in zip(self.near.T, self.weights.T, strict=True):
            mixed += (weights / UNIT)[:, None] * values[near]
        return mixed


def soft_assignment(rows: MeasuredRows, anchors: Centres, workspace: Workspace) -> SoftAssignment:
    """Soft assignment of the rows to the anchors."""
    rows.measure(workspace.n_threads)
    soft = backend(rows.reference).soft_assign(rows.handle, anchors.suited(rows), workspace.n_threads)
    workspace.n_compared += rows.n_rows
    return SoftAssignment(*soft)


def links_of(rows: SoftAssignment, n_anchors: int, copies: Integers | None = None) -> Integers:
    """G of these rows, each as often as it counts, in units of 1 / UNIT^2."""
    links = np.zeros((n_anchors, n_anchors), dtype=np.int64)
    backend().add_links(*rows, links, copies)
    return links
