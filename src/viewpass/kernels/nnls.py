"""Non-negative least squares of many rows that share one small Gram matrix."""

from __future__ import annotations

import numpy as np

from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Floats

RIDGE = 1e-13  # of the mean diagonal: a Gram matrix may be singular


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
    backend().nnls(gram, products, out, n_threads)
    return out
