"""The rows of a label file: cluster, distance, margin and number of observed views."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viewpass.graph.soft_assignment import soft_assignment
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Array, Floats, Integers
from viewpass.labels.files.staging import records
from viewpass.model.model import Model, assign, nearest_anchors, prepare
from viewpass.reasons.separation import separations
from viewpass.sums.census import patterns_of
from viewpass.sums.workspace import Workspace
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows


class Labelled(NamedTuple):
    """Rows of a label file, and what the confidence of their labels follows from."""

    records: Array
    margins: Floats  # of reasons/separation.py
    patterns: Integers  # which views rows have
    rows: MeasuredRows  # as they were compared


def cluster_rows(chunk: Chunk, model: Model, workspace: Workspace) -> Labelled:
    """Rows with their cluster under a model.

    Where anchors form clusters, the distance is that to the nearest anchor of the row's own cluster, and
    the margin is the difference to the nearest anchor of any other. It is negative where the row's nearest
    anchor belongs to another cluster than most of its neighbours.
    """
    cut = model.cut
    rows = prepare(chunk, model, workspace).measure(workspace.n_threads)
    patterns = patterns_of(rows.inverse > 0)
    if cut is None:
        kernels, centres = backend(rows.reference), model.centres.suited(rows)
        labels, distance, margin = kernels.nearest_two(rows.handle, centres, workspace.n_threads)
        unit = np.float32(rows.square_unit)
        made = records(labels, distance * unit, margin * unit, rows.n_seen)
        return Labelled(made, relative_margins(made), patterns, rows)
    nearest = nearest_anchors(rows, model, workspace)
    if model.links is not None:
        soft = soft_assignment(rows, model.centres, workspace)
        labels = cut.of_soft_assignment(soft)
        margins = separations(rows, model, workspace, soft).margins
    else:
        labels, margins = model.labels_of(assign(rows, model.centres, workspace)[0]), None
    everyone = np.arange(rows.n_rows)
    own = nearest[everyone, labels].astype(np.float32)
    nearest[everyone, labels] = np.inf
    margin = nearest.min(axis=1).astype(np.float32) - own
    absent = rows.n_seen == 0
    own[absent] = margin[absent] = np.nan
    if cut.n_clusters == 1:
        margin[:] = np.nan
    made = records(labels, np.maximum(own, 0), margin, rows.n_seen)
    return Labelled(made, relative_margins(made) if margins is None else margins, patterns, rows)


def relative_margins(made: Array) -> Floats:
    """Margins relative to the sum of the distances to both clusters."""
    margin = made["margin"].astype(np.float64)
    whole = 2.0 * made["distance"].astype(np.float64) + margin
    usable = np.isfinite(whole) & (whole > 0)
    found: Floats = np.divide(margin, whole, out=np.where(made["views_seen"] > 0, 1.0, 0.0), where=usable)
    return found
