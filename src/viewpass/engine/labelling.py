"""What a label file says of rows."""

from __future__ import annotations

import numpy as np

from viewpass.core.assign import Workspace
from viewpass.core.consensus.telling import told
from viewpass.core.model import Decided, Model, decide, seen_rows
from viewpass.core.nearness import looked_at, nearness
from viewpass.kernels.grid import Array
from viewpass.store.labels import records
from viewpass.views.chunk import Chunk


def label_rows(decided: Decided, workspace: Workspace) -> Array:
    """Rows by their nearest centre, as the stream decided them."""
    known = decided.rows, decided.centres, decided.labels
    distance, margin = nearness(*known, workspace, decided.decision)
    return records(decided.labels, distance, margin, decided.rows.n_seen)


def cluster_rows(chunk: Chunk, model: Model, workspace: Workspace) -> Array:
    """Rows by their cluster under a model.

    Where clusters are made of anchors, the distance is that to the nearest anchor of the row's own
    cluster, and the margin what is missing to the nearest anchor of any other. It is negative where
    a row's neighbours outvote its nearest anchor.
    """
    cut = model.cut
    if cut is None:
        return label_rows(decide(chunk, model, workspace, keep=True), workspace)
    rows = seen_rows(chunk, model, workspace)
    found = looked_at(rows, model.centres, workspace)
    if model.links is not None:
        labels = told(rows, cut, model.centres, workspace, found)
    else:
        labels = model.labels_of(decide(chunk, model, workspace).labels)
    nearest = cut.nearest(found)
    everyone = np.arange(rows.n_rows)
    own = nearest[everyone, labels].astype(np.float32)
    nearest[everyone, labels] = np.inf
    margin = nearest.min(axis=1).astype(np.float32) - own
    absent = rows.n_seen == 0
    own[absent] = margin[absent] = np.nan
    if cut.n_clusters == 1:
        margin[:] = np.nan
    return records(labels, np.maximum(own, 0), margin, rows.n_seen)
