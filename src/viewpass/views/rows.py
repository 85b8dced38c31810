"""A chunk under the kernels: its views wrapped, its rows measured, its faults named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import scipy.sparse

from viewpass.errors import DataError
from viewpass.kernels.chunk import kinds, step
from viewpass.kernels.chunk.desk import (
    ADDRESSES,
    FIRST,
    INVERSE,
    MEASURE,
    N_ROWS,
    N_SEEN,
    N_VIEWS,
    NARROW_PAIR,
    SLOTS,
    SPARSE,
    STATUS,
    WANTED,
    WIDTHS,
    Desk,
)
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
from viewpass.kernels.scratch import Scratch
from viewpass.kernels.threads import run_blocks
from viewpass.kernels.view import View, view_of
from viewpass.views.chunk import Chunk

BLOCK_BYTES = 2**23  # a block of rows is looked at and summed while it is in cache
SMALLEST_BLOCK, LARGEST_BLOCK = 128, 1024


class MeasuredRows:
    """The rows of one chunk with the norms that scale them to unit length (before Eq. 10).

    Rows are measured block by block, by whoever reads them first; `finish` then names what is
    wrong with them, or mends what can be mended.

    `weights` (at most 1, a number a view) make a view's rows shorter, so that their distances count for
    as much less. Such rows are measured at once: nobody may look at them before they are shortened.
    A view of weight 0 is absent.
    """

    def __init__(
        self,
        chunk: Chunk,
        *,
        reference: bool = False,
        n_threads: int = 1,
        weights: Sequence[float] | None = None,
    ) -> None:
        self.weights = None if weights is None else tuple(weights)
        self.chunk = chunk if self.weights is None else chunk.without([not weight for weight in self.weights])
        self.n_rows = chunk.n_rows
        self.n_views = len(chunk.names)
        self._reference = reference
        self._matrices = list(self.chunk.views)  # as the kernels read them: mended where need be
        self.inverse = np.zeros((self.n_views, self.n_rows))
        self._status = np.zeros((self.n_views, self.n_rows), dtype=np.int64)
        self.n_seen: Integers = np.zeros(self.n_rows, dtype=np.int64)
        self.measured = False
        self.numbers = None if reference else _numbers(self._matrices)
        self._n_threads = n_threads
        self.squares = np.ones(self.n_views)  # |x|^2 of the rows that a view has
        if self.weights is not None:
            self.measure(n_threads)
            self.squares[:] = self.weights
            self.inverse *= np.sqrt(self.squares)[:, None]
            self.count_views(0, self.n_rows)

    @classmethod
    def known(cls, chunk: Chunk, inverse: Floats, *, reference: bool = False) -> MeasuredRows:
        """Rows that were measured before, whatever form they had then: what scales them stays the same."""
        made = cls(chunk, reference=reference)
        made.inverse[:] = inverse
        made.count_views(0, made.n_rows)
        made.measured = True
        return made

    def take(self, which: Integers) -> tuple[Chunk, Floats]:
        """Some of the measured rows, mended, in memory of their own; and what scales them."""
        mended = replace(self.chunk, views=tuple(self._matrices))
        return mended.take(which), self.inverse[:, which]

    @cached_property
    def views(self) -> list[View | None]:
        """The rows behind the kernels of their kind."""
        return [None if x is None else view_of(x, reference=self._reference) for x in self._matrices]

    @cached_property
    def _wanted(self) -> list[Mask]:
        return [self.chunk.wanted(v) for v in range(self.n_views)]

    @cached_property
    def block(self) -> int:
        """Rows of a block."""
        width = sum(_row_bytes(x) for x in self.chunk.views if x is not None)
        fitting = max(SMALLEST_BLOCK, min(LARGEST_BLOCK, BLOCK_BYTES // max(width, 1)))
        rounds = -(-self.n_rows // (fitting * self._n_threads))  # equal blocks, as many for each thread
        return max(SMALLEST_BLOCK, -(-self.n_rows // max(rounds * self._n_threads, 1)))

    @cached_property
    def desk(self) -> Desk | None:
        """The rows laid out for the compiled phases; None if views are of different kinds."""
        if self.numbers is None:
            return None
        desk = Desk(SLOTS)
        table = desk.table
        table[N_ROWS], table[N_VIEWS] = self.n_rows, self.n_views
        table[SPARSE] = len(self.numbers) > 1
        table[MEASURE:FIRST] = kinds.addresses(*self.numbers)
        table[NARROW_PAIR] = kinds.narrow_address(*self.numbers)
        addresses = np.zeros((self.n_views, 3), dtype=np.int64)
        widths = np.zeros(self.n_views, dtype=np.int64)
        for v, x in enumerate(self._matrices):
            if x is not None:
                parts = (x.data, x.indices, x.indptr) if len(self.numbers) > 1 else (x,)
                for place, part in enumerate(parts):
                    addresses[v, place] = part.__array_interface__["data"][0]
                widths[v] = x.shape[1]
        desk.put(ADDRESSES, addresses)
        desk.put(WIDTHS, widths)
        if self.chunk.observed is not None:
            desk.put(WANTED, np.ascontiguousarray(self.chunk.observed.T))
        desk.put(INVERSE, self.inverse)
        desk.put(STATUS, self._status)
        desk.put(N_SEEN, self.n_seen)
        return desk

    def clear_desk(self) -> None:
        """Let go of all that was laid on the desk; it is laid anew when needed."""
        self.__dict__.pop("desk", None)

    @property
    def n_blocks(self) -> int:
        """Blocks the rows fall into."""
        return -(-self.n_rows // self.block)

    def span(self, block: int) -> tuple[int, int]:
        """First row of a block and the row after its last."""
        return block * self.block, min((block + 1) * self.block, self.n_rows)

    def present(self, v: int) -> Mask:
        """Which rows view `v` has."""
        present: Mask = self.inverse[v] > 0
        return present

    def unit(self, v: int) -> Matrix | None:
        """View `v` with unit rows in float32, absent ones zero: a copy for small sets of rows."""
        matrix, inverse = self._matrices[v], self.inverse[v]
        if matrix is None:
            return None
        if scipy.sparse.issparse(matrix):
            scale = np.repeat(inverse, np.diff(matrix.indptr))
            data = np.where(scale > 0, matrix.data, 0.0) * scale  # absent rows may hold inf
            parts = (data.astype(np.float32), matrix.indices, matrix.indptr)
            return scipy.sparse.csr_array(parts, shape=matrix.shape)
        unit = np.zeros(matrix.shape, dtype=np.float32)
        present = inverse > 0
        unit[present] = matrix[present] * inverse[present, None]
        return unit

    @property
    def n_columns(self) -> int:
        """Columns of all views, at least 1."""
        return max(1, sum(0 if x is None else x.shape[1] for x in self.chunk.views))

    def measure_view(self, v: int, start: int, stop: int) -> None:
        """Read rows of one view: norms, absences, faults."""
        view = self.views[v]
        if view is not None:
            view.measure(start, stop, self._wanted[v], self.inverse[v], self._status[v])

    def read_view(
        self,
        v: int,
        start: int,
        stop: int,
        centres: Any,
        distance: Floats,
        slack: Floats,
        scratch: Scratch,
    ) -> None:
        """Read rows of one view and add their distances from the centres in the same reading."""
        view = self.views[v]
        assert view is not None
        view.read(
            *(start, stop, self._wanted[v], self.inverse[v], self._status[v]),
            *(centres, distance, slack, scratch),
        )

    def count_views(self, start: int, stop: int) -> None:
        """Count the views of rows that have been measured in all of them."""
        self.n_seen[start:stop] = (self.inverse[:, start:stop] > 0).sum(axis=0)

    def measure_block(self, block: int) -> None:
        """Read the rows of a block once, in every view."""
        start, stop = self.span(block)
        for v in range(self.n_views):
            self.measure_view(v, start, stop)
        self.count_views(start, stop)

    def measure(self, n_threads: int = 1) -> MeasuredRows:
        """Read all rows and finish."""
        if not self.measured and self.desk is not None and self._measure_whole(n_threads):
            return self
        if not self.measured:
            run_blocks(lambda block, _: self.measure_block(block), self.n_blocks, n_threads)
            while self.finish():  # rows in order may turn out to be extreme, too
                run_blocks(lambda block, _: self.measure_block(block), self.n_blocks, n_threads)
        return self

    def _measure_whole(self, n_threads: int) -> bool:
        """Measure by the compiled phases; False if rows were mended and must be measured again."""
        desk = self.desk
        assert desk is not None
        n_parts = n_threads if self.n_rows > SMALLEST_BLOCK else 1
        ends = np.linspace(0, self.n_rows, n_parts + 1).astype(int)
        worst = [0] * n_parts

        def work(part: int, _: int) -> None:
            worst[part] = step.run("measure", desk.address, int(ends[part]), int(ends[part + 1]))

        self.n_seen[:] = 0
        run_blocks(work, n_parts, n_threads)
        return self.accept(max(worst))

    def accept(self, worst: int) -> bool:
        """Whether the rows can be used, given the worst kind of row met; if not, mend what can be mended."""
        if worst <= PRESENT:
            self.measured = True
            return True
        return not self.finish()

    def finish(self) -> bool:
        """Refuse faulty rows; True if rows were mended and everything must be measured again."""
        mended = False
        for v, view in enumerate(self.views):
            if view is None:
                continue
            status = self._status[v]
            if not (status > 1).any():
                continue
            for kind in (PARTLY_NAN, INFINITE, OUTSIDE):
                faulty = np.flatnonzero(status == kind)
                if len(faulty):
                    raise DataError(self._fault(v, int(faulty[0]), kind))
            self._mend(v, status)
            mended = True
        self.measured = not mended
        return mended

    def _mend(self, v: int, status: Integers) -> None:
        matrix = self._matrices[v]
        assert matrix is not None
        if (status == UNSORTED).any():
            matrix = scipy.sparse.csr_array(matrix, copy=True)
            matrix.sum_duplicates()
        extreme = np.flatnonzero(status == EXTREME)
        if len(extreme):
            matrix = _rescaled(matrix, extreme)
        self._matrices[v] = matrix
        self.numbers = None if self._reference else _numbers(self._matrices)
        self.__dict__.pop("views", None)  # made anew
        self.clear_desk()

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


def _numbers(matrices: Sequence[Matrix | None]) -> tuple[str, ...] | None:
    """The type of the views' numbers (CSR: values and columns), if it is the same for all."""
    found: tuple[str, ...] | None = None
    for x in matrices:
        if x is not None:
            numbers: tuple[str, ...]
            if scipy.sparse.issparse(x):
                numbers = (_name(x.data.dtype), _name(x.indices.dtype))
                if x.indptr.dtype != x.indices.dtype:
                    return None
            else:
                numbers = (_name(x.dtype),)
            if found is not None and numbers != found:
                return None
            found = numbers
    return found


@cache
def _name(dtype: Any) -> str:
    """A type's name, which NumPy puts together anew each time."""
    return str(dtype.name)


def _row_bytes(x: Matrix) -> int:
    if scipy.sparse.issparse(x):
        return int(12 * x.nnz // max(x.shape[0], 1)) + 1
    return int(x.shape[1] * x.itemsize)


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
