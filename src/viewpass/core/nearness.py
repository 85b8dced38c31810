"""How near rows are to the centre they were given to, and by how much nearer than to any other.

For label files: good to about 1e-6, at a fraction of the cost of exact distances. Rows are cut at
fixed places, whatever the number of threads, so that BLAS is called with the same shapes and the
same chunk always gives the same bits.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse

from viewpass.core.assign import Decision, Workspace, distances
from viewpass.core.centres import Centres
from viewpass.core.fused import Step
from viewpass.kernels.grid import Array, Floats, Integers, Labels
from viewpass.kernels.nearest import kernel
from viewpass.kernels.threads import run_blocks, single_threaded_blas
from viewpass.views.rows import MeasuredRows

TILE = 512  # rows of a BLAS call: few enough for the room to be taken from what was just given back


def nearness(
    rows: MeasuredRows,
    centres: Centres,
    labels: Labels,
    workspace: Workspace,
    decision: Decision | None = None,
) -> tuple[Array, Array]:
    """Squared distance to the own centre, and what is missing to the second nearest (Eq. 15), in float32.

    NaN for a row without any view; a margin is also NaN if there is one cluster only. `decision`: what a
    look at all rows with these centres left, which is used up; nobody need look again then.
    """
    distance = np.full(rows.n_rows, np.nan, dtype=np.float32)
    margin = np.full(rows.n_rows, np.nan, dtype=np.float32)
    if decision is not None and decision.distance is not None and rows.desk is not None:
        looked: Floats | None = _lifted(rows, centres, decision)
    else:
        looked = _look(rows, centres, workspace)
    if looked is not None:
        _settle(rows, centres, slice(0, rows.n_rows), labels, looked, distance, margin)
        return distance, margin
    narrow = [None if view is None else view.values.T.astype(np.float32) for view in centres.views]

    def work(tile: int, _: int) -> None:
        part = slice(tile * TILE, min((tile + 1) * TILE, rows.n_rows))
        total = np.zeros((part.stop - part.start, centres.n_clusters))
        for v, of in enumerate(centres.views):
            raw, columns = rows.chunk.views[v], narrow[v]
            if raw is None or of is None or columns is None:
                continue
            if scipy.sparse.issparse(raw) or raw.dtype != np.float32:
                _add_exact(rows, v, centres, np.arange(part.start, part.stop), total)
                continue
            with np.errstate(all="ignore"):  # float32 rows are multiplied as they are, absent ones too
                product = raw[part] @ columns
            kernel("gain")(product, rows.inverse[v, part], rows.squares[v], of.squares, total)
        _settle(rows, centres, part, labels, total, distance, margin)

    with single_threaded_blas():
        run_blocks(work, -(-rows.n_rows // TILE), workspace.n_threads)
    return distance, margin


def looked_at(rows: MeasuredRows, centres: Centres, workspace: Workspace) -> Floats:
    """Squared distances of all rows to all centres, good to about 1e-6; whatever lies around a row."""
    looked = _look(rows, centres, workspace)
    if looked is None:
        return distances(rows, centres, workspace)
    wild = np.flatnonzero((rows.n_seen > 0) & ~np.isfinite(looked).all(axis=1))
    if len(wild):
        again = np.zeros((len(wild), centres.n_clusters))
        for v in range(rows.n_views):
            _add_exact(rows, v, centres, wild, again)
        looked[wild] = again
    return looked


def _look(rows: MeasuredRows, centres: Centres, workspace: Workspace) -> Floats | None:
    """All distances by the float32 look of the compiled phases, where these can work and there is room."""
    rows.measure(workspace.n_threads)
    if rows.desk is None:
        return None
    decision = Decision(rows.n_rows, centres.n_clusters, keep=True, pool=workspace.pool)
    if decision.distance is None:  # no room
        return None
    step = Step(rows, centres, centres.widths(rows.chunk.schema.widths), workspace)
    step.look_first(decision, None)
    return _lifted(rows, centres, decision)


def _lifted(rows: MeasuredRows, centres: Centres, decision: Decision) -> Floats:
    """The whole distances: a look leaves out |x|^2, which is the same for all centres."""
    assert decision.distance is not None
    squares = np.where([view is not None for view in centres.views], rows.squares, 0.0)
    kernel("lift")(decision.distance, decision.slack, rows.inverse, squares)
    return decision.distance


def _add_exact(rows: MeasuredRows, v: int, centres: Centres, which: Integers, total: Floats) -> None:
    """The distances of some rows in one view, from unit rows in float64."""
    view, of = rows.views[v], centres.views[v]
    if view is None or of is None:
        return
    present = np.flatnonzero(rows.inverse[v, which] > 0)
    unit = view.unit_rows(which[present], rows.inverse[v])
    total[present] += rows.squares[v] + of.squares - 2.0 * np.asarray(unit @ of.values.T)


def _settle(
    rows: MeasuredRows,
    centres: Centres,
    part: slice,
    labels: Labels,
    total: Floats,
    distance: Array,
    margin: Array,
) -> None:
    """Read off the own distance and the margin; rows too large for a float32 product are done again."""
    seen, own = rows.n_seen[part], labels[part]
    if not kernel("nearest")(total, own, seen, distance[part], margin[part]):
        return
    wild = np.flatnonzero((seen > 0) & ~np.isfinite(total).all(axis=1))
    again = np.zeros((len(wild), centres.n_clusters))
    for v in range(rows.n_views):
        _add_exact(rows, v, centres, part.start + wild, again)
    total[wild] = again
    kernel("nearest")(total, own, seen, distance[part], margin[part])
