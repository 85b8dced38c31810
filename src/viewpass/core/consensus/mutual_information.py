"""Two clusterings of the same rows compared: adjusted mutual information, with the same bits everywhere.

What two clusterings have in common, less what they would have in common by chance with clusters of these
sizes, over the most they could (Vinh, Epps and Bailey, 2010; the mean of both entropies). 1: they are the
same; 0: no more than by chance.
"""

from __future__ import annotations

import numpy as np

from viewpass.kernels.grid import Array, Floats, Integers
from viewpass.kernels.portable import log

TINY = 2.0**-80  # of the largest probability: what is left out from here on
SMALLEST = 2.0**-52


def adjusted_mutual_information(one: Array, other: Array) -> float:
    """How far two labelings agree, from about 0 (by chance) to 1.

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
    room = most - by_chance
    room = min(room, -SMALLEST) if room < 0.0 else max(room, SMALLEST)
    return (shared - by_chance) / room


def _contingency(one: Array, other: Array) -> Integers:
    """How many rows each pair of clusters has."""
    names, mine = np.unique(one, return_inverse=True)
    others, theirs = np.unique(other, return_inverse=True)
    counts = np.bincount(mine * len(others) + theirs, minlength=len(names) * len(others))
    return counts.reshape(len(names), len(others)).astype(np.int64)


def _sum(terms: Floats) -> float:
    """One after another."""
    return float(np.cumsum(terms)[-1])


def _entropy(sizes: Integers, logs: Floats) -> float:
    """Of a clustering, times the number of rows."""
    return _sum(sizes * (logs[sizes.sum()] - logs[sizes]))


def _expected(sizes: Integers, others: Integers, logs: Floats) -> float:
    """The mutual information of random clusterings with these sizes, times the number of rows.

    Clusters of a and b rows share n of them with a probability (hypergeometric) that is worked out from
    the likeliest n outwards, where p(n + 1) / p(n) = (a - n) (b - n) / ((n + 1) (N - a - b + n + 1)).
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
