"""Rows as mixtures of their nearest anchors, and what these have in common, compiled.

Weights are whole numbers of 1 / UNIT: their products can be summed in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from viewpass.kernels.chunk.desk import MIXED_NEAR, MIXED_WEIGHTS, N_CLUSTERS, N_MIXED, N_SEEN
from viewpass.kernels.chunk.eights import lowest_bit
from viewpass.kernels.chunk.memory import floats_at, labels_at, whole_at
from viewpass.kernels.compiling import called, compiled, once
from viewpass.kernels.dense import read_only
from viewpass.kernels.least import WORD, fifth_at_most, new_eight, within

UNIT = 2**15
MOST_NEAR = 4  # anchors of a mixture


@called
def _nearest(line, n_anchors, held, who, room):
    """The five least distances of a line and whose they are, in order; ties go to the lowest index.

    IN line; OUT held, who; all are addresses. Without branches, as far as it goes: which anchors are near is
    anyone's guess to the processor.
    """
    distance = floats_at(line)
    limit = fifth_at_most(line, n_anchors, room)
    a = b = c = d = e = np.inf
    of_a, of_b, of_c, of_d, of_e = 0, 1, 2, 3, 4
    for first in range(0, n_anchors, WORD):
        bits = within(line + 8 * first, min(WORD, n_anchors - first), limit)
        while bits != 0:
            k = first + lowest_bit(bits)
            bits &= bits - 1
            value = distance[k]
            to_a, to_b, to_c, to_d, to_e = value < a, value < b, value < c, value < d, value < e
            e, of_e = (d if to_d else (value if to_e else e)), (of_d if to_d else (k if to_e else of_e))
            d, of_d = (c if to_c else (value if to_d else d)), (of_c if to_c else (k if to_d else of_d))
            c, of_c = (b if to_b else (value if to_c else c)), (of_b if to_b else (k if to_c else of_c))
            b, of_b = (a if to_a else (value if to_b else b)), (of_a if to_a else (k if to_b else of_b))
            a, of_a = (value if to_a else a), (k if to_a else of_a)
    best, whose = floats_at(held), whole_at(who)
    best[0], best[1], best[2], best[3], best[4] = a, b, c, d, e
    whose[0], whose[1], whose[2], whose[3] = of_a, of_b, of_c, of_d


@called
def _mix_rows(distance, n_rows, n_anchors, n_seen, near, weights, n_near):
    """The n_near nearest anchors of each row, r of them, and their weights.

    w_j = (d_{r+1} - d_j) / (r d_{r+1} - the sum of r distances). IN distance, n_seen; OUT near, weights:
    (rows, r); all are addresses. Ties go to the lowest index; a row without a view gets weights of 0.
    """
    held, who, room = new_eight(), new_eight(), new_eight()
    best, whose, seen = floats_at(held), whole_at(who), whole_at(n_seen)
    for i in range(n_rows):
        _nearest(distance + 8 * i * n_anchors, n_anchors, held, who, room)
        mine, shares = labels_at(near + 4 * i * n_near), whole_at(weights + 8 * i * n_near)
        whole = 0.0
        for j in range(n_near):
            whole += best[n_near] - best[j]
        for j in range(n_near):
            mine[j] = whose[j]
            share = (best[n_near] - best[j]) / whole if whole > 0.0 else 1.0 / n_near
            shares[j] = np.int64(np.rint(share * UNIT)) if seen[i] > 0 else 0


def mix(table, _room, first, n_rows, distance, _d, _e, _f, _g):
    """The mixtures of rows of a chunk that have just been looked at, from row `first` on.

    IN distance (theirs from all anchors), N_SEEN; OUT MIXED_NEAR, MIXED_WEIGHTS.
    """
    desk = whole_at(table)
    n_near, n_seen = desk[N_MIXED], desk[N_SEEN] + 8 * first
    near, weights = desk[MIXED_NEAR] + 4 * first * n_near, desk[MIXED_WEIGHTS] + 8 * first * n_near
    _mix_rows(distance, n_rows, desk[N_CLUSTERS], n_seen, near, weights, n_near)
    return 0


def _mix_at(distance, n_rows, n_anchors, n_seen, near, weights, n_near):
    _mix_rows(distance, n_rows, n_anchors, n_seen, near, weights, n_near)


def _link(near, weights, links):
    """Add z z' of every row.  IN near, weights; INOUT links."""
    for i in range(near.shape[0]):
        for a in range(near.shape[1]):
            for b in range(near.shape[1]):
                links[near[i, a], near[i, b]] += weights[i, a] * weights[i, b]


_SIGNATURES = {
    "mix": types.void(*[types.int64] * 7),
    "link": types.void(read_only(types.int32, 2), read_only(types.int64, 2), types.int64[:, ::1]),
}


@once
def kernel(name: str) -> Callable[..., Any]:
    """`mix` (of addresses) or `link`, compiled."""
    return compiled(_mix_at if name == "mix" else _link, _SIGNATURES[name])
