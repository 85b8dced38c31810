"""CSR rows and their centres behind the methods every kind of view has (view.py)."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from viewpass.kernels.grid import ROUNDER, Floats, Integers, Labels, Mask
from viewpass.kernels.means import in_eights
from viewpass.kernels.scratch import Scratch
from viewpass.kernels.sparse import kernel


class SparseCentres:
    """Centres of one view as the sparse kernels want them: float32, eight clusters side by side."""

    def __init__(self, values: Floats, squares: Floats) -> None:
        self.values = values
        self.squares = squares
        n_clusters, width = values.shape
        self.eights = np.empty((-(-n_clusters // 8), width, 8), dtype=np.float32)
        in_eights(values, self.eights)
        self.longest = float(np.sqrt(squares.max(initial=0.0)))


class SparseView:
    """The rows of one CSR view: float32 or float64 values, sorted columns without repeats."""

    kind = "sparse"

    def __init__(self, x: scipy.sparse.csr_array) -> None:
        self.matrix = x
        self.shape = x.shape
        self._arrays = (x.data, x.indices, x.indptr)
        self._types = (x.data.dtype.name, x.indices.dtype.name)

    def measure(self, start: int, stop: int, wanted: Mask, inverse: Floats, status: Integers) -> None:
        kernel("measure", *self._types)(*self._arrays, self.shape[1], start, stop, wanted, inverse, status)

    def read(
        self,
        start: int,
        stop: int,
        wanted: Mask,
        inverse: Floats,
        status: Integers,
        centres: SparseCentres,
        distance: Floats,
        slack: Floats,
        scratch: Scratch,
    ) -> None:
        kernel("read", *self._types)(
            *(*self._arrays, self.shape[1], start, stop, wanted, inverse, status),
            *(centres.eights, centres.squares, centres.longest, distance, slack),
        )

    def look(
        self,
        rows: Integers,
        inverse: Floats,
        centres: SparseCentres,
        distance: Floats,
        slack: Floats,
        scratch: Scratch,
    ) -> None:
        kernel("look", *self._types)(
            *(*self._arrays, rows, inverse),
            *(centres.eights, centres.squares, centres.longest, distance, slack),
        )

    def distances(
        self, rows: Integers, inverse: Floats, centres: SparseCentres, out: Floats, scratch: Scratch
    ) -> None:
        dots = scratch.room("exact dots", (out.shape[1],), np.float64)
        columns = scratch.room("columns", centres.values.T.shape, np.float64)
        columns[:] = centres.values.T
        kernel("distances", *self._types)(*self._arrays, rows, inverse, columns, centres.squares, dots, out)

    def settle(
        self,
        rows: Integers,
        clusters: Integers,
        inverse: Floats,
        centres: SparseCentres,
        out: Floats,
    ) -> None:
        kernel("settle", *self._types)(
            *self._arrays, rows, clusters, inverse, centres.values, centres.squares, out
        )

    def add(
        self,
        rows: Integers,
        inverse: Floats,
        labels: Labels,
        sign: int,
        sums: Integers,
        counts: Integers,
    ) -> None:
        kernel("add", *self._types)(*self._arrays, rows, inverse, labels, sign, sums, counts)

    def unit_rows(self, rows: Integers, inverse: Floats) -> scipy.sparse.csr_array:
        unit = self.matrix[rows].astype(np.float64)
        unit.data *= np.repeat(inverse[rows], np.diff(unit.indptr))
        unit.data[:] = (unit.data + ROUNDER) - ROUNDER
        return unit

    def weighed_sums(self, rows: Integers, inverse: Floats, memberships: Floats) -> Floats:
        out = np.zeros((self.shape[1], memberships.shape[1]))
        kernel("weigh", *self._types)(*self._arrays, rows, inverse, memberships, out)
        return out
