"""Settings of the inner loop over rows (Eq. 11-16); the ridge is one number for all views or one for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Floats

Alpha = float | Sequence[float]


def each_view(alpha: Alpha, n_views: int) -> Floats:
    """The ridge of each view, as the kernels take it."""
    alphas: Floats = np.array([alpha] * n_views if isinstance(alpha, float | int) else alpha, np.float64)
    assert alphas.shape == (n_views,)
    return alphas


@dataclass(frozen=True)
class Rules:
    """Settings of the inner loop over one chunk (Eq. 11-16)."""

    alpha: Alpha  # ridge on the centres (Eq. 7), of all views or of each
    max_iter: int  # centre updates per chunk, at most
    tol: float  # stop when the loss changes by less than this share
    fill: str | None  # centre of a cluster without rows: "mean", "zero-filled-mean", None (zero)

    @property
    def zero_filled(self) -> bool:
        """Whether absent rows count as zeros in the mean that fills empty centres."""
        return self.fill == "zero-filled-mean"

    def at_most(self, n_updates: int) -> Rules:
        """The same rules with no more than this many centre updates."""
        return replace(self, max_iter=min(self.max_iter, n_updates))

    def handle(self, n_views: int, *, reference: bool = False) -> object:
        """The rules in the form the kernels take."""
        alpha, fill = each_view(self.alpha, n_views), self.fill is not None
        return backend(reference).Rules(alpha, self.max_iter, float(self.tol), fill, self.zero_filled)
