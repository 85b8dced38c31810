"""The two yardsticks: one distance pass (every row times the centres) and one read of all bytes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse

from benchmarks.data import buffers, observed

PIECE = 1 << 22  # bytes that a thread reads at a time


def without_nan(views: list[Any]) -> list[Any]:
    """Copies with absent rows as zeros, so that no product meets a NaN."""
    filled = []
    for view in views:
        if not scipy.sparse.issparse(view):
            view = view.copy()
            view[~observed(view)] = 0
        filled.append(view)
    return filled


def some_centres(views: list[Any], n_clusters: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((n_clusters, view.shape[1])).astype(view.dtype) for view in views]


class DistancePass:
    """Plain chunked matrix products of all rows, absent ones included, on the threads of BLAS.

    SciPy's sparse product has one thread only (and holds the interpreter's lock).
    """

    def __init__(self, views: list[Any], n_clusters: int, chunk_size: int, n_passes: int) -> None:
        self.views = without_nan(views)
        self.chunk_size, self.n_passes = chunk_size, n_passes
        # In the layout that is fastest for each product.
        self.factors = [
            np.ascontiguousarray(centres.T) if scipy.sparse.issparse(view) else centres.T
            for view, centres in zip(self.views, some_centres(views, n_clusters), strict=True)
        ]

    def __call__(self) -> None:
        n_rows = self.views[0].shape[0]
        for _ in range(self.n_passes):
            for start in range(0, n_rows, self.chunk_size):
                for view, factor in zip(self.views, self.factors, strict=True):
                    view[start : start + self.chunk_size] @ factor


class Read:
    """Adds up all bytes, eight at a time, on several threads."""

    def __init__(self, views: list[Any], n_passes: int, n_threads: int) -> None:
        self.n_passes, self.n_threads = n_passes, n_threads
        self.pieces = []
        for view in views:
            for buffer in buffers(view):
                flat = buffer.reshape(-1).view(np.uint8)
                words = flat[: flat.size // 8 * 8].view(np.int64)
                self.pieces += np.array_split(words, max(1, words.nbytes // PIECE))

    def __call__(self) -> None:
        with ThreadPoolExecutor(self.n_threads) as pool:
            for _ in range(self.n_passes):
                for _ in pool.map(np.add.reduce, self.pieces):
                    pass
