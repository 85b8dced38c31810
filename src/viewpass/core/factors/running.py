"""The running mean that fills absent rows, and the weight they get (OMVC, section 3)."""

from __future__ import annotations

import numpy as np

from viewpass.core.factors.rows import Filled, clipped, column_sums, present_rows, unit_rows
from viewpass.kernels.grid import Floats, Integers
from viewpass.views.rows import MeasuredRows


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
