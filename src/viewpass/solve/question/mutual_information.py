"""Adjusted mutual information of two clusterings, with the same bits on every processor.

    AMI = (I - E[I]) / (mean of both entropies - E[I])

where E[I] is the expected mutual information of random clusterings with clusters of the same sizes (Vinh,
Epps and Bailey, 2010). 1: the clusterings are equal; 0: they agree no more than by chance.
"""

from __future__ import annotations

import numpy as np

from viewpass.kernels.grid import Array, Floats, Integers
from viewpass.kernels.portable import log

TINY = 2.0**-80  # smaller probabilities, relative to the largest, are left out
SMALLEST = 2.0**-52  # magnitude of the denominator


def adjusted_mutual_information(one: Array, other: Array) -> float:
    """Agreement of two labellings, from about 0 (by chance) to 1.

    >>> import numpy as np
    >>> adjusted_mutual_information(np.array([0, 0, 1, 1]), np.array([5, 5, 2, 2]))
    1.0
    """
    table = _contingency(one, other)
    rows, columns = np.nonzero(table)
    if len(rows) == len(table) == table.shape[1]:  # the same clusters, or no rows
        return 1.0
    sizes, others = table.sum(axis=1), table.sum(axis=0)
    n_rows = int(sizes.sum())
    logs = np.append(0.0, log(np.arange(1, n_rows + 1)))
    both = table[rows, columns]
    shared = _sum(both * (logs[both] + logs[n_rows] - (logs[sizes[rows]] + logs[others[columns]]))) / n_rows
    by_chance = _expected(sizes, others, logs) / n_rows
    most = (_entropy(sizes, logs) + _entropy(others, logs)) / 2.0 / n_rows
    range_ = most - by_chance
    range_ = min(range_, -SMALLEST) if range_ < 0.0 else max(range_, SMALLEST)
    return (shared - by_chance) / range_


def _contingency(one: Array, other: Array) -> Integers:
    """Number of rows that each pair of clusters shares."""
    names, mine = np.unique(one, return_inverse=True)
    others, theirs = np.unique(other, return_inverse=True)
    counts = np.bincount(mine * len(others) + theirs, minlength=len(names) * len(others))
    return counts.reshape(len(names), len(others)).astype(np.int64)


def _sum(terms: Floats) -> float:
    """Sum in the order of the terms."""
    return float(np.cumsum(terms)[-1])


def _entropy(sizes: Integers, logs: Floats) -> float:
    """Entropy of a clustering, times the number of rows."""
    return _sum(sizes * (logs[sizes.sum()] - logs[sizes]))


def _expected(sizes: Integers, others: Integers, logs: Floats) -> float:
    """Expected mutual information of random clusterings with these sizes, times the number of rows.

    Clusters of a and b rows share n with hypergeometric probability p(n), computed from the most likely n
    outwards by p(n + 1) / p(n) = (a - n) (b - n) / ((n + 1) (N - a - b + n + 1)).
    """
    n_rows = int(sizes.sum())
    sizes, times = np.unique(sizes, return_counts=True)
    others, other_times = np.unique(others, return_counts=True)
    a, b = (each.ravel() for each in np.meshgrid(sizes, others, indexing="ij"))
    apart = logs[n_rows] - (logs[a] + logs[b])
    likeliest = (a + 1) * (b + 1) // (n_rows + 2)
    whole, sums = np.ones(len(a)), likeliest * (logs[likeliest] + apart)
    for way in (1, -1):
        live = np.arange(len(a))
        n, p = likeliest, np.ones(len(a))
        while len(live):
            rest = (n_rows - a - b)[live]
            if way > 0:
                p = p * ((a[live] - n) * (b[live] - n)) / ((n + 1) * (rest + n + 1))
            else:
                p = p * (n * (rest + n)) / ((a[live] - n + 1) * (b[live] - n + 1))
            n = n + way
            some = p > TINY
            live, n, p = live[some], n[some], p[some]
            whole[live] += p
            sums[live] += p * (n * (logs[n] + apart[live]))
    return _sum(np.outer(times, other_times).ravel() * (sums / whole))
