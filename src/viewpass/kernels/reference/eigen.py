"""The specification of native/spectrum.cpp: leading eigenpairs of a graph, in NumPy, to the same bits.

Sums run in a fixed order: along a vector in partial sums (`ordered_sum`), else one after another.
No BLAS, no LAPACK: their bits depend on the processor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from viewpass.kernels.grid import Floats, Integers
from viewpass.kernels.portable import ordered_sum

GUARD = 10  # vectors beyond those asked for, and a tenth of these
TILE = 8  # the number of vectors of a block is a multiple of this
POWERS = 3  # of the matrix, that the start is multiplied by
MOST_DEGREE = 12
MOST_ROUNDS = 20
MOST_QL_STEPS = 60  # of QL, for each eigenvalue
MOST_GROWTH = 1e10  # of a vector under the filter, compared with what it damps
LEAST_CUT, MOST_CUT = 2.0**-20, 0.99
SMALL_RESIDUAL = 1e-10  # of residuals
NO_ENTRY = 2.0**-56  # an entry beside the diagonal
LOST = 2.0**-40  # what is left of a vector that depends on those before it
SEED = 0


class Draws:
    """Pseudo-random numbers by counting (splitmix64): draw t is a hash of seed and t."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def next(self, size: int) -> Floats:
        """The next numbers in [0, 1), multiples of 2^-53."""
        counts = np.arange(1, size + 1, dtype=np.uint64)
        z = np.uint64(self._state) + counts * np.uint64(0x9E3779B97F4A7C15)
        self._state = (self._state + size * 0x9E3779B97F4A7C15) % 2**64
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
        return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53


