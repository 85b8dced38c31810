"""Rows of one view as the factorisations read them: non-negative, scaled, missing ones filled with a mean.

Copies of the rows of one view read so far, on which OMVC's published rule tests a basis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from viewpass.kernels.grid import Array, Floats, Integers, Mask, Matrix
from viewpass.views.rows import MeasuredRows


@dataclass(frozen=True)
class FilledView:
    """`matrix` where a row is present (its other rows are zero), `fill` where it is `missing`."""

    matrix: Matrix
    missing: Mask
    fill: Floats

    @classmethod
    def unfilled(cls, matrix: Matrix, present: Mask) -> FilledView:
        """A view whose absent rows stay zero."""
        return cls(matrix, ~present, np.zeros(matrix.shape[1]))

    @property
    def n_rows(self) -> int:
        """Rows, present or filled."""
        return int(self.matrix.shape[0])

    @property
    def width(self) -> int:
        """Columns of the view."""
        return int(self.matrix.shape[1])

    def times(self, basis: Floats) -> Floats:
        """X V: n x K."""
        out = np.asarray(self.matrix @ basis.astype(self.matrix.dtype, copy=False), dtype=np.float64)
        if self.missing.any():
            out[self.missing] = self.fill @ basis
        return out

    def crossed(self, rows: Floats) -> Floats:
        """X' U: d x K."""
        out = np.asarray(self.matrix.T @ rows.astype(self.matrix.dtype, copy=False), dtype=np.float64)
        if self.missing.any():
            out += np.outer(self.fill, rows[self.missing].sum(axis=0))
        return out

    def squares(self) -> Floats:
        """|x_i|^2 of every row, filled ones included."""
        out = squared_norms(self.matrix)
        out[self.missing] = float(self.fill @ self.fill)
        return out

    def total(self) -> float:
        """The sum of all entries, filled ones included."""
        return float(self.matrix.sum(dtype=np.float64) + self.missing.sum() * self.fill.sum())

    def divided(self, by: float) -> FilledView:
        """Every entry divided by a number."""
        return FilledView(self.matrix * self.matrix.dtype.type(1.0 / by), self.missing, self.fill / by)


def squared_norms(matrix: Matrix) -> Floats:
    """|x_i|^2 in float64."""
    if scipy.sparse.issparse(matrix):
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        squares = np.square(matrix.data, dtype=np.float64)
        return np.bincount(rows, weights=squares, minlength=matrix.shape[0]).astype(np.float64)
    return np.asarray(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))


def present_rows(rows: MeasuredRows, v: int, kept: Integers) -> tuple[Matrix, Mask] | None:
    """A copy of view `v` of the rows `kept`, absent ones zero, and which are present; None if none is."""
    matrix = rows.chunk.views[v]
    present = rows.present(v)[kept]
    if matrix is None or not present.any():
        return None
    if scipy.sparse.issparse(matrix):
        own = scipy.sparse.csr_array(matrix[kept], copy=True)
        lengths = np.diff(own.indptr)
        own.data[np.repeat(~present, lengths)] = 0.0
        own.sum_duplicates()
        own.eliminate_zeros()
        return own, present
    own = matrix[kept]  # a copy: `kept` is an array of indices
    own[~present] = 0.0
    return own, present


def entries(matrix: Matrix) -> Array:
    """The values of a matrix, without the zeros that a sparse one leaves out."""
    return np.asarray(matrix.data if scipy.sparse.issparse(matrix) else matrix)


def any_negative(matrix: Matrix) -> bool:
    """Whether an entry is below 0."""
    values = entries(matrix)
    return bool(values.size and values.min() < 0)


def without_negatives(matrix: Matrix) -> Matrix:
    """The matrix itself, its negative entries set to 0 in place."""
    if any_negative(matrix):
        np.maximum(entries(matrix), 0, out=entries(matrix))
        if scipy.sparse.issparse(matrix):
            matrix.eliminate_zeros()
    return matrix


def unit_rows(matrix: Matrix) -> Matrix:
    """Rows scaled to length 1 (zero rows stay zero); dividing by the largest entry first avoids overflow."""
    if scipy.sparse.issparse(matrix):
        peaks = np.zeros(matrix.shape[0])
        lengths = np.diff(matrix.indptr)
        full = lengths > 0
        if full.any():
            starts = matrix.indptr[:-1][full]
            peaks[full] = np.maximum.reduceat(np.abs(matrix.data), starts)
        matrix.data = (matrix.data / np.repeat(_safe(peaks), lengths)).astype(matrix.dtype)
        norms = np.sqrt(squared_norms(matrix))
        matrix.data = (matrix.data / np.repeat(_safe(norms), lengths)).astype(matrix.dtype)
        return matrix
    peaks = np.abs(matrix).max(axis=1, initial=0.0)
    matrix = matrix / _safe(peaks)[:, None].astype(matrix.dtype)
    norms = np.sqrt(squared_norms(matrix))
    return matrix / _safe(norms)[:, None].astype(matrix.dtype)


def _safe(values: Floats) -> Floats:
    return np.where(values > 0, values, 1.0)


