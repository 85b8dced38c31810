"""Hashes of what rows hold, for rows that share a key: their order must not depend on who read them first."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from viewpass.kernels.grid import Array, Matrix
from viewpass.sample.keys import mixed
from viewpass.views.chunk import Chunk

GAP = np.uint64(1)  # in place of the bits of values that a row lacks


def value_hashes(chunk: Chunk) -> Array:
    """A hash of the values of each row; the same however the chunk stores its numbers.

    >>> import numpy as np
    >>> one, other = np.eye(3), np.eye(3, dtype=np.float32)
    >>> bool((value_hashes(Chunk.of([one])) == value_hashes(Chunk.of([other]))).all())
    True
    """
    found = np.zeros(chunk.n_rows, dtype=np.uint64)
    for v in range(len(chunk.views)):
        found += view_hashes(chunk, v)
    return mixed(found)


def view_hashes(chunk: Chunk, v: int) -> Array:
    """A hash of the values of each row in one view; 0 for rows that lack it."""
    view = chunk.views[v]
    if view is None:
        return np.zeros(chunk.n_rows, dtype=np.uint64)
    own = _sparse(view, v) if scipy.sparse.issparse(view) else _dense(view, v, chunk)
    return np.where(chunk.wanted(v), mixed(own), np.uint64(0))


def presence_hashes(chunk: Chunk) -> Array:
    """A hash of the views that the mask says each row has; for rows that are equal but for it."""
    found = np.zeros(chunk.n_rows, dtype=np.uint64)
    if chunk.stated:
        for v, number in enumerate(mixed(np.arange(1, len(chunk.names) + 1, dtype=np.uint64))):
            found += np.where(chunk.wanted(v), number, np.uint64(0))
    return found


def _dense(view: Matrix, v: int, chunk: Chunk) -> Array:
    bits = _bits(view)
    if chunk.gaps and chunk.gaps[v] is not None:
        bits[chunk.gaps[v]] = GAP
    own: Array = (bits * _factors(v, view.shape[1])).sum(axis=1, dtype=np.uint64)
    return np.where(np.isnan(view[:, 0]), GAP, own)


def _sparse(view: Matrix, v: int) -> Array:
    terms = _bits(view.data) * _factors(v, view.shape[1])[view.indices]
    running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms, dtype=np.uint64)])
    own: Array = running[view.indptr[1:]] - running[view.indptr[:-1]]  # modulo 2^64
    return own


def _bits(values: Array) -> Array:
    """The bits of numbers, those of zero being 0; of float32 as of the same numbers in float64."""
    bits = (np.ascontiguousarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    found: Array = bits ^ (bits >> np.uint64(32))
    return found


def _factors(v: int, n_columns: int) -> Array:
    """An odd number for each column of a view."""
    columns = np.arange(1, n_columns + 1, dtype=np.uint64) + np.uint64(v << 32)
    found: Array = mixed(columns) | np.uint64(1)
    return found