def spectrum(
    starts: Integers, columns: Integers, links: Integers, n_leading: int, tie: int = 0
) -> tuple[Floats, Floats]:
    """The leading eigenvalues, falling, and eigenvectors (columns) of the links scaled by degrees.

    The links by their entries, row by row: those of row i are links[starts[i] : starts[i + 1]]. `tie`: more
    links between any two anchors.
    """
    a = SparseMatrix.scaled(starts, columns, links, tie)
    wanted = n_leading + GUARD + n_leading // 10
    n_block = -(-wanted // TILE) * TILE
    if 2 * n_block >= a.size:
        values, vectors = all_eigenpairs(a.whole())
    else:
        values, vectors = _Iteration(a, n_leading, n_block).run()
    values, vectors = values[:n_leading], vectors[:n_leading]
    largest = vectors[np.arange(n_leading), np.abs(vectors).argmax(axis=1)]
    return values, np.ascontiguousarray(np.where(largest[:, None] < 0.0, -vectors, vectors).T)


@dataclass(frozen=True)
class SparseMatrix:
    """A symmetric matrix: the entries of its rows that are not zero, and tie s s' for a vector s.

    The first entry of each row, then the second, ...
    """

    size: int
    entries: list[tuple[Integers, Integers, Floats]]  # rows, columns, values of entry t
    scale: Floats  # s
    tie: float

    @classmethod
    def scaled(cls, starts: Integers, columns: Integers, links: Integers, tie: int) -> SparseMatrix:
        """D^-1/2 (G + tie 11') D^-1/2."""
        size = len(starts) - 1
        rows = np.repeat(np.arange(size), np.diff(starts))
        degrees = np.full(size, tie * size, dtype=np.int64)
        np.add.at(degrees, rows, links)
        scale = 1.0 / np.sqrt(np.where(degrees > 0, degrees, 1).astype(np.float64))
        values = links.astype(np.float64) * (scale[rows] * scale[columns])
        number = np.arange(len(rows)) - starts[rows]
        entries = []
        for t in range(int(number.max(initial=-1)) + 1):
            some = number == t
            entries.append((rows[some], columns[some], values[some]))
        return cls(size, entries, scale, float(tie))

    def whole(self) -> Floats:
        """All entries."""
        out = np.zeros((self.size, self.size))
        for rows, columns, values in self.entries:
            out[rows, columns] = values
        if self.tie > 0.0:
            out += self.tie * (self.scale[:, None] * self.scale)
        return out

    def step(self, x: Floats, before: Floats | float, shift: float, factor: float) -> Floats:
        """(A x - shift x) factor - before."""
        sums = np.zeros_like(x)
        for rows, columns, values in self.entries:
            sums[rows] += values[:, None] * x[columns]
        if self.tie > 0.0:
            tied = np.cumsum(self.scale[:, None] * x, axis=0)[-1]  # one after another
            sums += (self.tie * self.scale)[:, None] * tied
        return (sums - shift * x) * factor - before


def all_eigenpairs(a: Floats) -> tuple[Floats, Floats]:
    """All eigenvalues of a symmetric matrix, falling, and eigenvectors, a row each; `a` is used up."""
    diagonal, beside, columns = _tridiagonal(a)
    for first in range(len(diagonal)):
        for _ in range(MOST_QL_STEPS):
            last = first
            while abs(beside[last]) > NO_ENTRY:
                last += 1
            if last == first:
                break
            _ql_step(diagonal, beside, columns, first, last)
    order = sorted(range(len(diagonal)), key=lambda k: -diagonal[k])
    return np.array(diagonal)[order], columns[order]


def eigenpairs(a: Floats) -> tuple[Floats, Floats]:
    """The same of a matrix that stays as it is; its entries are at most about 1."""
    return all_eigenpairs(np.array(a))


def _tridiagonal(a: Floats) -> tuple[list[float], list[float], Floats]:
    """A = Q T Q' by Householder's reflections: T's diagonal, what is beside it, and Q's columns."""
    n = len(a)
    beside, columns = [0.0] * n, np.eye(n)
    mirrors: list[tuple[Floats, float] | None] = [None] * n
    for k in range(n - 1):
        rest = a[k + 1 :, k + 1 :]
        u = a[k, k + 1 :].copy()
        length = math.sqrt(ordered_sum(u * u))
        beside[k] = -length if u[0] > 0.0 else length
        u[0] -= beside[k]
        half = float(ordered_sum(u * u)) / 2.0
        if half == 0.0:
            continue
        mirrors[k] = u, half
        w = ordered_sum(rest * u) / half
        w -= float(ordered_sum(u * w)) / (2.0 * half) * u
        rest -= u[:, None] * w + w[:, None] * u
    for k in reversed(range(n)):
        mirror = mirrors[k]
        if mirror is not None:
            rows = columns[k + 1 :, k + 1 :]
            rows -= (ordered_sum(rows * mirror[0]) / mirror[1])[:, None] * mirror[0]
    return np.diagonal(a).tolist(), beside, columns


def _ql_step(d: list[float], e: list[float], columns: Floats, first: int, last: int) -> None:
    """One implicit QL step with a shift on the entries from `first` to `last`.  INOUT d, e, columns."""
    slope = (d[first + 1] - d[first]) / (2.0 * e[first])
    root = math.sqrt(slope * slope + 1.0)
    g = d[last] - d[first] + e[first] / (slope + (-root if slope < 0.0 else root))
    sine, cosine, p = 1.0, 1.0, 0.0
    for i in range(last - 1, first - 1, -1):
        f, b = sine * e[i], cosine * e[i]
        r = math.sqrt(f * f + g * g)
        e[i + 1] = r
        if r == 0.0:
            d[i + 1] -= p
            e[last] = 0.0
            return
        sine, cosine = f / r, g / r
        g = d[i + 1] - p
        q = (d[i] - g) * sine + 2.0 * cosine * b
        p = sine * q
        d[i + 1] = g + p
        g = cosine * q - b
        low, high = columns[i], columns[i + 1]
        columns[i], columns[i + 1] = cosine * low - sine * high, sine * low + cosine * high
    d[first] -= p
    e[first], e[last] = g, 0.0


def _orthonormalise(q: Floats, draws: Draws) -> None:
    """Gram-Schmidt, each row against those before it, again while more than half of it goes.  INOUT q.

    A row that depends on those before it is replaced by a random one.
    """
    for k, x in enumerate(q):
        first = before = math.sqrt(ordered_sum(x * x))
        while True:
            shares = ordered_sum(q[:k] * x)
            for share, other in zip(shares, q[:k], strict=True):
                x -= share * other
            after = math.sqrt(ordered_sum(x * x))
            if after > 0.5 * before:
                break
            if after <= LOST * first:
                x[:] = 2.0 * draws.next(len(x)) - 1.0
                first = after = math.sqrt(ordered_sum(x * x))
            before = after
        x /= after


def _combined(weights: Floats, rows: Floats) -> Floats:
    """For each row of weights the sum of rows times weights, one after another."""
    out = np.zeros((len(weights), rows.shape[1]))
    for j, row in enumerate(rows):
        out += weights[:, j, None] * row
    return out


class _Iteration:
    """Subspace iteration with a Chebyshev filter (see native/spectrum.hpp)."""

    def __init__(self, a: SparseMatrix, n_leading: int, n_block: int) -> None:
        self._a, self._n_leading, self._n_block = a, n_leading, n_block
        self._low = 0.0

    def run(self) -> tuple[Floats, Floats]:
        """Eigenvalues of the block, falling, and its vectors, a row each."""
        draws = Draws(SEED)
        x = 2.0 * draws.next(self._n_block * self._a.size).reshape(self._n_block, -1) - 1.0
        here = np.ascontiguousarray(x.T)
        for _ in range(POWERS):
            here = self._a.step(here, 0.0, 0.0, 1.0)
        for round_ in range(MOST_ROUNDS + 1):
            x = np.ascontiguousarray(here.T)
            _orthonormalise(x, draws)
            values, x, ax = self._rayleigh_ritz(x)
            if round_ == MOST_ROUNDS or self._converged(values, x, ax):
                break
            here = self._filtered(x, float(values[-1]))
        return values, x

    def _rayleigh_ritz(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        ax = np.ascontiguousarray(self._a.step(np.ascontiguousarray(x.T), 0.0, 0.0, 1.0).T)
        small = np.empty((len(x), len(x)))
        for q in range(len(x)):
            small[: q + 1, q] = small[q, : q + 1] = ordered_sum(x[: q + 1] * ax[q])
        values, vectors = all_eigenpairs(small)
        return values, _combined(vectors, x), _combined(vectors, ax)

    def _converged(self, values: Floats, x: Floats, ax: Floats) -> bool:
        n = self._n_leading
        residuals = ax[:n] - values[:n, None] * x[:n]
        return bool((ordered_sum(residuals * residuals) <= SMALL_RESIDUAL * SMALL_RESIDUAL).all())

    def _filtered(self, x: Floats, lowest: float) -> Floats:
        """The Chebyshev polynomial that is at most 1 between low and cut, of the block."""
        self._low = min(self._low, 1.5 * lowest)
        cut = min(max(lowest, LEAST_CUT), MOST_CUT)
        middle, reach = (self._low + cut) / 2.0, (cut - self._low) / 2.0
        at_one = (1.0 - middle) / reach
        grown, last = at_one, 1.0
        before = np.ascontiguousarray(x.T)
        here = self._a.step(before, 0.0, middle, 1.0 / reach)
        for _ in range(MOST_DEGREE - 1):
            more = 2.0 * at_one * grown - last
            if more > MOST_GROWTH:
                break
            last, grown = grown, more
            before, here = here, self._a.step(here, before, middle, 2.0 / reach)
        return here
