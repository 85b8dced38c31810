"""Rows of one view as a factorisation reads them: non-negative, scaled, missing ones filled with a mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from viewpass.kernels.grid import Floats, Integers, Mask, Matrix
from viewpass.views.rows import MeasuredRows


@dataclass(frozen=True)
class Filled:
    """`matrix` where a row is present (its other rows are zero), `fill` where it is `missing`."""

    matrix: Matrix
    missing: Mask
    fill: Floats

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
        """|x_i|^2 of every row."""
        out = squared_norms(self.matrix)
        out[self.missing] = float(self.fill @ self.fill)
        return out

    def total(self) -> float:
        """The sum of all entries, filled ones included."""
        return float(self.matrix.sum(dtype=np.float64) + self.missing.sum() * self.fill.sum())

    def divided(self, by: float) -> Filled:
        """Every entry divided by a number."""
        return Filled(self.matrix * self.matrix.dtype.type(1.0 / by), self.missing, self.fill / by)

    def dense(self) -> Floats:
        """Written out; for tests and small data."""
        out = self.matrix.toarray() if scipy.sparse.issparse(self.matrix) else self.matrix.copy()
        out = np.asarray(out, dtype=np.float64)
        out[self.missing] = self.fill
        return out


def squared_norms(matrix: Matrix) -> Floats:
    """|x_i|^2 in float64."""
    if scipy.sparse.issparse(matrix):
        squares = np.square(matrix.data, dtype=np.float64)
        return row_sums(squares, matrix.indptr)
    return np.asarray(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))


def row_sums(values: Floats, indptr: Integers) -> Floats:
    """Sums of a CSR matrix's values by row."""
    n_rows = len(indptr) - 1
    rows = np.repeat(np.arange(n_rows), np.diff(indptr))
    return np.bincount(rows, weights=values, minlength=n_rows).astype(np.float64)


def present_rows(rows: MeasuredRows, v: int, kept: Integers) -> tuple[Matrix, Mask] | None:
    """An own copy of view `v` of the rows `kept`, absent ones zero, and which of them are present."""
    matrix = rows.chunk.views[v]
    if matrix is None:
        return None
    present = rows.present(v)[kept]
    if scipy.sparse.issparse(matrix):
        own = scipy.sparse.csr_array(matrix[kept], copy=True)
        lengths = np.diff(own.indptr)
        own.data[np.repeat(~present, lengths)] = 0.0
        own.sum_duplicates()
        own.eliminate_zeros()
        return own, present
    own = matrix[kept]  # a copy: `kept` are numbers, not a slice
    own[~present] = 0.0
    return own, present


def clipped(matrix: Matrix) -> bool:
    """Set negative entries to 0, in place; whether there were any."""
    values = matrix.data if scipy.sparse.issparse(matrix) else matrix
    found = bool(values.size and values.min() < 0)
    if found:
        np.maximum(values, 0, out=values)
        if scipy.sparse.issparse(matrix):
            matrix.eliminate_zeros()
    return found


def unit_rows(matrix: Matrix) -> Matrix:
    """Rows to length 1; rows of zeros stay. Lengths are taken of rows brought to size 1 first."""
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


class Running:
    """What the rows of one view have been so far in this pass: their sum and their number.

    An absent row is filled with the mean at the start of its chunk; in the chunk that shows a view
    for the first time, with the mean of that chunk. A pass begins with nothing seen, so every pass
    fills a row in the same way.
    """

    def __init__(self) -> None:
        self.sums: Floats | None = None
        self.n_present = 0
        self.n_rows = 0

    def read(
        self, rows: MeasuredRows, v: int, kept: Integers, *, unit: bool = False
    ) -> tuple[Filled | None, Floats, bool]:
        """View `v` of the rows `kept`: filled, the share of present rows up to each, any negative?

        Units: clip, scale to unit length, fill; otherwise: fill, clip.
        """
        found = present_rows(rows, v, kept)
        present = np.zeros(len(kept), dtype=bool) if found is None else found[1]
        shares = (self.n_present + np.cumsum(present)) / (self.n_rows + 1.0 + np.arange(len(kept)))
        self.n_rows += len(kept)
        if found is None:
            if self.sums is None:
                return None, shares, False
            matrix = np.zeros((len(kept), len(self.sums)))
            return Filled(matrix, ~present, self.mean()), shares, False
        matrix = found[0]
        negative = clipped(matrix) if unit else _any_negative(matrix)
        if unit:
            matrix = unit_rows(matrix)
        sums, n_present = column_sums(matrix), int(present.sum())
        mean = self.mean() if self.n_present else np.maximum(sums, 0.0) / max(n_present, 1)
        self.sums = sums if self.sums is None else self.sums + sums
        self.n_present += n_present
        if negative:
            clipped(matrix)
        return Filled(matrix, ~present, mean), shares, negative

    def mean(self) -> Floats:
        """What fills an absent row now."""
        assert self.sums is not None
        return np.asarray(np.maximum(self.sums, 0.0) / max(self.n_present, 1))


def _any_negative(matrix: object) -> bool:
    values = getattr(matrix, "data", None)
    values = values if isinstance(values, np.ndarray) else matrix
    assert isinstance(values, np.ndarray)
    return bool(values.size and values.min() < 0)
