"""A key for each row, from its identity: its id where the data has ids, its number otherwise.

The key is a hash, so the rows with the lowest keys are a uniform sample of the rows. It does not depend on
values: equal rows have keys of their own, and each counts as often as it appears.

Rows that share a key are told apart by hashes of what they hold: their order must not depend on who read
them first.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import scipy.sparse

from viewpass.kernels.grid import Array, Integers, Matrix
from viewpass.kernels.portable import log
from viewpass.views.chunk import Chunk

HIGHEST = 2**64 - 1  # of all keys


class IdKind(IntEnum):
    """Keeps ids of one kind apart from equal ones of another."""

    TEXT, TIME, REAL = (number << 56 for number in (1, 2, 3))


def row_keys(chunk: Chunk) -> Array:
    """The key of each row of a chunk.

    >>> import numpy as np
    >>> chunk = Chunk.of([np.eye(3)])
    >>> len(set(row_keys(chunk).tolist()))
    3
    """
    if chunk.row_ids is None:
        return number_keys(np.arange(chunk.start, chunk.start + chunk.n_rows))
    return id_keys(np.asarray(chunk.row_ids))


def key_below(share: float) -> int:
    """The key that about this share of all rows are below: keys are uniform.

    >>> key_below(1.5) == HIGHEST
    True
    """
    return HIGHEST if share >= 1 else int(2**64 * share)


def number_keys(numbers: Array) -> Array:
    """The keys of rows without ids, by their numbers."""
    return mixed(numbers.astype(np.uint64))


def id_keys(ids: Array) -> Array:
    """The keys of ids: of text by its characters, of numbers and times by their values."""
    if ids.dtype.kind in "iub":
        return mixed(ids.astype(np.int64).astype(np.uint64))
    if ids.dtype.kind in "Mm":
        unit = f"{ids.dtype.kind}8[ns]"
        return mixed(ids.astype(unit).view(np.int64).astype(np.uint64) ^ np.uint64(IdKind.TIME))
    if ids.dtype.kind == "f":
        return mixed((ids.astype(np.float64) + 0.0).view(np.uint64) ^ np.uint64(IdKind.REAL))
    texts = np.array([str(one) for one in ids.tolist()], dtype=np.str_) if ids.dtype.kind == "O" else ids
    return mixed(_text_hashes(texts.astype(np.str_)) ^ np.uint64(IdKind.TEXT))


def aged(keys: Array, numbers: Integers, half_life: int) -> Array:
    """Keys with which a row counts half as much for every `half_life` rows that came after it.

    The k rows with the lowest E / w are a sample by weights w, where E = -log(key / 2^64). Weights grow by
    2^(number / half_life), so that no key changes later. The logarithms are written as whole numbers that
    have their order.

    >>> import numpy as np
    >>> bool((aged(np.full(2, 2**63, dtype=np.uint64), np.array([0, 10]), 5)[0] > 2**62))
    True
    """
    uniform = (keys.astype(np.float64) + 1.0) * 2.0**-64
    exponent = np.maximum(-log(np.minimum(uniform, 1.0)), 2.0**-64)
    order = log(exponent) - numbers * (log(2.0) / half_life)
    bits = (order + 0.0).view(np.uint64)
    negative = bits >> np.uint64(63) == 1
    found: Array = np.where(negative, ~bits, bits | np.uint64(1 << 63))
    return found


def _text_hashes(texts: Array) -> Array:
    """A polynomial of the characters, modulo 2^64; the padding of shorter texts adds nothing."""
    width = texts.dtype.itemsize // 4
    if not width:
        return np.zeros(len(texts), dtype=np.uint64)
    characters = np.ascontiguousarray(texts).view(np.uint32).reshape(len(texts), width)
    found: Array = np.zeros(len(texts), dtype=np.uint64)
    for place in range(width):
        factor = mixed(np.array([place], dtype=np.uint64))[0] | np.uint64(1)
        found += mixed(characters[:, place].astype(np.uint64)) * factor
    return found


def mixed(numbers: Array) -> Array:
    """splitmix64, modulo 2^64; 0 stays 0."""
    numbers = numbers * np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: Array = numbers ^ (numbers >> np.uint64(31))
    return found


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
