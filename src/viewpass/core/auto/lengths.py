"""Whether the lengths of rows, which unit length removes, tell more about a view than their directions.

Sampled rows are clustered by direction, one view at a time. What is left within the clusters has a part along
the direction of their centre (the lengths) and a part across it. Where the first is much larger, and large
beside the spread of the whole view, clusters that lie behind one another have been taken for one.
"""

from __future__ import annotations

import numpy as np

from viewpass.core.auto.agreement import sample
from viewpass.core.auto.scale import ROWS, RULES, clusterings
from viewpass.core.step.chunk_step import ChunkStep
from viewpass.core.step.workspace import Workspace
from viewpass.errors import warn
from viewpass.kernels.grid import Floats, Labels
from viewpass.views.rows import MeasuredRows

MUCH_LARGER = 2.0  # along over across, within clusters
LARGE = 0.05  # along, as a share of the spread of the view


def views_that_need_lengths(rows: MeasuredRows, n_clusters: int, workspace: Workspace) -> list[str]:
    """The names of dense views whose lengths carry more of their spread than their directions."""
    chunk = sample(rows, ROWS)
    step = ChunkStep(RULES, Workspace(workspace.n_threads))
    found = []
    for v, view in enumerate(chunk.views):
        kept = chunk.lengths is not None and chunk.lengths.kept[v]
        if kept or not isinstance(view, np.ndarray):
            continue
        for labels in clusterings(chunk, v, n_clusters, step, n_starts=1):
            seen = labels >= 0
            if _lengths_decide(view[seen].astype(np.float64), labels[seen]):
                found.append(chunk.names[v])
    return found


def warn_of_lengths(rows: MeasuredRows, n_clusters: int, workspace: Workspace) -> None:
    """Warn of views in which unit length removes what tells rows apart."""
    for name in views_that_need_lengths(rows, n_clusters, workspace):
        warn(
            f"view {name!r}: the lengths of its rows carry more of its spread than their directions, and are "
            "not used, since rows are brought to unit length. To keep them, fit with the scale 'euclidean'."
        )


def _lengths_decide(x: Floats, labels: Labels) -> bool:
    """Whether the spread of rows within clusters is mostly along the direction of their centre."""
    largest = np.abs(x).max(axis=1, keepdims=True)
    directions = x / largest  # so that no square over- or underflows
    directions /= np.sqrt((directions * directions).sum(axis=1, keepdims=True))
    x = x / largest.max()
    along, all_within = 0.0, 0.0
    for k in np.unique(labels):
        mine = labels == k
        centre = directions[mine].mean(axis=0)
        apart = x[mine] - x[mine].mean(axis=0)
        along += float(((apart @ centre) ** 2).sum() / max(centre @ centre, np.finfo(float).tiny))
        all_within += float((apart**2).sum())
    spread = float(((x - x.mean(axis=0)) ** 2).sum())
    return along > MUCH_LARGER * (all_within - along) and along > LARGE * spread
