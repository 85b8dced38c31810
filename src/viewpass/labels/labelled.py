"""The rows of a label file: cluster, distance, margin and number of observed views."""

from __future__ import annotations

from typing import NamedTuple

from viewpass.graph.soft_assignment import soft_assignment
from viewpass.kernels.grid import Array, Floats, Integers
from viewpass.labels.files.staging import records
from viewpass.model.model import Model, prepare
from viewpass.reasons.separation import nearest_clusters, separations
from viewpass.sums.row_counts import patterns_of
from viewpass.sums.rules import Workspace
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows


class Labelled(NamedTuple):
    """Rows of a label file, and what the confidence of their labels follows from."""

    records: Array
    margins: Floats  # of reasons/separation.py
    patterns: Integers  # which views rows have
    rows: MeasuredRows  # as they were compared


def cluster_rows(chunk: Chunk, model: Model, workspace: Workspace) -> Labelled:
    """Rows with their cluster under a model."""
    rows = prepare(chunk, model, workspace).measure(workspace.n_threads)
    soft = None if model.links is None else soft_assignment(rows, model.centres, workspace)
    near = nearest_clusters(rows, model, workspace, soft)
    made = records(near.labels, near.distance, near.margin, rows.n_seen)
    margins = near.relative(rows) if soft is None else separations(rows, model, workspace, soft).margins
    return Labelled(made, margins, patterns_of(rows.inverse > 0), rows)
