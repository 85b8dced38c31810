"""Agreement between views: how similar the clusterings of single views are, without any labels.

A sample of the warm-up rows is clustered in each view alone, and the clusterings of every two views are
compared on the rows that have both (adjusted mutual information). Structure that is in the data shows in
several views; artefacts of a scale or of a clustering method do not. So of two scales or methods, the one
under which views agree better is the better one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewpass.core.consensus.mutual_information import adjusted_mutual_information
from viewpass.kernels.grid import Labels
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows

MIN_GAIN = 0.01  # in agreement: a smaller gain does not change the simpler choice
MIN_SHARED_ROWS = 20  # of two views, or they are not compared


def sample(rows: MeasuredRows, n_rows: int) -> Chunk:
    """A fixed random sample of the rows that have a view."""
    seen = np.flatnonzero(rows.counted)
    if len(seen) > n_rows:
        seen = np.sort(np.random.default_rng(0).choice(seen, n_rows, replace=False))
    return rows.chunk.take(seen)


def single_view(chunk: Chunk, v: int) -> MeasuredRows | None:
    """The rows with view `v` as their only view; None if no row has it."""
    view = chunk.views[v]
    if view is None:
        return None
    observed = None if chunk.observed is None else chunk.observed[:, [v]]
    lengths = None if chunk.lengths is None else chunk.lengths.only(v)
    alone = Chunk((view,), (chunk.names[v],), chunk.n_rows, observed, copies=chunk.copies, lengths=lengths)
    return MeasuredRows(alone).measure()


def mean_agreement(labels: Sequence[Sequence[Labels]]) -> float | None:
    """Mean agreement of all clusterings of different views; None if no two views can be compared.

    `labels`: for each view, the labels of one or several clusterings; -1 for rows without the view.
    """
    found = []
    for v, mine in enumerate(labels):
        for theirs in labels[:v]:
            for one, other in ((a, b) for a in mine for b in theirs):
                both = (one >= 0) & (other >= 0)
                if both.sum() >= MIN_SHARED_ROWS:
                    found.append(adjusted_mutual_information(one[both], other[both]))
    return float(np.cumsum(found)[-1]) / len(found) if found else None
