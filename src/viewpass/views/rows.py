"""The rows of a chunk as the kernels read them: measured, their faults named or mended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from viewpass.errors import DataError
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import (
    EXTREME,
    INFINITE,
    OUTSIDE,
    PARTLY_NAN,
    PRESENT,
    UNSORTED,
    Floats,
    Integers,
    Mask,
    Matrix,
)
from viewpass.views.chunk import Chunk


class MeasuredRows:
    """The rows of one chunk with the norms that scale them to unit length (before Eq. 10).

    Rows are measured when they are first read: `accept` then names what is wrong with them, or mends
    what can be mended.

    `weights` (at most 1, one per view) make a view's rows shorter, so that their distances count for as
    much less. A view of weight 0 is absent.
    """

    def __init__(
        self,
        chunk: Chunk,
        *,
        reference: bool = False,
        weights: Sequence[float] | None = None,
    ) -> None:
        self.weights = None if weights is None else tuple(weights)
        self.chunk = chunk if self.weights is None else chunk.without([not weight for weight in self.weights])
        self.n_rows = chunk.n_rows
        self.n_views = len(chunk.names)
        self.reference = reference
        self._matrices = list(self.chunk.views)  # as the kernels read them: mended where need be
        self.inverse = np.zeros((self.n_views, self.n_rows))
        self._kinds = np.zeros((self.n_views, self.n_rows), dtype=np.uint8)
        self.measured = False

    @classmethod
    def known(cls, chunk: Chunk, inverse: Floats, *, reference: bool = False) -> MeasuredRows:
        """Rows that were measured before, whatever form they had then: what scales them stays the same."""
        made = cls(chunk, reference=reference)
        made.inverse[:] = inverse
        made.measured = True
        return made

    @property
    def squares(self) -> Floats:
        """|x|^2 of the rows that a view has."""
        return np.ones(self.n_views) if self.weights is None else np.array(self.weights, dtype=np.float64)

    @cached_property
    def handle(self) -> Any:
        """The rows as the kernels take them."""
        views = [_parts(x) for x in self._matrices]
        observed = self.chunk.observed
        given = None if observed is None else np.ascontiguousarray(observed)
        rest = self.squares.tolist(), self.inverse, self._kinds, self.measured
        return backend(self.reference).Rows(views, given, *rest)

    @cached_property
    def n_seen(self) -> Integers:
        """The number of views that each row has."""
        assert self.measured
        seen: Integers = (self.inverse > 0).sum(axis=0)
        return seen

    def take(self, which: Integers) -> tuple[Chunk, Floats]:
        """Some of the measured rows, mended, in memory of their own; and what scales them."""
        mended = replace(self.chunk, views=tuple(self._matrices))
        return mended.take(which), self.inverse[:, which]

    def only(self, v: int) -> MeasuredRows:
        """The same rows as if they had no other view."""
        others = [number != v for number in range(self.n_views)]
        mended = replace(self.chunk, views=tuple(self._matrices)).without(others)
        return MeasuredRows.known(
            mended, np.where(np.array(others)[:, None], 0.0, self.inverse), reference=self.reference
        )

    @property
    def widths(self) -> list[int]:
        """Columns of each view; 0 where it is absent."""
        return [0 if x is None else x.shape[1] for x in self.chunk.views]

    def present(self, v: int) -> Mask:
        """Which rows view `v` has."""
        present: Mask = self.inverse[v] > 0
        return present

    @property
    def n_columns(self) -> int:
        """Columns of all views, at least 1."""
        return max(1, sum(self.widths))

    @property
    def sparse(self) -> bool:
        """Whether the views are sparse, all that are there."""
        return all(x is None or scipy.sparse.issparse(x) for x in self.chunk.views)

    def measure(self, n_threads: int = 1) -> MeasuredRows:
        """Read all rows: norms, absences, faults."""
        while not self.measured:  # rows in order may turn out to be extreme, too
            self.accept(self.handle.measure(n_threads))
        return self

    def accept(self, worst: int) -> bool:
        """Whether the rows can be used, given the worst kind met; if not, mend what can be mended."""
        self.measured = worst <= PRESENT
        if not self.measured:
            self.mend()
        return self.measured

    def mend(self) -> None:
        """Refuse faulty rows; mend the others, which must be measured again."""
        for v, kinds in enumerate(self._kinds):
            for kind in (PARTLY_NAN, INFINITE, OUTSIDE):
                faulty = np.flatnonzero(kinds == kind)
                if len(faulty):
                    raise DataError(self._fault(v, int(faulty[0]), kind))
            if (kinds > PRESENT).any():
                self._matrices[v] = _mended(self._matrices[v], kinds)
        self.__dict__.pop("handle", None)  # made anew

    def _fault(self, v: int, row: int, kind: int) -> str:
        where = f"view {self.chunk.names[v]!r}, {self.chunk.place(row)}"
        matrix = self._matrices[v]
        assert matrix is not None
        width = matrix.shape[1]
        if kind == OUTSIDE:
            return f"{where}: a column number of the CSR matrix lies outside its {width} columns."
        values = matrix[[row]].data if scipy.sparse.issparse(matrix) else matrix[row]
        if kind == PARTLY_NAN:
            return (
                f"{where}: {np.isnan(values).sum()} of {width} values are NaN. A view must be "
                "whole or absent; pass it as missing or impute it first."
            )
        return (
            f"{where}: {np.isinf(values).sum()} of {width} values are inf. "
            "Replace them, or pass the view as missing."
        )


def _parts(x: Matrix | None) -> Any:
    """A view as the kernels take it: an array, or the parts of a CSR matrix."""
    if x is None or not scipy.sparse.issparse(x):
        return x
    starts = x.indptr if x.indptr.dtype == x.indices.dtype else x.indptr.astype(x.indices.dtype)
    return x.data, x.indices, starts, x.shape[1]


def _mended(matrix: Matrix, kinds: Any) -> Matrix:
    if (kinds == UNSORTED).any():
        matrix = scipy.sparse.csr_array(matrix, copy=True)
        matrix.sum_duplicates()
    extreme = np.flatnonzero(kinds == EXTREME)
    return _rescaled(matrix, extreme) if len(extreme) else matrix


def _rescaled(matrix: Matrix, rows: Integers) -> Matrix:
    """Bring rows whose squares would overflow or vanish to size 1, by powers of two."""
    matrix = matrix.copy()
    for row in rows:
        if scipy.sparse.issparse(matrix):
            values = matrix.data[matrix.indptr[row] : matrix.indptr[row + 1]]
        else:
            values = matrix[row]
        values[:] = np.ldexp(values, -int(np.frexp(np.abs(values).max())[1]))
    return matrix
