"""k-means on the views side by side, with absent rows filled by the mean of their view."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from viewpass.baselines.base import kmeans
from viewpass.errors import DataError, SettingError
from viewpass.kernels.grid import Floats, Mask

MOST_DENSE = 500_000_000  # of one dense matrix
FILLED_SCALES = ("unit", "clipped", "sums")


class FilledKMeans:
    """The simplest method for missing views: fill with means, join the views, k-means.

    `scale`: "unit" (rows of unit length, then filled), "clipped" (filled, negative entries to 0, unit
    length) or "sums" (filled, clipped, each view divided by its sum). All views are dense in memory.
    """

    def __init__(self, n_clusters: int, scale: str = "unit", n_init: int = 20, random_state: int = 0) -> None:
        self.n_clusters, self.scale, self.n_init = n_clusters, scale, n_init
        self.random_state = random_state

    def fit(self, views: list[Any], observed: Mask) -> Self:
        """Cluster the rows; labels are `labels_`."""
        if self.scale not in FILLED_SCALES:
            raise SettingError(f"scale is {self.scale!r}. Choose one of {', '.join(FILLED_SCALES)}.")
        n_values = sum(view.shape[0] * view.shape[1] for view in views)
        if n_values > MOST_DENSE:
            raise DataError(f"the views together have {n_values:,} values, too many for one dense matrix.")
        rows = self._reduced(
            np.hstack([self._filled(x, own) for x, own in zip(views, observed.T, strict=True)])
        )
        self.labels_ = kmeans(rows, self.n_clusters, self.n_init, self.random_state)[1]
        return self

    def _filled(self, view: Any, present: Mask) -> Floats:
        rows = np.array(view.toarray() if hasattr(view, "toarray") else view, dtype=np.float64)
        rows = unit(rows) if self.scale == "unit" else rows
        rows[~present] = rows[present].mean(axis=0)
        if self.scale == "unit":
            return rows
        rows = np.maximum(rows, 0)
        return np.asarray(rows / rows.sum() if self.scale == "sums" else unit(rows))

    def _reduced(self, rows: Floats) -> Floats:
        """What k-means gets; a subclass may give it fewer columns."""
        return rows


def unit(rows: Floats) -> Floats:
    """Rows of unit length; zeros stay."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300))
