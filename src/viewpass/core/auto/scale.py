"""Choice of the scale of the views ("auto"): unit length alone, or the scale that suits their kind.

The warm-up rows are clustered in each view alone, under both scalings; the one under which the views agree
better is taken for all of them (agreement.py). It is one choice for all views, since a centred view would
outweigh one that is not centred. If no two views can be compared, columns are standardised where their
spreads differ tenfold.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewpass.core.auto.agreement import MIN_GAIN, mean_agreement, sample, single_view
from viewpass.core.plan import Rules
from viewpass.core.start import candidates
from viewpass.core.step.chunk_step import ChunkStep
from viewpass.core.step.workspace import Workspace
from viewpass.kernels.grid import Labels
from viewpass.views.chunk import Chunk
from viewpass.views.columns import columns_of
from viewpass.views.rows import MeasuredRows
from viewpass.views.scaling import Scaling

ROWS = 500
MAX_CLUSTERS = 20
ROWS_PER_CLUSTER = 10  # at least
STARTS = 2
RULES = Rules(alpha=0.1, max_iter=6, tol=1e-3, fill="mean")


def agreed_scaling(
    rows: MeasuredRows, names: Sequence[str], n_clusters: int, workspace: Workspace, weight_unit: int = 1
) -> Scaling:
    """The scaling of all views, given a name for each; "auto" is chosen by agreement between views."""
    suited = Scaling.learn(rows, names, weight_unit)
    plain = Scaling.learn(rows, ["unit" if name == "auto" else name for name in names], weight_unit)
    if suited.names == plain.names:
        return plain
    chunk = sample(rows, ROWS)
    step = ChunkStep(RULES, Workspace(workspace.n_threads))
    kept, changed = (
        mean_agreement([clusterings(scaled, v, n_clusters, step, STARTS) for v in range(rows.n_views)])
        for scaled in (plain.apply(chunk), suited.apply(chunk))
    )
    workspace.n_compared += step.workspace.n_compared / rows.n_views  # each pass was over one view
    if kept is None or changed is None:
        return suited if all(_mixed_units(rows, v) for v in range(rows.n_views)) else plain
    return suited if changed > kept + MIN_GAIN else plain


def clusterings(chunk: Chunk, v: int, n_clusters: int, step: ChunkStep, n_starts: int) -> list[Labels]:
    """Labels of the rows by one view alone, from some starts; -1 for rows without it."""
    rows = single_view(chunk, v)
    if rows is None:
        return []
    n_clusters = min(n_clusters, MAX_CLUSTERS, int(rows.counted.sum()) // ROWS_PER_CLUSTER)
    if n_clusters < 2:
        return []
    rng = np.random.default_rng(0)
    return [candidates.seeded(rows, n_clusters, step, rng).labels for _ in range(n_starts)]


def _mixed_units(rows: MeasuredRows, v: int) -> bool:
    """Whether the columns of a dense view seem to have different units: their spreads differ tenfold."""
    view = rows.chunk.views[v]
    if not isinstance(view, np.ndarray):
        return False
    copies = rows.chunk.copies  # whose unit does not matter for spreads
    weights = None if copies is None else copies.astype(np.float64)
    spread = columns_of(view, rows.present(v), weights).spread
    spread = spread[spread > 0]
    if len(spread) == 0:
        return False
    low, high = np.quantile(spread, (0.1, 0.9))
    return float(high) > 10.0 * float(low)  # of Python: infinity instead of a warning
