"""Rows with fewer columns, which a search among many clusterings compares.

Dense views are mapped to their leading principal components:

    y = D x,  D the leading eigenvectors of sum x x' over some rows; x at unit length, or of its own

Rows keep the lengths that y has, so distances are those of the rows less what lies outside of the components,
which is noise to clusters of many rows. A fit costs rows x columns x clusters, and the components are found
once per scale. Every sum has a fixed order, so components have the same bits on every machine.

Sparse views keep their main columns. Columns in which rows add up to little hardly move a centre, but most
columns of words are such, and an update costs columns x clusters. Rows are not brought to unit length again:
their distances are what they were, less the part in the other columns.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse

from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Floats, Integers, Matrix
from viewpass.kernels.portable import ordered_sum
from viewpass.views.chunk import Chunk, Lengths
from viewpass.views.rows import MeasuredRows
from viewpass.views.seeds import own_generator

NEGLIGIBLE = 1e-9  # of the largest eigenvalue


def components(apart: Floats, most: int) -> tuple[Floats, Floats]:
    """Principal components of centred rows: variances and directions, by the smaller of the two products."""
    if apart.shape[1] <= len(apart):
        return leading(backend().products(turned(apart), turned(apart)), most)
    values, vectors = leading(backend().products(apart, apart), most)
    return values, backend().products(vectors / np.sqrt(values)[:, None], turned(apart))


def leading(matrix: Floats, most: int) -> tuple[Floats, Floats]:
    """The largest eigenvalues of a symmetric matrix that are not negligible, and vectors, a row each."""
    trace = float(ordered_sum(np.diagonal(matrix)))
    if not trace > 0.0:
        return np.zeros(0), np.zeros((0, len(matrix)))
    values, vectors = backend().eigenpairs(np.ascontiguousarray(matrix / trace))
    n_found = min(int((values > NEGLIGIBLE * values[0]).sum()), most)
    return values[:n_found] * trace, vectors[:n_found]


def turned(matrix: Floats) -> Floats:
    """The transposed matrix, row after row."""
    return np.ascontiguousarray(matrix.T)


WORTH_MAPPING = 2  # times as many columns are worth it
ROWS_PER_COLUMN = 3  # that the components are found in


def in_few_columns(rows: MeasuredRows, most: int, n_threads: int) -> Chunk:
    """The rows with at most so many columns in each dense view."""
    chunk, lengths = rows.mended, rows.chunk.lengths
    views, kept = list(chunk.views), list(lengths.kept if lengths else (False,) * rows.n_views)
    reach = list(lengths.reach if lengths else (0.0,) * rows.n_views)
    longest = lengths.longest if lengths else 1.0  # what the kernels divide rows by, a power of two
    for v, view in enumerate(chunk.views):
        if not isinstance(view, np.ndarray) or view.shape[1] < WORTH_MAPPING * most:
            continue
        directions = _directions(rows, v, most)
        if not len(directions):  # no row has the view
            continue
        views[v] = np.empty((rows.n_rows, len(directions)), dtype=view.dtype)
        given = view, rows.inverse[v] * longest, directions, np.zeros(len(directions)), views[v], n_threads
        backend().map_rows(*given)
        kept[v], reach[v] = True, reach[v] or 1.0
    observed = np.ascontiguousarray(rows.inverse.T > 0)
    held = Lengths(tuple(kept), longest, tuple(reach)) if any(kept) else None
    return replace(chunk, views=tuple(views), observed=observed, lengths=held)


def _directions(rows: MeasuredRows, v: int, most: int) -> Floats:
    """The leading components of some of the rows of a view, a row each."""
    has: Integers = np.flatnonzero(rows.present(v))
    some = np.sort(own_generator().permutation(has)[: ROWS_PER_COLUMN * most])
    view = rows.matrix(v)
    assert isinstance(view, np.ndarray)
    unit = np.asarray(view[some], dtype=np.float64) * rows.inverse[v][some][:, None]
    return components(np.ascontiguousarray(unit), most)[1]


MOST_COLUMNS = 512  # of a sparse view


def in_main_columns(rows: MeasuredRows) -> MeasuredRows:
    """These measured rows, with at most so many columns in each sparse view; themselves if none has more."""
    views = [_main(rows, v) for v in range(rows.n_views)]
    if all(view is rows.matrix(v) for v, view in enumerate(views)):
        return rows
    chunk = replace(rows.mended, views=tuple(views))
    return MeasuredRows.known(chunk, rows.inverse, weights=rows.weights)


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
