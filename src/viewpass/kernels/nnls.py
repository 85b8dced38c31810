"""Non-negative least squares of many rows that share one small Gram matrix, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from viewpass.kernels.compiling import compiled, once
from viewpass.kernels.grid import Floats
from viewpass.kernels.threads import run_blocks

BLOCK = 512  # rows a thread takes at a time
RIDGE = 1e-13  # of the mean diagonal: a Gram matrix may be singular


def _active_sets(gram, products, out):  # type: ignore[no-untyped-def]
    """Minimise y G y' - 2 p y' over y >= 0 for every row (Lawson and Hanson, warm-started).

    IN gram (K x K, positive definite), products (n x K); INOUT out: a start, then the minimisers.
    """
    size = gram.shape[0]
    passive = np.zeros(size, dtype=np.bool_)
    barred = np.zeros(size, dtype=np.bool_)
    places = np.zeros(size, dtype=np.int64)
    factor = np.zeros((size, size))
    solved = np.zeros(size)
    for row in range(products.shape[0]):
        largest = 0.0
        for k in range(size):
            passive[k] = out[row, k] > 0.0
            barred[k] = False
            largest = max(largest, abs(products[row, k]))
        tolerance = 1e-13 * largest
        newest = -1
        for _ in range(10 * size + 10):
            while True:  # the best point that has these entries free, or as far towards it as allowed
                n_free = 0
                for k in range(size):
                    if passive[k]:
                        places[n_free] = k
                        n_free += 1
                for a in range(n_free):
                    for b in range(a + 1):
                        value = gram[places[a], places[b]]
                        for c in range(b):
                            value -= factor[a, c] * factor[b, c]
                        if a == b:
                            factor[a, a] = np.sqrt(max(value, 1e-300))
                        else:
                            factor[a, b] = value / factor[b, b]
                for a in range(n_free):
                    value = products[row, places[a]]
                    for c in range(a):
                        value -= factor[a, c] * solved[c]
                    solved[a] = value / factor[a, a]
                for a in range(n_free - 1, -1, -1):
                    value = solved[a]
                    for c in range(a + 1, n_free):
                        value -= factor[c, a] * solved[c]
                    solved[a] = value / factor[a, a]
                share = 1.0
                for a in range(n_free):
                    if solved[a] <= 0.0:
                        here = out[row, places[a]]
                        share = min(share, here / (here - solved[a]) if here > solved[a] else 0.0)
                if share >= 1.0:
                    for a in range(n_free):
                        out[row, places[a]] = solved[a]
                    break
                for a in range(n_free):
                    k = places[a]
                    here = out[row, k] + share * (solved[a] - out[row, k])
                    if solved[a] <= 0.0 and here <= 1e-15 * abs(out[row, k] - solved[a]):
                        here = 0.0
                        passive[k] = False
                        barred[k] = barred[k] or k == newest  # rounding alone had let it in
                    out[row, k] = here
                for a in range(n_free):  # at least one entry must go, or this would not end
                    if solved[a] <= 0.0 and out[row, places[a]] <= 0.0:
                        out[row, places[a]] = 0.0
                        passive[places[a]] = False
            best, steepest = -1, tolerance
            for k in range(size):
                if passive[k] or barred[k]:
                    continue
                slope = products[row, k]
                for j in range(size):
                    slope -= gram[k, j] * out[row, j]
                if slope > steepest:
                    best, steepest = k, slope
            if best < 0:
                break
            passive[best] = True
            newest = best


@once
def _kernel() -> Any:
    matrix = types.Array(types.float64, 2, "C", readonly=True)
    return compiled(_active_sets, types.void(matrix, matrix, types.float64[:, ::1]))


def nnls(gram: Floats, products: Floats, start: Floats | None = None, *, n_threads: int = 1) -> Floats:
    """Rows y >= 0 that minimise y G y' - 2 p y', to the last bit the same for any number of threads.

    Parameters
    ----------
    gram : (K, K) array
        Symmetric, positive semidefinite.
    products : (n, K) array
        The p of each row.
    start : (n, K) array, optional
        Near the answer: its positive entries are tried first.
    """
    size = len(gram)
    ridge = RIDGE * max(float(np.trace(gram)) / max(size, 1), 1e-300)
    gram = np.ascontiguousarray(gram + ridge * np.eye(size))
    products = np.ascontiguousarray(products, dtype=np.float64)
    out = np.zeros_like(products) if start is None else np.array(start, dtype=np.float64, order="C")
    kernel = _kernel()
    n_blocks = -(-len(products) // BLOCK)

    def work(block: int, worker: int) -> None:
        there = slice(block * BLOCK, (block + 1) * BLOCK)
        kernel(gram, products[there], out[there])

    run_blocks(work, n_blocks, n_threads)
    return out
