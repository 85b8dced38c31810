"""Unit rows of a view staged on disk, for comparing rows of a cluster: dense, or sparse and staying so.

Products in float32 are a filter; `exact` adds products of float32 values in float64, in a fixed order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, Any, Protocol

import numpy as np
import scipy.sparse

from viewpass.kernels.grid import STEP, Array, Floats, Integers
from viewpass.kernels.portable import ordered_sum, unit_rows
from viewpass.views.rows import MeasuredRows

EXACT_VALUES = 2**20  # pairs x columns at a time
SPARSE_PAIRS = 2**13

NewFile = Callable[[], IO[bytes]]  # opens an empty file for reading and writing


def _inverse(squares: Array) -> Floats:
    """Inverse lengths; 0 for rows of length 0, which are like no other."""
    found: Floats = np.divide(1.0, np.sqrt(squares), out=np.zeros(len(squares)), where=squares > 0)
    return found


def _flushed(file: IO[bytes]) -> IO[bytes]:
    file.flush()
    return file


class UnitView(Protocol):
    """The rows of one view. A block of them is what `product` and `exact` take."""

    n_terms: int  # products that are added for a pair, at most

    def put(self, rows: MeasuredRows, v: int, which: Integers, places: Integers) -> None:
        """Stage some rows of a chunk, at their places; rows come in the order of the data."""

    def block(self, first: int, last: int) -> Any:
        """The rows at places from `first` on."""

    def product(self, one: Any, other: Any) -> Array:
        """The products of all pairs of rows of two blocks, in float32."""

    def exact(self, one: Any, other: Any, pairs: Integers) -> Floats:
        """The products of some pairs."""


class DenseView:
    """Rows in the order of their places."""

    def __init__(self, new_file: NewFile, n_rows: int, width: int) -> None:
        self.n_terms = width
        shape = max(n_rows, 1), max(width, 1)
        self._rows = np.memmap(new_file(), dtype=np.float32, mode="w+", shape=shape)

    def put(self, rows: MeasuredRows, v: int, which: Integers, places: Integers) -> None:
        """Write them where they belong."""
        unit = rows.unit(v)[which]
        self._rows[places] = unit * _inverse(ordered_sum(unit * unit))[:, None]

    def block(self, first: int, last: int) -> Array:
        """Read rows."""
        return np.asarray(self._rows[first:last])

    def product(self, one: Array, other: Array) -> Array:
        """One matrix product."""
        found: Array = one @ other.T
        return found

    def exact(self, one: Array, other: Array, pairs: Integers) -> Floats:
        """Column after column, in 64 partial sums."""
        found = np.empty(len(pairs))
        step = max(1, EXACT_VALUES // one.shape[1])
        for start in range(0, len(pairs), step):
            some = pairs[start : start + step]
            found[start : start + step] = ordered_sum(one[some[:, 0]].astype(np.float64) * other[some[:, 1]])
        return found


class SparseView:
    """Rows in the order of the data, one after the other; blocks take them by their places."""

    def __init__(self, new_file: NewFile, n_rows: int, width: int) -> None:
        self.n_terms = 0
        self._files = new_file(), new_file()  # values, columns
        self._lengths: list[Integers] = []
        self._row = np.full(n_rows, -1, dtype=np.int64)  # of each place, among those that are staged
        self._n_rows, self._width = 0, width
        self._whole: Any = None

    def put(self, rows: MeasuredRows, v: int, which: Integers, places: Integers) -> None:
        """Append the values and columns of their entries."""
        some, inverse = rows.take(which)
        view = scipy.sparse.csr_array(some.views[v])
        lengths = np.diff(view.indptr).astype(np.int64)
        row = np.repeat(np.arange(len(which)), lengths)
        unit = unit_rows(view.data[:, None], inverse[v][row])[:, 0] * STEP
        square = np.bincount(row, weights=unit * unit, minlength=len(which)).astype(np.float64)  # in order
        entries = (unit * _inverse(square)[row]).astype(np.float32), view.indices.astype(np.int64)
        for file, values in zip(self._files, entries, strict=True):
            file.write(values.tobytes())
        self._row[places] = self._n_rows + np.arange(len(which))
        self._lengths.append(lengths)
        self._n_rows += len(which)
        self.n_terms = max(self.n_terms, int(lengths.max(initial=0)))

    def block(self, first: int, last: int) -> Any:
        """Gather rows; those that lack the view are empty."""
        if self._whole is None:
            ends = np.concatenate([np.zeros(1, dtype=np.int64), *self._lengths]).cumsum()
            values, columns = (
                np.memmap(_flushed(file), dtype=kind, mode="r") if ends[-1] else np.empty(0, dtype=kind)
                for file, kind in zip(self._files, (np.float32, np.int64), strict=True)
            )
            whole = scipy.sparse.csr_array((self._n_rows + 1, self._width), dtype=np.float32)
            whole.data, whole.indices, whole.indptr = values, columns, np.append(ends, ends[-1])
            self._whole = whole
        rows = self._row[first:last]
        return self._whole[np.where(rows < 0, self._n_rows, rows)]

    def product(self, one: Any, other: Any) -> Array:
        """One product of sparse matrices."""
        found: Array = (one @ other.T).toarray()
        return found

    def exact(self, one: Any, other: Any, pairs: Integers) -> Floats:
        """Entry after entry, in the order of columns."""
        found = np.empty(len(pairs))
        one, other = one.astype(np.float64), other.astype(np.float64)
        for start in range(0, len(pairs), SPARSE_PAIRS):
            some = pairs[start : start + SPARSE_PAIRS]
            terms = scipy.sparse.csr_array(one[some[:, 0]].multiply(other[some[:, 1]]))
            terms.sort_indices()
            row = np.repeat(np.arange(len(some)), np.diff(terms.indptr))
            found[start : start + SPARSE_PAIRS] = np.bincount(row, weights=terms.data, minlength=len(some))
        return found
