"""Labels of rows with one of their views dropped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewpass.kernels.grid import Labels, Mask
from viewpass.model.model import Model, labels_of
from viewpass.sums.rules import Workspace
from viewpass.views.rows import MeasuredRows


@dataclass(frozen=True)
class Stability:
    """Labels of rows with each of their views dropped (`stability`)."""

    labels: Labels
    """(rows, views): the label without this view; -1 where the row lacks it, or has no other."""
    stable: Mask
    """Whether dropping any one view leaves the label as it is; False for rows with fewer than two."""


def stability(rows: MeasuredRows, model: Model, workspace: Workspace) -> Stability:
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
    return Stability(labels, stable)
