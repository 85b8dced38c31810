"""Prototypes that fill values missing inside views: small clusters of the sample (views/gaps.py).

The rows are clustered with their gaps at the means of the columns, then with the gaps filled by the
prototypes so far. A prototype's value in a column is the mean over its rows that have one, as if one more row
had the mean of the column: W of the objective (Eq. 5) per value instead of per view.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from viewpass.kernels.grid import Floats, Labels, Mask
from viewpass.solve import starts
from viewpass.sums.chunk_step import ChunkStep
from viewpass.sums.rules import Rules, Workspace
from viewpass.views.chunk import Chunk
from viewpass.views.gaps import MOST_SPREADS, QUANTUM, Completion, Prototypes
from viewpass.views.kinds import columns_of
from viewpass.views.rows import MeasuredRows

MOST_PROTOTYPES, ROWS_PER_PROTOTYPE = 200, 10  # at most, and at least
ROUNDS = 2  # of clustering and filling
COMPLETION_RULES = Rules(alpha=0.1, max_iter=6, tol=1e-3, fill="mean")


def learn_completion(rows: MeasuredRows, n_threads: int = 1) -> Completion:
    """Prototypes of the measured rows of a sample, none of which is scaled."""
    chunk, counted = rows.chunk, np.flatnonzero(rows.counted)
    moments = tuple(_moments(rows, v) for v in range(rows.n_views))
    n_prototypes = max(1, min(MOST_PROTOTYPES, len(counted) // ROWS_PER_PROTOTYPE))
    completion = Completion(moments)
    step = ChunkStep(COMPLETION_RULES, Workspace(n_threads))
    for number in range(ROUNDS):
        filled = chunk if number == 0 else completion.apply(chunk)
        standardised = _standardised(filled, moments)
        labels = np.zeros(chunk.n_rows, dtype=np.int32)
        if standardised is not None and n_prototypes > 1:
            measured = MeasuredRows(standardised)
            labels = starts.seeded(measured, n_prototypes, step, np.random.default_rng(number)).labels
        completion = Completion(
            tuple(
                None if own is None else _means(chunk, v, own, labels, rows.present(v), n_prototypes)
                for v, own in enumerate(moments)
            )
        )
    return completion


def _moments(rows: MeasuredRows, v: int) -> Prototypes | None:
    """Means and spreads of a view, without prototypes; None if it is sparse or no row has it."""
    view, present = rows.chunk.views[v], rows.present(v) & rows.counted
    if not isinstance(view, np.ndarray) or not present.any():
        return None
    columns = columns_of(view, present, None, rows.chunk.gaps[v] if rows.chunk.gaps else None)
    spread = np.where(columns.spread > 0, columns.spread, 1.0)
    return Prototypes(columns.mean, spread, np.zeros((1, view.shape[1])))


def _standardised(chunk: Chunk, moments: Sequence[Prototypes | None]) -> Chunk | None:
    """Dense views in units of the spreads, gaps at the mean; None if there is no such view."""
    views: list[Floats | None] = []
    for v, own in enumerate(moments):
        view = chunk.views[v]
        if own is None or not isinstance(view, np.ndarray):
            views.append(None)
            continue
        gaps = chunk.gaps[v] if chunk.gaps else None
        held = ~np.isnan(view) if gaps is None else ~np.isnan(view) & ~gaps
        scaled = np.clip((view.astype(np.float64) - own.mean) / own.spread, -MOST_SPREADS, MOST_SPREADS)
        scaled[~held] = 0.0  # rows without the view stay without a direction
        views.append(scaled)
    if all(view is None for view in views):
        return None
    return replace(chunk, views=tuple(views), gaps=(), stated=False)


def _means(
    chunk: Chunk, v: int, own: Prototypes, labels: Labels, present: Mask, n_prototypes: int
) -> Prototypes:
    view, gaps = chunk.views[v], chunk.gaps[v] if chunk.gaps else None
    assert isinstance(view, np.ndarray)
    sums, numbers = np.zeros((n_prototypes, view.shape[1])), np.ones((n_prototypes, view.shape[1]))
    for k in range(n_prototypes):
        mine = np.flatnonzero(present & (labels == k))
        held: Mask = np.ones((len(mine), view.shape[1]), dtype=bool) if gaps is None else ~gaps[mine]
        sums[k] = own.quantised(view[mine], held).sum(axis=0)  # of whole numbers: exact in any order
        numbers[k] += held.sum(axis=0)
    values: Floats = np.rint(sums / numbers) * QUANTUM
    return replace(own, values=values)
