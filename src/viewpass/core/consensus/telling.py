"""Rows told by the graph, whoever looks at them: close calls are decided by exact distances.

A quick look is good to about 1e-6, and which kernels take it depends on the rows that come along.
Labels must not: where a label could turn within the error of a look, the row is looked at again.
"""

from __future__ import annotations

import numpy as np

from viewpass.core.assign import Workspace, distances
from viewpass.core.centres import Centres
from viewpass.core.consensus.cutting import Cut
from viewpass.core.links import Mixture, mixture
from viewpass.core.nearness import looked_at
from viewpass.kernels.grid import Floats, Labels, Mask
from viewpass.kernels.kmeans_reference import lengths
from viewpass.kernels.links import UNIT
from viewpass.views.rows import MeasuredRows

ERROR = 1e-5  # of a distance by a quick look, at most


def told(
    rows: MeasuredRows, cut: Cut, centres: Centres, workspace: Workspace, found: Floats | None = None
) -> Labels:
    """The clusters of rows; `found` are distances from a look that has been taken."""
    if found is None:
        found = looked_at(rows, centres, workspace)
    mixed = mixture(found, rows.n_seen)
    labels = cut.of_mixture(mixed)
    if rows.desk is None or cut.n_clusters == 1:  # such rows have been looked at exactly
        return labels
    close = np.flatnonzero(_close(mixed, found, cut) & (rows.n_seen > 0))
    if len(close):
        again = MeasuredRows(rows.chunk.take(close), weights=rows.weights).measure(workspace.n_threads)
        labels[close] = cut.of_mixture(mixture(distances(again, centres, workspace), again.n_seen))
    return labels


def _close(mixed: Mixture, found: Floats, cut: Cut) -> Mask:
    """Whether an error of the distances could turn a label: a bound of what it does to the direction."""
    assert cut.graph is not None
    n_near = mixed.near.shape[1]
    nearest = np.partition(found, n_near, axis=1)[:, : n_near + 1]
    whole = (nearest[:, n_near:] - nearest[:, :n_near]).sum(axis=1)
    margins, long = cut.graph.margins_of(mixed)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = 4.0 * ERROR / whole + 1.0 / UNIT  # of one weight
        moved = n_near * shares * lengths(cut.graph.places).max() / long
    close: Mask = ~(margins > 8.0 * moved)
    return close
