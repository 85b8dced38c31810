"""Rows with the main columns of their sparse views alone: for a search among many clusterings.

Columns in which rows add up to little hardly move a centre, but most columns of words are such, and an update
costs columns x clusters. Rows are not brought to unit length again: their distances are what they were, less
the part in the other columns.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse

from viewpass.kernels.grid import Matrix
from viewpass.views.rows import MeasuredRows

MOST_COLUMNS = 512  # of a sparse view


def in_main_columns(rows: MeasuredRows) -> MeasuredRows:
    """These measured rows, with at most so many columns in each sparse view; themselves if none has more."""
    views = [_main(rows, v) for v in range(rows.n_views)]
    if all(view is rows.matrix(v) for v, view in enumerate(views)):
        return rows
    chunk = replace(rows.mended, views=tuple(views))
    return MeasuredRows.known(chunk, rows.inverse, reference=rows.reference, weights=rows.weights)


def _main(rows: MeasuredRows, v: int) -> Matrix | None:
    matrix = rows.matrix(v)
    if matrix is None or not scipy.sparse.issparse(matrix) or matrix.shape[1] <= MOST_COLUMNS:
        return matrix
    lengths = np.repeat(rows.inverse[v], np.diff(matrix.indptr))
    values = slice(matrix.indptr[0], matrix.indptr[-1])
    sizes = np.abs(matrix.data[values], dtype=np.float64) * lengths
    sums = np.bincount(matrix.indices[values], weights=sizes, minlength=matrix.shape[1])
    main = np.argsort(-sums, kind="stable")[:MOST_COLUMNS]
    return scipy.sparse.csr_array(matrix[:, np.sort(main)])
