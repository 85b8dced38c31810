"""Means of small clusters of the sample, which unusual rows are found by where a model has few centres.

The mean of a large cluster is shorter than its rows and far from all of them: noise is hardly farther. Rows
that are like others are near the mean of a small cluster. Clusters of very few rows do not count: they may be
made of unusual rows themselves.
"""

from __future__ import annotations

import numpy as np

from viewpass.kernels.grid import Array, Mask
from viewpass.model.model import Model
from viewpass.reasons.hidden_values import spread_out
from viewpass.sums.chunk_step import ChunkStep, State
from viewpass.sums.rules import Rules
from viewpass.sums.workspace import Workspace
from viewpass.views.rows import MeasuredRows
from viewpass.views.seeds import own_generator

ROWS = 1000  # that they are made of, at most
MOST, ROWS_PER_CLUSTER = 100, 10
MOST_VALUES = 2**18  # columns x clusters, or there are fewer
FEWEST_PER_CENTRE = 2  # or centres do as well
FEW, LEAST_ROWS = 0.25, 3  # of the mean number of rows, and in all: a mean must not be a row
RULES = Rules(alpha=0.1, max_iter=2, tol=1e-3, fill="mean")


def small_clusters(rows: MeasuredRows, model: Model, workspace: Workspace) -> tuple[Array, ...]:
    """Their means in each view, of measured rows that count, in the scale of the model; () where centres do.

    They are rounded to float32, in which they are stored.
    """
    n_centres = model.centres.n_clusters
    most = min(MOST, min(rows.n_rows, ROWS) // ROWS_PER_CLUSTER, MOST_VALUES // max(rows.n_columns, 1))
    if model.links is not None or rows.sparse:
        return ()
    if any(u is not None and not width for u, width in zip(model.centres.values, rows.widths, strict=True)):
        return ()  # these rows have nothing of a view
    if most < FEWEST_PER_CENTRE * n_centres:
        return ()
    rows = rows.sampled(spread_out(np.arange(rows.n_rows), ROWS))
    step, each = ChunkStep(RULES, workspace), np.arange(most, dtype=np.int32)
    # Drawn at random: seeds far from each other would be unusual rows.
    drawn = np.sort(own_generator().choice(rows.n_rows, most, replace=False))
    first = step.from_labels(rows.sampled(drawn), each, most)
    found = step.from_centres(rows, State.without_rows(rows, first.centres))
    typical: Mask = np.ones(most, dtype=bool)
    for v in (v for v in range(rows.n_views) if rows.present(v).any()):
        sizes = np.bincount(found.labels[rows.present(v)], minlength=most)
        typical &= (sizes * most >= FEW * sizes.sum()) & (sizes >= LEAST_ROWS)
    if typical.sum() < FEWEST_PER_CENTRE * n_centres:
        return ()
    means = found.total.centres(RULES.alpha)
    return tuple(u[typical].astype(np.float32) for u in means)
