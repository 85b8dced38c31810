"""Non-negative least squares of many rows that share one small Gram matrix."""

from __future__ import annotations

import numpy as np

from viewpass.kernels.grid import Floats, Mask

NO_SLOPE, NO_MOVE = 1e-13, 1e-15  # of the largest product, of a step: rounding alone
LEAST_PIVOT = 1e-300  # whose root is not zero


def nnls(gram: Floats, products: Floats, out: Floats, n_threads: int) -> None:
    """Minimise y G y' - 2 p y' over y >= 0 for every row (Lawson and Hanson, warm-started).  INOUT out."""
    for p, y in zip(products, out, strict=True):
        _solve(gram, p, y)


def _solve(gram: Floats, p: Floats, y: Floats) -> None:
    free, barred = y > 0, np.zeros(len(y), dtype=bool)
    least, newest = NO_SLOPE * float(np.abs(p).max(initial=0.0)), -1
    for _ in range(10 * len(y) + 10):
        n_steps = 0
        while not _step(gram, p, y, free, barred, newest):
            n_steps += 1
            if n_steps > len(y):  # a step that lets no entry go: only of values near overflow
                return
        slope = p.copy()
        for j in range(len(y)):
            slope -= gram[:, j] * y[j]
        slope[free | barred] = -np.inf
        newest = int(slope.argmax())
        if not slope[newest] > least:
            return
        free[newest] = True


def _step(gram: Floats, p: Floats, y: Floats, free: Mask, barred: Mask, newest: int) -> bool:
    """Go to the best point that has these entries free, or as far as allowed; True if it was reached."""
    places = np.flatnonzero(free)
    solved = _solved(gram[np.ix_(places, places)], p[places])
    here = y[places]
    down = solved <= 0.0
    shares = np.where(here > solved, here / np.where(here > solved, here - solved, 1.0), 0.0)
    share = min(1.0, float(shares[down].min(initial=1.0)))
    if share >= 1.0:
        y[places] = solved
        return True
    there = here + share * (solved - here)
    gone = down & (there <= NO_MOVE * np.abs(here - solved))
    there[gone] = 0.0
    barred[places[gone & (places == newest)]] = True  # rounding alone had let it in
    gone |= down & (there <= 0.0)
    there[gone] = 0.0
    y[places] = there
    free[places[gone]] = False
    return False


def _solved(gram: Floats, p: Floats) -> Floats:
    """G^-1 p by G = L L', in the order of the compiled loops."""
    n = len(p)
    L, x = np.zeros((n, n)), np.zeros(n)
    for a in range(n):
        for b in range(a + 1):
            value = gram[a, b]
            for c in range(b):
                value -= L[a, c] * L[b, c]
            L[a, b] = np.sqrt(max(value, LEAST_PIVOT)) if a == b else value / L[b, b]
    for a in range(n):
        value = p[a]
        for c in range(a):
            value -= L[a, c] * x[c]
        x[a] = value / L[a, a]
    for a in range(n - 1, -1, -1):
        value = x[a]
        for c in range(a + 1, n):
            value -= L[c, a] * x[c]
        x[a] = value / L[a, a]
    return x
