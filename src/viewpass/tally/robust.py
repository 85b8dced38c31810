"""Outliers kept out of the centres, where the plan is `robust`.

A sample is solved, and solved again without the rows that are beyond the outlier limit of their presence
pattern under the first solution (reasons/outliers.py). Rows that move centres later are judged in the same
way. All rows have labels and are counted.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from viewpass.kernels.grid import Integers
from viewpass.model.model import Model, prepare
from viewpass.reasons.outliers import outliers
from viewpass.sample.sample import Sample, chosen
from viewpass.solve.plan import Plan
from viewpass.solve.solve import checked_rows, solve
from viewpass.streams.watch import limits_of
from viewpass.sums.rules import Workspace
from viewpass.views.chunk import Chunk, Schema


def solved(sample: Sample, schema: Schema, plan: Plan, seed: int, workspace: Workspace, n_rows: int) -> Model:
    """The model of a sample of `n_rows` rows."""
    model = solve(sample, schema, plan, seed, workspace, n_rows)
    if not plan.robust or sample.chunk is None:
        return model
    which = typical(sample.chunk, model, workspace)
    left = chosen(sample, which)
    if left.chunk is None or len(which) == sample.n_rows:
        return model
    if checked_rows(left.chunk, plan, workspace.n_threads).counted.sum() < model.n_clusters:
        return model  # of few rows, none can be told from the others
    n_left = n_rows * left.n_rows // sample.n_rows
    return solve(left, schema, plan, seed, Workspace(workspace.n_threads), n_left)


def typical(chunk: Chunk, model: Model, workspace: Workspace) -> Integers:
    """Which rows are not beyond the outlier limits that they show themselves."""
    model = limited(model, chunk, workspace)
    if model.limits is None:
        return np.arange(chunk.n_rows)
    rows = prepare(chunk, model, workspace).measure(workspace.n_threads)
    return np.flatnonzero(~outliers(rows, model, model.limits, workspace))


def limited(model: Model, chunk: Chunk | None, workspace: Workspace) -> Model:
    """The model with the outlier limits that some rows show; None: without."""
    return replace(model, limits=None if chunk is None else limits_of(chunk, model, workspace))
