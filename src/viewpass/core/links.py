"""What anchors have in common: G = sum over rows of z z', where z are weights on a row's nearest anchors.

The weights are closed-form, w_j = (d_{r+1} - d_j) / (r d_{r+1} - d_1 - ... - d_r), and do not depend
on how many views the distances are over. They lie on a grid, so that G is an exact sum like all
others: the order of rows, of chunks and of machines does not matter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viewpass.core.assign import Decision, Workspace
from viewpass.core.centres import Centres
from viewpass.core.nearness import looked_at
from viewpass.kernels.grid import Array, Floats, Integers
from viewpass.kernels.links import MOST_NEAR, UNIT, kernel
from viewpass.views.rows import MeasuredRows

NEIGHBOURS = MOST_NEAR  # anchors a row is a mixture of
MOST_ROWS = 2**32  # z z' of so many rows fit into 63 bits


class Mixture(NamedTuple):
    """Rows by their nearest anchors: which, and with what weight (in 1 / UNIT)."""

    near: Array
    weights: Integers

    def of(self, values: Floats) -> Floats:
        """What each row is if the anchors are these (one row each)."""
        mixed = np.zeros((len(self.near), values.shape[1]))
        for near, weights in zip(self.near.T, self.weights.T, strict=True):
            mixed += (weights / UNIT)[:, None] * values[near]
        return mixed


def mixture(distance: Floats, n_seen: Integers) -> Mixture:
    """Rows as mixtures of anchors, from the distances to all of them."""
    n_rows, n_anchors = distance.shape
    n_near = max(1, min(NEIGHBOURS, n_anchors - 1))
    near = np.zeros((n_rows, n_near), dtype=np.int32)
    weights = np.zeros((n_rows, n_near), dtype=np.int64)
    if n_anchors == 1:
        weights[n_seen > 0] = UNIT
    else:
        distance, n_seen = np.ascontiguousarray(distance), np.ascontiguousarray(n_seen, dtype=np.int64)
        there = (_address(each) for each in (n_seen, near, weights))
        kernel("mix")(_address(distance), n_rows, n_anchors, *there, n_near)
    return Mixture(near, weights)


def _address(array: Array) -> int:
    where: int = array.__array_interface__["data"][0]
    return where


def mixture_of(rows: MeasuredRows, centres: Centres, workspace: Workspace) -> Mixture:
    """The same, after a look at all anchors."""
    return mixture(looked_at(rows, centres, workspace), rows.n_seen)


def first_mixture(rows: MeasuredRows, centres: Centres, decision: Decision, workspace: Workspace) -> Mixture:
    """The same from the first look, if it was told to mix and all rows were in its range.

    Its distances are without |x|^2, which weights do not depend on. Those of views of different kinds
    would be of no use: their last bits depend on the number of threads.
    """
    if decision.mixture is None or not np.isfinite(decision.slack).all():
        return mixture_of(rows, centres, workspace)
    return Mixture(*decision.mixture)


def links_of(rows: Mixture, n_anchors: int) -> Integers:
    """G of these rows, in 1 / UNIT^2."""
    links = np.zeros((n_anchors, n_anchors), dtype=np.int64)
    kernel("link")(rows.near, rows.weights, links)
    return links
