"""The ridged objective that ranks initial clusterings: J with a ridge towards the mean of all rows.

    J_ridge = const - sum_v sum_k |R_k - T_k g|^2 / (T_k + ridge),  g the mean of the rows of view v

On a sample, a handful of nearly equal rows lowers J as much as a real cluster does and takes its place; the
stream cannot undo that. The ridge is a share of the average cluster size, so small clusters count for less
than they seem to, wherever the mean of the rows lies.
"""

from __future__ import annotations

import numpy as np

from viewpass.kernels.grid import STEP
from viewpass.kernels.portable import ordered_sum
from viewpass.sums.rules import Alpha, each_view
from viewpass.sums.statistics import Statistics

RIDGE_SHARE = 0.1  # of the average number of rows per cluster


def start_ridge(n_rows: int, n_clusters: int, alpha: Alpha) -> Alpha:
    """The ridge, in rows; `alpha` (of a view) if that is larger."""
    share = RIDGE_SHARE * n_rows / n_clusters
    if isinstance(alpha, float | int):
        return max(alpha, share)
    return tuple(max(of_view, share) for of_view in alpha)


def ridged_objective(total: Statistics, ridge: Alpha) -> float:
    """J_ridge without the constant, with the best centres for these labels."""
    explained, ridges = 0.0, each_view(ridge, len(total.counts))
    for v, counts in enumerate(total.counts):
        n_rows = int(counts.sum())
        if n_rows == 0:
            continue
        mean = total.steps[v].sum(axis=0) * STEP / n_rows
        squares = ordered_sum(np.square(total.sums(v) - counts[:, None] * mean))
        some = counts > 0
        explained += float(ordered_sum(squares[some] / (counts[some] + ridges[v])))
    return -explained
