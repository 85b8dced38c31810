"""Dense rows and their centres behind the methods every kind of view has (view.py)."""

from __future__ import annotations

import numpy as np

from viewpass.kernels.dense import PAD, TILE_ROWS, kernel
from viewpass.kernels.grid import ROUNDER, Array, Floats, Integers, Labels, Mask
from viewpass.kernels.scratch import Scratch

UNIT_VALUES = 2**15  # of rows that are scaled at a time: they stay in cache


class DenseCentres:
    """Centres of one view as the dense kernels want them.

    The error bounds |float32 product - exact product|: each of the d products and additions, and
    the rounding of both factors, loses at most 2^-24 of |x| |u|; rows lie on a grid of 2^-33.
    """

    def __init__(self, values: Floats, squares: Floats) -> None:
        self.values = values
        self.squares = squares
        n_clusters, width = values.shape
        self.narrow = np.zeros((-(-n_clusters // PAD) * PAD, width), dtype=np.float32)
        self.narrow[:n_clusters] = values
        longest = float(np.sqrt(squares.max(initial=0.0)))
        relative = (width + 4) * 2.0**-24
        if relative < 0.5:
            relative /= 1.0 - relative
            self.error = 2.0 * longest * (relative + np.sqrt(width) * 2.0**-34) * 1.001 + 1e-30
        else:  # float32 says nothing about rows this wide: everything is decided in float64
            self.error = np.inf


class DenseView:
    """The rows of one dense view, C-contiguous float32 or float64."""

    kind = "dense"

    def __init__(self, x: Array) -> None:
        self.values = x
        self.shape = x.shape
        self._dtype = x.dtype.name

    def measure(self, start: int, stop: int, wanted: Mask, inverse: Floats, status: Integers) -> None:
        kernel("measure", self._dtype)(self.values, start, stop, wanted, inverse, status)

    def read(
        self,
        start: int,
        stop: int,
        wanted: Mask,
        inverse: Floats,
        status: Integers,
        centres: DenseCentres,
        distance: Floats,
        slack: Floats,
        scratch: Scratch,
    ) -> None:
        tile, places, product = self._room(centres, scratch)
        kernel("read", self._dtype)(
            *(self.values, start, stop, wanted, inverse, status),
            *(centres.narrow, centres.squares, centres.error),
            *(tile, places, product, distance, slack),
        )

    def look(
        self,
        rows: Integers,
        inverse: Floats,
        centres: DenseCentres,
        distance: Floats,
        slack: Floats,
        scratch: Scratch,
    ) -> None:
        tile, places, product = self._room(centres, scratch)
        kernel("look", self._dtype)(
            *(self.values, rows, inverse, centres.narrow, centres.squares, centres.error),
            *(tile, places, product, distance, slack),
        )

    def _room(self, centres: DenseCentres, scratch: Scratch) -> tuple[Array, Array, Array]:
        return (
            scratch.room("tile", (TILE_ROWS, self.shape[1]), np.float32),
            scratch.room("places", (TILE_ROWS,), np.int64),
            scratch.room("product", (TILE_ROWS, len(centres.narrow)), np.float32),
        )

    def settle(
        self,
        rows: Integers,
        clusters: Integers,
        inverse: Floats,
        centres: DenseCentres,
        out: Floats,
    ) -> None:
        kernel("settle", self._dtype)(
            self.values, rows, clusters, inverse, centres.values, centres.squares, out
        )

    def distances(
        self, rows: Integers, inverse: Floats, centres: DenseCentres, out: Floats, scratch: Scratch
    ) -> None:
        dots = scratch.room("exact dots", (out.shape[1],), np.float64)
        columns = scratch.room("columns", centres.values.T.shape, np.float64)
        columns[:] = centres.values.T
        kernel("distances", self._dtype)(self.values, rows, inverse, columns, centres.squares, dots, out)

    def add(
        self,
        rows: Integers,
        inverse: Floats,
        labels: Labels,
        sign: int,
        sums: Integers,
        counts: Integers,
    ) -> None:
        kernel("add", self._dtype)(self.values, rows, inverse, labels, sign, sums, counts)

    def unit_rows(self, rows: Integers, inverse: Floats) -> Floats:
        # By NumPy, since little depends on its speed, and the first fit does on what is to be compiled.
        out = np.empty((len(rows), self.shape[1]))
        size = max(1, UNIT_VALUES // max(self.shape[1], 1))
        for first in range(0, len(rows), size):
            here, some = out[first : first + size], rows[first : first + size]
            np.multiply(self.values[some], inverse[some, None], out=here)
            here += ROUNDER
            here -= ROUNDER
        return out

    def weighed_sums(self, rows: Integers, inverse: Floats, memberships: Floats) -> Floats:
        sums: Floats = self.unit_rows(rows, inverse).T @ memberships
        return sums
