"""Centres of every view in flat arrays, as the compiled phases read and write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from viewpass.kernels.chunk.desk import PAD, narrow_size, padded
from viewpass.kernels.chunk.renewing import error_of
from viewpass.kernels.grid import Array, Floats, Mask
from viewpass.kernels.pool import Pool


@dataclass(frozen=True)
class Packed:
    """What lies on the desk from LAST or NEW on (kernels/chunk/desk.py), and which centres are known."""

    widths: tuple[int, ...]
    sparse: bool
    ready: Mask
    values: Floats
    narrow: Array
    squares: Floats
    traces: Floats
    errors: Floats
    known: Mask

    @classmethod
    def room(
        cls, n_clusters: int, widths: Sequence[int], *, sparse: bool, pool: Pool | None = None
    ) -> Packed:
        """Room for centres."""
        pool = pool or Pool()
        n_views, n_columns = len(widths), sum(widths)
        return cls(
            tuple(widths),
            sparse,
            np.zeros(n_views, dtype=bool),
            pool.lend(n_clusters * n_columns, np.float64),
            pool.lend(narrow_size(n_clusters, n_columns), np.float32),
            np.zeros((n_views, n_clusters)),
            np.zeros((n_views, n_clusters)),
            np.zeros(n_views),
            np.zeros((n_views, n_clusters), dtype=bool),
        )

    @property
    def on_desk(self) -> tuple[Array, ...]:
        """The arrays in the desk's order."""
        return self.ready, self.values, self.narrow, self.squares, self.traces, self.errors

    def view(self, v: int) -> Floats:
        """The centres of a view, K x d."""
        n_clusters = self.squares.shape[1]
        first = n_clusters * sum(self.widths[:v])
        width = self.widths[v]
        return self.values[first : first + n_clusters * width].reshape(n_clusters, width)

    def put(self, v: int, values: Floats, squares: Floats, traces: Floats) -> None:
        """Lay a view's centres down, as the look wants them as well."""
        n_clusters, width = values.shape
        self.view(v)[:] = values
        self.ready[v] = True
        self.squares[v], self.traces[v] = squares, traces
        self.errors[v] = error_of(self.sparse, width, float(np.sqrt(squares.max(initial=0.0))))
        n_padded = padded(n_clusters)
        start = n_padded * sum(self.widths[:v])
        if self.sparse:
            self.narrow[start : start + width * n_clusters].reshape(width, n_clusters)[:] = values.T
            return
        for k in range(0, n_padded, PAD):
            at = start + k * width
            panel = self.narrow[at : at + PAD * width].reshape(width, PAD)
            part = values[k : k + PAD]
            panel[:, : len(part)] = part.T
