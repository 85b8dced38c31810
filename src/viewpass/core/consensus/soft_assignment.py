"""What anchors have in common: G = sum over rows of z z', where z are weights on a row's nearest anchors.

The weights are closed-form, w_j = (d_{r+1} - d_j) / (r d_{r+1} - d_1 - ... - d_r), and do not depend
on how many views the distances are over. They lie on a grid, so that G is an exact sum like all
others: the order of rows, of chunks and of machines does not matter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viewpass.core.state.centres import Centres
from viewpass.core.step.workspace import Workspace
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Array, Floats, Integers
from viewpass.kernels.links import UNIT
from viewpass.views.rows import MeasuredRows

MOST_ROWS = 2**32  # z z' of so many rows fit into 63 bits


class SoftAssignment(NamedTuple):
    """Rows by their nearest anchors: which, and with what weight (in 1 / UNIT)."""

    near: Array
    weights: Integers

    def of(self, values: Floats) -> Floats:
        """What each row is if the anchors are these (one row each)."""
        mixed = np.zeros((len(self.near), values.shape[1]))
        for near, weights in zip(self.near.T, self.weights.T, strict=True):
            mixed += (weights / UNIT)[:, None] * values[near]
        return mixed


def soft_assignment(rows: MeasuredRows, anchors: Centres, workspace: Workspace) -> SoftAssignment:
    """Rows as mixtures of their nearest anchors."""
    rows.measure(workspace.n_threads)
    soft = backend(rows.reference).soft_assign(rows.handle, anchors.suited(rows), workspace.n_threads)
    workspace.n_compared += rows.n_rows
    return SoftAssignment(*soft)


def links_of(rows: SoftAssignment, n_anchors: int) -> Integers:
    """G of these rows, in 1 / UNIT^2."""
    links = np.zeros((n_anchors, n_anchors), dtype=np.int64)
    backend().add_links(*rows, links)
    return links
