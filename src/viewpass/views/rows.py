"""Rows of a chunk as the kernels read them: with the norms that scale them to unit length, and validated.

Rows of views that keep their lengths (`Chunk.lengths`) have a common factor instead, by which none is longer
than 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from viewpass.errors import DataError
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import SQUARE_STEP, STEP, Floats, Integers, Mask, Matrix, RowKind
from viewpass.kernels.portable import unit_rows
from viewpass.kernels.threads import cached_property
from viewpass.views.chunk import Chunk


class Lengthy(NamedTuple):
    """Of rows that keep their lengths in a view, added up."""

    square: int  # the sum of |x|^2, in SQUARE_STEP
    n_shortened: int  # rows that were longer than rows may be


Kept = tuple[Lengthy | None, ...]  # per view; None where rows are brought to unit length; (): in all


class MeasuredRows:
    """The rows of one chunk with the inverse norms that scale them to unit length (before Eq. 10).

    A kernel computes the norms when it first reads the rows, and classifies each row as absent,
    present or faulty. `accept` then refuses rows that cannot be used and mends those that can:
    unsorted or duplicate entries of a sparse row, and values whose squares overflow or underflow.

    `weights` (one per view, at most 1) are the squared lengths that rows get instead of 1, so that
    distances in a view count in proportion to its weight. A view of weight 0 is treated as absent.
    """

    def __init__(
        self,
        chunk: Chunk,
        *,
        weights: Sequence[float] | None = None,
    ) -> None:
        self.weights = None if weights is None else tuple(weights)
        self.chunk = chunk if self.weights is None else chunk.without([not weight for weight in self.weights])
        self.n_rows = chunk.n_rows
        self.n_views = len(chunk.names)
        self._matrices = list(self.chunk.views)  # what the kernels read: mended copies where necessary
        self.inverse = np.zeros((self.n_views, self.n_rows))  # 1 / norm; 0 where the view is missing
        self._kinds = np.zeros((self.n_views, self.n_rows), dtype=np.uint8)
        self.measured = False

    @classmethod
    def known(
        cls,
        chunk: Chunk,
        inverse: Floats,
        *,
        weights: Sequence[float] | None = None,
    ) -> MeasuredRows:
        """Wrap rows whose inverse norms are known.

        Measuring them again could give other bits if they were stored in another form.
        """
        made = cls(chunk, weights=weights)
        made.inverse[:] = inverse
        made.measured = True
        return made

    @property
    def squares(self) -> Floats:
        """Squared length of a present row in each view: 1, or the weight of the view.

        Where some views keep their lengths, both are divided by the square of the longest (`Lengths`); it
        is then what the squared lengths of their rows are multiplied by.
        """
        weights = np.ones(self.n_views) if self.weights is None else np.array(self.weights, dtype=np.float64)
        return weights / self.square_unit

    @property
    def square_unit(self) -> float:
        """What squared distances are multiplied by to be reported in the unit of the scale."""
        return 1.0 if self.chunk.lengths is None else self.chunk.lengths.longest**2

    @property
    def reaches(self) -> list[float]:
        """A bound on the lengths of rows that keep theirs, as the kernels take them; 0 for other views."""
        lengths = self.chunk.lengths
        if lengths is None:
            return [0.0] * self.n_views
        found = zip(lengths.kept, lengths.reach, self.squares, self.widths, strict=True)
        return [  # with what rounding may add
            float(min(reach * np.sqrt(square) * (1.0 + 2.0**-20) + np.sqrt(width) * STEP, 1.0))
            if kept
            else 0.0
            for kept, reach, square, width in found
        ]

    def squared_lengths(self, which: Mask) -> Kept:
        """S of the rows of `which` in each view that keeps lengths: exact in any order."""
        lengths, copies, shortened = self.chunk.lengths, self.chunk.copies, self.chunk.odd.shortened
        if lengths is None:
            return ()
        n_rows, found = len(which), list[Lengthy | None]()
        times = np.ones(n_rows, dtype=np.int64) if copies is None else copies[:n_rows]
        for v, kept in enumerate(lengths.kept):
            if not kept:
                found.append(None)
                continue
            steps = np.rint(self.handle.squares(v)[:n_rows][which] / SQUARE_STEP).astype(np.int64)
            parts = {shift: steps >> shift & 2**20 - 1 for shift in (0, 20, 40)}  # whose sums do not overflow
            square = sum(int(part @ times[which]) << shift for shift, part in parts.items())
            n_shortened = 0 if shortened is None else int((shortened[:n_rows, v] & which & (times > 0)).sum())
            found.append(Lengthy(square, n_shortened))
        return tuple(found)

    @cached_property
    def handle(self) -> Any:
        """The rows as an object of the kernels, which share the memory of this one."""
        views = [_parts(x) for x in self._matrices]
        observed = self.chunk.observed
        given = None if observed is None else np.ascontiguousarray(observed)
        rest = self.inverse, self._kinds, self.measured, self.chunk.copies, self.reaches
        return backend().Rows(views, given, self.squares.tolist(), *rest)

    @cached_property
    def n_seen(self) -> Integers:
        """The number of views that each row has."""
        assert self.measured
        seen: Integers = (self.inverse > 0).sum(axis=0)
        return seen

    @property
    def counted(self) -> Mask:
        """Which rows have an effect: they have a view, and their sample weight is not 0."""
        seen: Mask = self.n_seen > 0
        return seen if self.chunk.copies is None else seen & (self.chunk.copies > 0)

    @property
    def n_counted(self) -> int:
        """Number of rows that have a view, each as often as it counts."""
        copies = self.chunk.copies
        return int(self.counted.sum() if copies is None else copies[self.counted].sum())

    @property
    def mended(self) -> Chunk:
        """The chunk, with copies of views whose rows needed mending."""
        return replace(self.chunk, views=tuple(self._matrices))

    @cached_property
    def unmapped(self) -> MeasuredRows | None:
        """The rows in their own columns, in the views that are mapped; None if none is."""
        if self.chunk.unmapped is None:
            return None
        return MeasuredRows(self.chunk.unmapped, weights=self.weights).measure()

    def in_columns(self, v: int) -> MeasuredRows:
        """The rows that have view `v` in its own columns: these, or `unmapped`."""
        mapped = self.unmapped is not None and self.unmapped.chunk.views[v] is not None
        return self.unmapped if mapped and self.unmapped is not None else self

    def take(self, which: Integers) -> tuple[Chunk, Floats]:
        """Copy some of the measured rows, mended, and their inverse norms."""
        return self.mended.take(which), self.inverse[:, which]

    def only(self, v: int) -> MeasuredRows:
        """Return the same rows with view `v` alone, whatever its weight."""
        rows = self.keeping([number == v for number in range(self.n_views)])
        return MeasuredRows.known(rows.chunk, rows.inverse)

    def sampled(self, which: Integers) -> MeasuredRows:
        """Copy some of the measured rows."""
        chunk, inverse = self.take(which)
        return MeasuredRows.known(chunk, inverse, weights=self.weights)

    def keeping(self, kept: Sequence[bool]) -> MeasuredRows:
        """Return the same rows with some of their views alone."""
        others = [not keep for keep in kept]
        inverse = np.where(np.array(others)[:, None], 0.0, self.inverse)
        chunk = self.mended.without(others)
        return MeasuredRows.known(chunk, inverse, weights=self.weights)

    def matrix(self, v: int) -> Matrix | None:
        """View `v` as the kernels read it: mended where necessary."""
        return self._matrices[v]

    def values(self, v: int) -> Floats:
        """The rows of view `v` before they are brought to their length, dense; zero where it is missing."""
        matrix = self._matrices[v]
        assert matrix is not None
        dense = matrix.toarray() if scipy.sparse.issparse(matrix) else np.asarray(matrix)
        return np.where(self.present(v)[:, None], dense, 0.0).astype(np.float64)

    def unit(self, v: int) -> Floats:
        """The rows of view `v` as the kernels compare them: of their length and on the grid, dense."""
        unit: Floats = np.multiply(unit_rows(self.values(v), self.inverse[v]), STEP, dtype=np.float64)
        return unit

    @property
    def widths(self) -> list[int]:
        """Number of columns of each view; 0 where it is absent."""
        return [0 if x is None else x.shape[1] for x in self.chunk.views]

    def present(self, v: int) -> Mask:
        """Which rows have view `v`."""
        present: Mask = self.inverse[v] > 0
        return present

    def zeros(self, v: int) -> Integers:
        """Rows that are said to have view `v` but hold only zeros there, and so have no direction."""
        return self.chunk.zero_rows(v, np.flatnonzero(self.chunk.wanted(v) & (self.inverse[v] == 0)))

    def all_zero(self, n_rows: int) -> Mask:
        """Which of the first rows have a view that counts as missing because it is all zero."""
        found: Mask = np.zeros(n_rows, dtype=bool)
        if self.chunk.odd.all_zero is not None:
            found |= self.chunk.odd.all_zero[:n_rows].any(axis=1)
        for v in range(self.n_views):
            zeros = self.zeros(v)
            found[zeros[zeros < n_rows]] = True
        return found

    def n_all_zero(self, n_rows: int | None = None) -> Integers:
        """How many of the first rows count as missing in each view because they are all zero."""
        n_rows = self.n_rows if n_rows is None else n_rows
        found = [np.searchsorted(self.zeros(v), n_rows) for v in range(self.n_views)]
        earlier = self.chunk.odd.all_zero
        return np.array(found, dtype=np.int64) + (0 if earlier is None else earlier[:n_rows].sum(axis=0))

    @property
    def n_columns(self) -> int:
        """Number of columns of all views together, at least 1."""
        return max(1, sum(self.widths))

    @property
    def sparse(self) -> bool:
        """Whether all views that are present are sparse."""
        return all(x is None or scipy.sparse.issparse(x) for x in self.chunk.views)

    def measure(self, n_threads: int = 1) -> MeasuredRows:
        """Compute the norms of all rows; refuse or mend faulty ones."""
        while not self.measured:  # a row may need mending twice: first its order, then its magnitude
            self.accept(self.handle.measure(n_threads))
        return self

    def accept(self, worst: int) -> bool:
        """Return whether the rows can be used, given the worst kind of row found; if not, mend them."""
        self.measured = worst <= RowKind.PRESENT
        if not self.measured:
            self.mend()
        return self.measured

    def mend(self) -> None:
        """Raise for rows that cannot be used; mend the others, which must then be measured again."""
        for v, kinds in enumerate(self._kinds):
            for kind in (RowKind.PARTLY_NAN, RowKind.INFINITE, RowKind.OUTSIDE):
                faulty = np.flatnonzero(kinds == kind)
                if len(faulty):
                    raise DataError(self._fault(v, int(faulty[0]), kind))
            if (kinds > RowKind.PRESENT).any():
                self._matrices[v] = _mended(self._matrices[v], kinds)
        self.__dict__.pop("handle", None)  # the next use makes one of the mended matrices

    def _fault(self, v: int, row: int, kind: int) -> str:
        where = f"view {self.chunk.names[v]!r}, {self.chunk.place(row)}"
        matrix = self._matrices[v]
        assert matrix is not None
        width = self.widths[v]
        if kind == RowKind.OUTSIDE:
            return f"{where}: a column number of the CSR matrix lies outside its {width} columns."
        values = matrix[[row]].data if scipy.sparse.issparse(matrix) else matrix[row]
        if kind == RowKind.PARTLY_NAN:
            return (
                f"{where}: {np.isnan(values).sum()} of {width} values are NaN. A view must be whole "
                "or absent: fit with missing_entries='local', pass the view as missing, or impute it first."
            )
        return (
            f"{where}: {np.isinf(values).sum()} of {width} values are inf. "
            "Replace them, or pass the view as missing."
        )


def without_unknown(chunk: Chunk, known: Sequence[bool]) -> Chunk:
    """The rows without the views that a model does not know; these are checked all the same."""
    if any(view is not None and not is_known for view, is_known in zip(chunk.views, known, strict=True)):
        MeasuredRows(chunk.without(known)).measure()
    return chunk.without([not is_known for is_known in known])


def _parts(x: Matrix | None) -> Any:
    """Return a view in the form the kernels take: an array, or the arrays of a CSR matrix."""
    if x is None or not scipy.sparse.issparse(x):
        return x
    starts = x.indptr if x.indptr.dtype == x.indices.dtype else x.indptr.astype(x.indices.dtype)
    return x.data, x.indices, starts, x.shape[1]


def _mended(matrix: Matrix, kinds: Any) -> Matrix:
    """Sort and merge the entries of sparse rows; scale extreme rows to magnitude 1, by powers of two."""
    if (kinds == RowKind.UNSORTED).any():
        matrix = scipy.sparse.csr_array(matrix, copy=True)
        matrix.sum_duplicates()
    extreme = np.flatnonzero(kinds == RowKind.EXTREME)
    if len(extreme):
        matrix = matrix.copy()
    for row in extreme:
        if scipy.sparse.issparse(matrix):
            values = matrix.data[matrix.indptr[row] : matrix.indptr[row + 1]]
        else:
            values = matrix[row]
        values[:] = np.ldexp(values, -int(np.frexp(np.abs(values).max())[1]))
    return matrix
