"""Merging of very many small clusters, too many for a table of all prices.

Only those that are near each other may merge. The prices are those of graph/cut.py,
with a ridge towards the mean of all rows:

    price of merging a and b = sum_v [E_va + E_vb - E_vab],  E = |R - T g|^2 / (T + ridge)

A table of all prices would grow with the square of the clusters. Here the candidates of a small cluster are
the few nearest to its centre, and those of a merged cluster are the candidates of both its parts.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from viewpass.graph.cut import Merges
from viewpass.graph.soft_assignment import soft_assignment
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import NEIGHBOURS, STEP, Floats, Integers
from viewpass.sums.centres import Centres
from viewpass.sums.rules import Alpha, Workspace, each_view
from viewpass.sums.statistics import Statistics
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows


def near_merges(
    total: Statistics, most: int, ridge: Alpha, rows: MeasuredRows, workspace: Workspace
) -> Merges:
    """The first merges, and their prices.

    Where no candidates are left, the smallest cluster joins the one for which that costs least.
    """
    ridges = each_view(ridge, len(total.counts))
    means, sums = list[Floats](), list[Floats]()  # g, and R - T g
    for v, counts in enumerate(total.counts):
        means.append(total.steps[v].sum(axis=0) * STEP / max(float(counts.sum()), 1.0))
        sums.append(total.sums(v) - counts[:, None] * means[v])
    centres = [
        mean + of_view / (counts[:, None] + ridge) if counts.any() else None
        for mean, of_view, counts, ridge in zip(means, sums, total.counts, ridges, strict=True)
    ]
    near = _near(centres, total, rows, workspace)
    starts = np.arange(len(near) + 1) * near.shape[1]
    given = total.flat_counts, sums, ridges, starts, near.ravel(), most
    pairs, prices = backend().merge_near(*given)
    return Merges(total.n_clusters, pairs, prices, 0)


def _near(
    centres: list[Floats | None], total: Statistics, rows: MeasuredRows, workspace: Workspace
) -> Integers:
    """The centres nearest to each centre, over the views it has."""
    means = [None if u is None else np.ascontiguousarray(u) for u in centres]
    observed = np.ascontiguousarray((total.flat_counts > 0).T)
    units = np.sqrt(rows.squares)  # that rows were multiplied by where they keep their lengths
    given = [None if u is None else u / unit if unit else u for u, unit in zip(means, units, strict=True)]
    chunk = Chunk.of(given, observed=observed)
    if rows.chunk.lengths is not None:
        chunk = replace(chunk, lengths=rows.chunk.lengths.at_most())
    places = MeasuredRows(chunk, weights=rows.weights)
    soft = soft_assignment(places, Centres.of(means), workspace, n_near=NEIGHBOURS)
    return soft.near.astype(np.int64)