def column_sums(matrix: Matrix) -> Floats:
    """Sums down the columns in float64."""
    return np.asarray(matrix.sum(axis=0, dtype=np.float64)).ravel()


class RunningMean:
    """Sum and number of the rows of one view read so far in this pass.

    An absent row is filled with the mean before its chunk; in the first chunk that has the view,
    with the mean of that chunk. Each pass starts with empty sums, so that every pass fills a row
    with the same values.
    """

    def __init__(self) -> None:
        self.sums: Floats | None = None
        self.n_present = 0
        self.n_rows = 0

    def read(
        self, rows: MeasuredRows, v: int, kept: Integers, *, unit: bool = False
    ) -> tuple[FilledView | None, Floats, bool]:
        """View `v` of the rows `kept`, filled; the share of present rows up to each; any negative?

        With `unit`, rows are clipped and scaled to unit length before the mean is taken; without it,
        the mean is that of the rows as given, and clipping comes last.
        """
        found = present_rows(rows, v, kept)
        present = np.zeros(len(kept), dtype=bool) if found is None else found[1]
        shares = (self.n_present + np.cumsum(present)) / (self.n_rows + 1.0 + np.arange(len(kept)))
        self.n_rows += len(kept)
        if found is None:
            if self.sums is None:
                return None, shares, False
            matrix = scipy.sparse.csr_array((len(kept), len(self.sums)))
            return FilledView(matrix, ~present, self.mean()), shares, False
        matrix = found[0]
        negative = any_negative(matrix)
        if unit:
            matrix = unit_rows(without_negatives(matrix))
        sums, n_present = column_sums(matrix), int(present.sum())
        mean = self.mean() if self.n_present else np.maximum(sums, 0.0) / max(n_present, 1)
        self.sums = sums if self.sums is None else self.sums + sums
        self.n_present += n_present
        without_negatives(matrix)
        return FilledView(matrix, ~present, mean), shares, negative

    def mean(self) -> Floats:
        """The mean that fills an absent row."""
        assert self.sums is not None
        return np.asarray(np.maximum(self.sums, 0.0) / max(self.n_present, 1))


@dataclass
class RowBlock:
    """Rows of several chunks: present ones in `matrix`, filled ones as indices (`which`) into `fills`."""

    matrix: Matrix
    missing: Integers
    which: Integers
    fills: Floats
    weighted: Floats  # coefficients, without the gauge, times the squared weights

    def joined(self, other: RowBlock) -> RowBlock:
        """These rows followed by those of the other block."""
        stack = scipy.sparse.vstack if scipy.sparse.issparse(self.matrix) else np.concatenate
        matrix = stack([self.matrix, other.matrix])
        return RowBlock(
            scipy.sparse.csr_array(matrix) if scipy.sparse.issparse(matrix) else matrix,
            np.concatenate([self.missing, other.missing + self.matrix.shape[0]]),
            np.concatenate([self.which, other.which + len(self.fills)]),
            np.concatenate([self.fills, other.fills]),
            np.concatenate([self.weighted, other.weighted]),
        )

    def cross(self, V: Floats, gauge: Floats) -> float:
        """tr(V'X'W^2U) over the block."""
        products = np.asarray(self.matrix @ V.astype(self.matrix.dtype, copy=False), dtype=np.float64)
        if len(self.missing):
            products[self.missing] = (self.fills @ V)[self.which]
        return float(np.einsum("ij,ij->j", products, self.weighted) @ gauge)


class StoredRows:
    """The rows of a pass so far, in a few large blocks, so that a test takes a few matrix products."""

    def __init__(self, n_clusters: int) -> None:
        self.blocks: list[RowBlock] = []
        self.gram = np.zeros((n_clusters, n_clusters))

    def add(self, view: FilledView, coefficients: Floats, weights: Floats) -> None:
        """Store the rows of a chunk with their coefficients (without the gauge)."""
        weighted = coefficients * weights[:, None]
        missing = np.flatnonzero(view.missing)
        new = RowBlock(
            view.matrix, missing, np.zeros(len(missing), dtype=np.int64), view.fill[None], weighted
        )
        self.gram += coefficients.T @ weighted
        self.blocks.append(new)
        while len(self.blocks) > 1 and len(self.blocks[-2].weighted) <= len(self.blocks[-1].weighted):
            last = self.blocks.pop()
            if scipy.sparse.issparse(self.blocks[-1].matrix) != scipy.sparse.issparse(last.matrix):
                self.blocks.append(last)
                break
            self.blocks[-1] = self.blocks[-1].joined(last)

    def scale(self, gauge: Floats) -> None:
        """Multiply the coefficients by a gauge."""
        for block in self.blocks:
            block.weighted = block.weighted * gauge
        self.gram = self.gram * np.outer(gauge, gauge)

    def fit(self, V: Floats, gauge: Floats) -> float:
        """|W(X - UV')|^2 of these rows without the constant |WX|^2."""
        cross = sum(block.cross(V, gauge) for block in self.blocks)
        return float(np.vdot(V.T @ V, self.gram * np.outer(gauge, gauge))) - 2.0 * cross
