"""Squared distances between rows, averaged over the views that both have."""

from __future__ import annotations

import numpy as np

from viewpass.kernels.grid import Floats, Integers
from viewpass.kernels.reference import exact
from viewpass.kernels.reference.rows import Rows


class RowDistances:
    """Distances between the rows of a chunk."""

    def __init__(self, rows: Rows) -> None:
        self.rows, self.present = rows, rows.inverse > 0
        self.views = [None if rows.views[v] is None else rows.values(v) for v in range(rows.n_views)]
        self.squares = [rows.squares(v) for v in range(rows.n_views)]

    def mean(self, which: Integers, other: int) -> Floats:
        """Of rows `which` from another row; infinite where they share no view."""
        rows, squares = self.rows, self.squares
        total, shared = np.zeros(len(which)), np.zeros(len(which))
        for v, x in enumerate(self.views):
            if x is None or not self.present[v, other]:
                continue
            dots = exact.ordered_sum(x[which] * x[other]) * rows.inverse[v, which] * rows.inverse[v, other]
            far = np.maximum((squares[v][which] + squares[v][other]) - 2.0 * dots, 0.0)
            total += np.where(self.present[v, which], far, 0.0)
            shared += np.where(self.present[v, which], rows.weights[v], 0.0)
        return np.divide(total, shared, out=np.full_like(total, np.inf), where=shared > 0)
