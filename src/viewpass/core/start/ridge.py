"""The objective as a start ranks clusters by it: with a ridge to the mean of all rows.

On a sample of the rows a handful that are much alike lowers J by as much as a real cluster does, and
takes its place; the stream cannot undo that. The ridge weighs as much as a share of a cluster of average
size, so that small clusters count for less than they seem to, wherever the rows' mean lies.
"""

from __future__ import annotations

import numpy as np

from viewpass.core.state.statistics import Statistics

SHARE = 0.1  # of the rows a cluster has on average


def start_ridge(n_rows: int, n_clusters: int, alpha: float) -> float:
    """In rows; what was asked for, if that is more."""
    return max(alpha, SHARE * n_rows / n_clusters)


def ridged_objective(total: Statistics, ridge: float) -> float:
    """J with the best centres and this ridge to the mean, less what does not depend on the labels.

    That is - sum of |R_k - T_k g|^2 / (T_k + ridge), where g is the mean of a view's rows.
    """
    explained = 0.0
    for v, counts in enumerate(total.counts):
        n_rows = counts.sum()
        if n_rows == 0:
            continue
        sums = total.sums(v)
        sums -= counts[:, None] * (sums.sum(axis=0) / n_rows)
        some = counts > 0
        explained += float((np.square(sums).sum(axis=1)[some] / (counts[some] + ridge)).sum())
    return -explained
