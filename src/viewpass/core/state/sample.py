"""A sample of the rows read so far that does not depend on their order: those with the lowest hash.

The hash of a row is that of its values, so the same rows give the same sample however they are ordered, cut
into chunks or divided among machines: the sample of a union is the lowest part of the samples. Rows that are
equal have the same hash and are kept once, with their number (`copies`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
import scipy.sparse

from viewpass.kernels.grid import Array, Floats, Integers
from viewpass.views.chunk import Chunk, join
from viewpass.views.rows import MeasuredRows

FACTORS = 20_260_101  # what the factors of the columns are drawn from


@dataclass(frozen=True)
class Sample:
    """Rows by ascending hash, none twice; each as often as it was read."""

    most: int  # rows
    chunk: Chunk | None = None  # with copies
    inverse: Floats = field(default_factory=lambda: np.zeros((0, 0)))  # scales each row to its length
    hashes: Array = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))

    @property
    def n_rows(self) -> int:
        """Rows in the sample."""
        return 0 if self.chunk is None else self.chunk.n_rows

    @property
    def limit(self) -> int:
        """The highest hash that a row may have to be taken."""
        return 2**64 - 1 if self.n_rows < self.most else int(self.hashes[-1])

    def with_rows(self, rows: MeasuredRows) -> Sample:
        """With these measured rows."""
        return self.joined(lowest(rows, self.most, self.limit))

    def joined(self, other: Sample) -> Sample:
        """With the rows of another sample."""
        if other.chunk is None or self.chunk is None:
            return self if other.chunk is None else other
        chunk, inverse = join([self.chunk, other.chunk]), np.hstack([self.inverse, other.inverse])
        return _lowest(chunk, inverse, np.concatenate([self.hashes, other.hashes]), self.most)

    def measured(self, weights: tuple[float, ...] | None, *, reference: bool = False) -> MeasuredRows:
        """The rows as kernels read them."""
        assert self.chunk is not None
        return MeasuredRows.known(self.chunk, self.inverse, reference=reference, weights=weights)


def lowest(rows: MeasuredRows, most: int, limit: int = 2**64 - 1) -> Sample:
    """The sample of these measured rows alone, of hashes up to `limit`."""
    hashes = row_hashes(rows)
    which = np.flatnonzero(rows.counted & (hashes <= np.uint64(limit)))
    if not len(which):
        return Sample(most)
    hashes = hashes[which]
    if len(which) > most:  # not to copy rows in vain
        last = np.unique(hashes)[:most][-1]
        which, hashes = which[hashes <= last], hashes[hashes <= last]
    chunk, inverse = rows.take(which)
    return _lowest(chunk, inverse, hashes, most)


def _lowest(chunk: Chunk, inverse: Floats, hashes: Array, most: int) -> Sample:
    """Each row once, in the order of the hashes, as long as there is room."""
    found, firsts, places = np.unique(hashes, return_index=True, return_inverse=True)
    copies = np.zeros(len(found), dtype=np.int64)
    np.add.at(copies, places, 1 if chunk.copies is None else chunk.copies)
    kept = firsts[:most]
    taken = replace(chunk.take(kept), copies=copies[:most])
    return Sample(most, taken, np.ascontiguousarray(inverse[:, kept]), found[:most])


def row_hashes(rows: MeasuredRows) -> Array:
    """A hash of the values of each row in the views that it has."""
    found = np.zeros(rows.n_rows, dtype=np.uint64)
    for v in range(rows.n_views):
        matrix = rows.matrix(v)
        if matrix is None:
            continue
        factors = _factors(v, matrix.shape[1])
        if scipy.sparse.issparse(matrix):
            start, end = matrix.indptr[0], matrix.indptr[-1]
            terms = _bits(matrix.data[start:end]) * factors[matrix.indices[start:end]]
            running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms, dtype=np.uint64)])
            own = running[matrix.indptr[1:] - start] - running[matrix.indptr[:-1] - start]  # modulo 2^64
        else:
            own = (_bits(matrix) * factors).sum(axis=1, dtype=np.uint64)
        found += np.where(rows.present(v), mixed(own + np.uint64(v + 1)), np.uint64(0))
    return mixed(found)


def mixed(numbers: Array) -> Array:
    """splitmix64, modulo 2^64."""
    numbers = numbers * np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: Array = numbers ^ (numbers >> np.uint64(31))
    return found


def _bits(values: Array) -> Array:
    """The bits of numbers, those of zero being 0; of float32 as of the same numbers in float64."""
    bits = (np.ascontiguousarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    return bits ^ (bits >> np.uint64(32))


@lru_cache(maxsize=64)
def _factors(v: int, n_columns: int) -> Array:
    """An odd number for each column of a view."""
    columns: Integers = np.arange(n_columns)
    factors: Array = mixed(columns.astype(np.uint64) + np.uint64(FACTORS + (v << 32))) | np.uint64(1)
    return factors
