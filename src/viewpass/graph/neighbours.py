"""The neighbour graph: rows linked with their nearest rows, view by view.

    A_v[i, j] = 1 if row j is one of the NEAREST rows to row i in view v, otherwise 0
    G[i, j] = sum over views of A_v[i, j] + A_v[j, i], divided by the number of views that both rows have

Views are compared one at a time, so that rows which lack some are not nearer or farther for it. No averages
of rows are needed, which mean little for a few rows of wide and sparse views, such as words.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import issparse

from viewpass.graph.soft_assignment import soft_assignment, sparse_links
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import UNIT, Array, Links
from viewpass.sums.centres import Centres
from viewpass.sums.rules import Workspace
from viewpass.views.rows import MeasuredRows

NEAREST = 10  # rows that each row is linked with in every view


def neighbour_links(rows: MeasuredRows, workspace: Workspace) -> Links:
    """G of these measured rows, in units of 1 / UNIT; rows without any neighbour have no links."""
    has = np.stack([rows.present(v) & rows.counted for v in range(rows.n_views)])
    ends = [np.zeros((2, 0), dtype=np.int64)]
    for v in range(rows.n_views):
        there = np.flatnonzero(has[v])
        n_near = min(NEAREST, len(there) - 2)
        if n_near < 1:
            continue
        near = _near(rows.only(v).sampled(there), v, n_near, workspace)
        ends.append(np.stack([np.repeat(there, n_near), there[near.ravel()]]))
    one, other = np.concatenate(ends, axis=1)
    links = np.rint(UNIT / np.maximum((has[:, one] & has[:, other]).sum(axis=0), 1))
    place = np.concatenate([one, other]), np.concatenate([other, one])
    return sparse_links((np.tile(links, 2), place), rows.n_rows)


def _near(rows: MeasuredRows, v: int, n_near: int, workspace: Workspace) -> Array:
    """The nearest rows to each of these, which all have view `v`: sparse ones by the columns they share."""
    if issparse(rows.matrix(v)):
        near: Array = backend().near_rows(rows.handle, v, n_near, workspace.n_threads)
        return near
    rows_of_view = [rows.unit(v) if u == v else None for u in range(rows.n_views)]
    near = soft_assignment(rows, Centres.of(rows_of_view), workspace, n_near=n_near + 1).near
    itself = near == np.arange(rows.n_rows)[:, None]
    itself[~itself.any(axis=1), -1] = True  # many equal rows: as many neighbours as others have
    others: Array = near[~itself].reshape(rows.n_rows, n_near)
    return others
