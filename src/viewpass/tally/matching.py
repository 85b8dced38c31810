"""Clusters of a new solve matched to those before, by the sampled rows they share.

A cluster takes the number of the one that it shares most rows with, one to one (the assignment that
keeps most rows). Rows counted under an old cluster belong to the new one that most of its sampled rows
are in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from viewpass.kernels.grid import Integers, Labels


class Places(NamedTuple):
    """New numbers of clusters."""

    new: Labels  # of the clusters of the new solve
    old: Labels  # of those before: where most of their rows are now


def places_of(new: Labels, old: Labels, n_new: int, n_old: int) -> Places:
    """Numbers for the clusters of a new solve, given old and new labels of the same rows.

    >>> import numpy as np
    >>> places_of(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]), 2, 2)
    Places(new=array([1, 0], dtype=int32), old=array([0, 1], dtype=int32))
    """
    both = (new >= 0) & (old >= 0)
    shared = np.zeros((n_new, n_old), dtype=np.int64)
    np.add.at(shared, (new[both], old[both]), 1)
    rows, columns = linear_sum_assignment(-shared)
    found = np.full(n_new, -1, dtype=np.int32)
    kept = columns < n_new  # where there were more clusters, the last numbers are gone
    found[rows[kept]] = columns[kept]
    found[found < 0] = np.setdiff1d(np.arange(n_new), found[found >= 0])
    nearest: Integers = shared.argmax(axis=0)
    return Places(found, found[nearest])
