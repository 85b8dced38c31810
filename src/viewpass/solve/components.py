"""Principal components, with every sum in a fixed order: they have the same bits on every machine."""

from __future__ import annotations

import numpy as np

from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Floats
from viewpass.kernels.portable import ordered_sum

NEGLIGIBLE = 1e-9  # of the largest eigenvalue


def components(apart: Floats, most: int) -> tuple[Floats, Floats]:
    """Principal components of centred rows: variances and directions, by the smaller of the two products."""
    if apart.shape[1] <= len(apart):
        return leading(backend().products(turned(apart), turned(apart)), most)
    values, vectors = leading(backend().products(apart, apart), most)
    return values, backend().products(vectors / np.sqrt(values)[:, None], turned(apart))


def leading(matrix: Floats, most: int) -> tuple[Floats, Floats]:
    """The largest eigenvalues of a symmetric matrix that are not negligible, and vectors, a row each."""
    trace = float(ordered_sum(np.diagonal(matrix)))
    if not trace > 0.0:
        return np.zeros(0), np.zeros((0, len(matrix)))
    values, vectors = backend().eigenpairs(np.ascontiguousarray(matrix / trace))
    n_found = min(int((values > NEGLIGIBLE * values[0]).sum()), most)
    return values[:n_found] * trace, vectors[:n_found]


def turned(matrix: Floats) -> Floats:
    """The transposed matrix, row after row."""
    return np.ascontiguousarray(matrix.T)
