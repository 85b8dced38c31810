"""The ridge alpha on the centres: one number for all views, or one for each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewpass.kernels.grid import Floats

Alpha = float | Sequence[float]


def each_view(alpha: Alpha, n_views: int) -> Floats:
    """The ridge of each view, as the kernels take it."""
    alphas: Floats = np.array([alpha] * n_views if isinstance(alpha, float | int) else alpha, np.float64)
    assert alphas.shape == (n_views,)
    return alphas
