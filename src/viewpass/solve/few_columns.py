"""Rows in the leading principal components of each dense view: candidates are compared on these.

    y = D x,  D the leading eigenvectors of sum x x' over some rows; x at unit length, or of its own

Rows keep the lengths that y has, so distances are those of the rows less what lies outside of the components,
which is noise to clusters of many rows. A fit costs rows x columns x clusters, and the components are found
once per scale. Every sum has a fixed order (solve/components.py).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Floats, Integers
from viewpass.solve.components import components
from viewpass.views.chunk import Chunk, Lengths
from viewpass.views.rows import MeasuredRows
from viewpass.views.seeds import own_generator

WIDE = 2  # times as many columns are worth it
SAMPLE = 128  # rows that the components are found in, or ROWS_PER_COLUMN
ROWS_PER_COLUMN = 3


def in_few_columns(rows: MeasuredRows, most: int, n_threads: int) -> Chunk:
    """The rows with at most so many columns in each dense view."""
    chunk, lengths = rows.mended, rows.chunk.lengths
    views, kept = list(chunk.views), list(lengths.kept if lengths else (False,) * rows.n_views)
    reach = list(lengths.reach if lengths else (0.0,) * rows.n_views)
    longest = lengths.longest if lengths else 1.0  # what the kernels divide rows by, a power of two
    for v, view in enumerate(chunk.views):
        if not isinstance(view, np.ndarray) or view.shape[1] < WIDE * most:
            continue
        directions = _directions(rows, v, most)
        if not len(directions):  # no row has the view
            continue
        views[v] = np.empty((rows.n_rows, len(directions)), dtype=view.dtype)
        given = view, rows.inverse[v] * longest, directions, np.zeros(len(directions)), views[v], n_threads
        backend(rows.reference).map_rows(*given)
        kept[v], reach[v] = True, reach[v] or 1.0
    observed = np.ascontiguousarray(rows.inverse.T > 0)
    held = Lengths(tuple(kept), longest, tuple(reach)) if any(kept) else None
    return replace(chunk, views=tuple(views), observed=observed, lengths=held)


def _directions(rows: MeasuredRows, v: int, most: int) -> Floats:
    """The leading components of some of the rows of a view, a row each."""
    has: Integers = np.flatnonzero(rows.present(v))
    some = np.sort(own_generator().permutation(has)[: max(SAMPLE, ROWS_PER_COLUMN * most)])
    view = rows.matrix(v)
    assert isinstance(view, np.ndarray)
    unit = np.asarray(view[some], dtype=np.float64) * rows.inverse[v][some][:, None]
    return components(np.ascontiguousarray(unit), most)[1]
