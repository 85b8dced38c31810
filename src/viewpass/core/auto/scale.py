"""Which scale? The one under which the views agree with each other best: a vote without labels.

A sample of the first rows is clustered in each view by itself, as it is and in the scale that suits its
kind; the scale in which the views' clusters have more in common is taken for all of them together
(a centred view would outweigh one that is not).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewpass.core.consensus.mutual_information import adjusted_mutual_information
from viewpass.core.start import candidates as start
from viewpass.core.step.chunk_step import Rules
from viewpass.core.step.workspace import Workspace
from viewpass.kernels.grid import Labels
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows
from viewpass.views.scaling import Scaling

ROWS = 500
CLUSTERS = 20  # at most
ROWS_A_CLUSTER = 10  # at least
TRIES = 2
CLEARLY = 0.01  # better by so much, or views stay as they are
RULES = Rules(alpha=0.1, max_iter=6, tol=1e-3, fill="mean")


def agreed_scaling(
    rows: MeasuredRows, names: Sequence[str], n_clusters: int, workspace: Workspace
) -> Scaling:
    """The scaling of all views, where "auto" is what suits a view's kind or unit length, as views agree."""
    suited = Scaling.learn(rows, names)
    plain = Scaling.learn(rows, ["unit" if name == "auto" else name for name in names])
    if suited.names == plain.names:
        return plain
    sample = sample_of(rows, ROWS)
    alone = Workspace(workspace.n_threads)
    kept, changed = (agreement(scaling.apply(sample), n_clusters, alone) for scaling in (plain, suited))
    workspace.n_compared += alone.n_compared / rows.n_views  # each was at one view only
    if kept is None or changed is None:  # no two views to compare
        return suited if all(_unlike(rows, v) for v in range(rows.n_views)) else plain
    return suited if changed > kept + CLEARLY else plain


def sample_of(rows: MeasuredRows, n_rows: int) -> Chunk:
    """So many of the rows that have a view, the same ones each time."""
    seen = np.flatnonzero(rows.n_seen > 0)
    if len(seen) > n_rows:
        seen = np.sort(np.random.default_rng(0).choice(seen, n_rows, replace=False))
    return rows.chunk.take(seen)


def by_one_view(chunk: Chunk, v: int) -> MeasuredRows | None:
    """The rows as if there were no other view."""
    view = chunk.views[v]
    if view is None:
        return None
    observed = None if chunk.observed is None else chunk.observed[:, [v]]
    return MeasuredRows(Chunk((view,), (chunk.names[v],), chunk.n_rows, observed)).measure()


def agreement(chunk: Chunk, n_clusters: int, workspace: Workspace) -> float | None:
    """What the clusters of each two views have in common, on average."""
    return in_common([_clusters(chunk, v, n_clusters, workspace) for v in range(len(chunk.names))])


def in_common(alone: Sequence[Sequence[Labels]]) -> float | None:
    """Adjusted mutual information of labels by different views, on average; None if there are no two."""
    shared = []
    for v, mine in enumerate(alone):
        for theirs in alone[:v]:
            for one, other in ((a, b) for a in mine for b in theirs):
                both = (one >= 0) & (other >= 0)
                if both.sum() >= 2 * ROWS_A_CLUSTER:
                    shared.append(adjusted_mutual_information(one[both], other[both]))
    return float(np.cumsum(shared)[-1]) / len(shared) if shared else None


def _clusters(chunk: Chunk, v: int, n_clusters: int, workspace: Workspace) -> list[Labels]:
    """Labels of rows by one view alone, from a few starts; -1 without it."""
    rows = by_one_view(chunk, v)
    if rows is None:
        return []
    n_clusters = min(n_clusters, CLUSTERS, int((rows.n_seen > 0).sum()) // ROWS_A_CLUSTER)
    if n_clusters < 2:
        return []
    rng = np.random.default_rng(0)
    return [start.seeded(rows, n_clusters, RULES, workspace, rng).labels for _ in range(TRIES)]


def _unlike(rows: MeasuredRows, v: int) -> bool:
    """Whether columns of a dense view are in units of their own: their spreads differ tenfold."""
    view = rows.chunk.views[v]
    if view is None or not isinstance(view, np.ndarray):
        return False
    present = view[rows.present(v)]
    if len(present) == 0:
        return False
    with np.errstate(all="ignore"):  # values may be too large to be squared
        spread = present.std(axis=0, dtype=np.float64)
    spread = spread[np.isfinite(spread)]
    low, high = np.quantile(spread[spread > 0], (0.1, 0.9)) if (spread > 0).any() else (1.0, 1.0)
    return bool(high > 10.0 * low)
