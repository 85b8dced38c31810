"""Labels of rows with one of their views dropped."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viewpass.kernels.grid import Labels, Mask
from viewpass.model.model import Model, labels_of
from viewpass.sums.workspace import Workspace
from viewpass.views.rows import MeasuredRows


class Dropped(NamedTuple):
    """Labels without each view (-1 where a row lacks it, or has no other), and whether none differs."""

    labels: Labels  # (rows, views)
    stable: Mask  # False for rows with fewer than two views


def stability(rows: MeasuredRows, model: Model, workspace: Workspace) -> Dropped:
    """Label measured rows without each of their views."""
    own = labels_of(rows, model, workspace)
    labels = np.full((rows.n_rows, rows.n_views), -1, dtype=np.int32)
    stable: Mask = rows.n_seen > 1
    for v in range(rows.n_views):
        which = np.flatnonzero(rows.present(v) & (rows.n_seen > 1))
        if not len(which):
            continue
        others = rows.sampled(which).keeping([other != v for other in range(rows.n_views)])
        labels[which, v] = labels_of(others, model, workspace)
        stable[which] &= labels[which, v] == own[which]
    return Dropped(labels, stable)
