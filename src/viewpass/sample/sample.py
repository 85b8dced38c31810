"""A bounded sample of all rows: those with the lowest keys (keys.py), as they came.

The sample of a union is the lowest part of the union of the samples. So it does not matter in which order,
chunks or partitions rows come, nor which machine reads them; models fitted apart are merged the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse

from viewpass.kernels.grid import Array, Integers, Mask
from viewpass.sample.keys import HIGHEST, aged, presence_hashes, row_keys, value_hashes
from viewpass.views.chunk import Chunk, Oddities, Origin, join

ROWS = 16_384  # unless clusters are many
ROWS_PER_CLUSTER = 50
FEW_CLUSTERS, ROWS_PER_FEW = 300, 100  # up to so many clusters there are more rows for each
BYTES = 2**28  # of the rows, unless that leaves too few per cluster
LEAST_PER_CLUSTER = 20
NUMBER_BYTES = 4  # by rule, however the numbers are stored
MOST_ENTRIES = 256  # of a row in a sparse view, by rule: a number and a column each
HELD_BACK = 4  # chunks join the sample when they are this part of it, which saves copies


@dataclass(frozen=True)
class Size:
    """How many rows a sample holds, by the clusters asked for and the width of the rows."""

    rows: int | None = None  # as asked for; None: by the rule
    n_clusters: int | None = None
    left_out: tuple[bool, ...] = ()  # views of weight 0, of which the sample holds nothing; (): none
    half_life: int | None = None  # rows after which a row counts half

    def of(self, row_bytes: int) -> int:
        """Rows of so many bytes that the sample holds."""
        if self.rows is not None:
            return self.rows
        n_clusters = self.n_clusters or 1
        each = ROWS_PER_FEW if n_clusters <= FEW_CLUSTERS else ROWS_PER_CLUSTER
        fitting = max(BYTES // max(row_bytes, 1), LEAST_PER_CLUSTER * n_clusters)
        return min(max(ROWS, each * n_clusters), fitting)


@dataclass(frozen=True)
class Sample:
    """Rows by ascending key, as they came: values, which views they have, weights."""

    size: Size
    chunk: Chunk | None = None
    keys: Array = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    numbers: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # of the rows in the data
    widths: tuple[int, ...] = ()  # bytes of a row in each view, by rule; 0 until a row shows the view

    @property
    def n_rows(self) -> int:
        """Rows in the sample."""
        return len(self.keys)

    @property
    def most(self) -> int:
        """Rows that it may hold."""
        return self.size.of(sum(self.widths))

    @property
    def limit(self) -> int:
        """The highest key that a row may have to be taken."""
        return HIGHEST if self.n_rows < self.most else int(self.keys[-1])

    def lowest(self, n_rows: int) -> Sample:
        """The sample of so many rows, if there are as many: those with the lowest keys."""
        if n_rows >= self.n_rows or self.chunk is None:
            return self
        return replace(chosen(self, np.arange(n_rows)), size=Size(n_rows))


class Sampler:
    """Collects a sample from chunks: candidates are joined to it many at a time."""

    def __init__(self, sample: Sample) -> None:
        self._sample, self._held = sample, list[Sample]()

    def add(self, chunk: Chunk, limit: int = HIGHEST) -> None:
        """Take the rows of a chunk that may belong to the sample, of those with keys up to `limit`."""
        sample, keys = self._sample, row_keys(chunk)
        if sample.size.half_life is not None:
            keys = aged(keys, chunk.start + np.arange(chunk.n_rows), sample.size.half_life)
        chunk = _without(chunk, sample.size.left_out) if sample.size.left_out else chunk
        which = np.flatnonzero(keys <= np.uint64(min(sample.limit, limit)))
        widths = _widest([sample.widths, view_bytes(chunk)])
        some = taken(chunk, which) if len(which) else None
        self._held.append(Sample(sample.size, some, keys[which], which + chunk.start, widths))
        self._sample = replace(sample, widths=widths)
        if HELD_BACK * sum(part.n_rows for part in self._held) >= max(sample.n_rows, 1):
            self._sample = self.sample

    @property
    def most(self) -> int:
        """Rows that the sample may hold."""
        return self._sample.most

    @property
    def sample(self) -> Sample:
        """The sample of all rows so far."""
        if self._held:
            self._sample, self._held = united([self._sample, *self._held]), []
        return self._sample


def chosen(sample: Sample, which: Integers) -> Sample:
    """Some rows of a sample, ascending."""
    if sample.chunk is None or not len(which):
        return Sample(sample.size, widths=sample.widths)
    rows = taken(sample.chunk, which)
    return replace(sample, chunk=rows, keys=sample.keys[which], numbers=sample.numbers[which])


def united(samples: Sequence[Sample]) -> Sample:
    """The sample of the rows of all of these."""
    size, widths = samples[0].size, _widest([part.widths for part in samples])
    parts = [part for part in samples if part.chunk is not None]
    if not parts:
        return Sample(size, widths=widths)
    keys, numbers = (np.concatenate([getattr(part, name) for part in parts]) for name in ("keys", "numbers"))
    chunk = join([part.chunk for part in parts if part.chunk is not None])
    order = _ascending(keys, chunk, numbers)[: size.of(sum(widths))]
    return Sample(size, taken(chunk, order), keys[order], numbers[order], widths)


def _ascending(keys: Array, chunk: Chunk, numbers: Integers) -> Integers:
    """The order of rows by key; of rows that share a key, by what they hold, never by how they came."""
    order: Integers = np.argsort(keys, kind="stable")
    tied = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    if not len(tied):
        return order
    which = order[np.union1d(tied, tied + 1)]
    shared = chunk.take(which)
    values, presence = np.zeros((2, len(keys)), dtype=np.uint64)
    values[which], presence[which] = value_hashes(shared), presence_hashes(shared)
    copies = np.ones(len(keys), dtype=np.int64) if chunk.copies is None else chunk.copies
    return np.lexsort((numbers, copies, presence, values, keys))


def view_bytes(chunk: Chunk) -> tuple[int, ...]:
    """Bytes of a row in each view, by rule: the same however the chunk stores its numbers."""
    return tuple(0 if view is None else _row_bytes(view) for view in chunk.own_views)


def _row_bytes(view: Any) -> int:
    width = int(view.shape[1])
    return NUMBER_BYTES * (2 * min(width, MOST_ENTRIES) if scipy.sparse.issparse(view) else width)


def _widest(widths: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    known = [each for each in widths if each]
    return tuple(map(max, zip(*known, strict=True))) if known else ()


def _without(chunk: Chunk, hidden: tuple[bool, ...]) -> Chunk:
    """The rows without all that is known of some views."""
    kept, observed, lacking = ~np.array(hidden), chunk.observed, chunk.odd.lacking
    return replace(
        chunk.without(hidden),
        observed=None if observed is None else observed & kept,
        odd=replace(chunk.odd, lacking=None if lacking is None else lacking * kept.astype(lacking.dtype)),
        gaps=tuple(None if hide else gaps for gaps, hide in zip(chunk.gaps, hidden, strict=True))
        if chunk.gaps
        else (),
    )


def taken(chunk: Chunk, which: Integers) -> Chunk:
    """Copies of some rows, with all that is known of them; views that a row lacks hold nothing."""
    ids, lacking, some = chunk.row_ids, chunk.odd.lacking, chunk.take(which)
    return replace(
        some,
        views=tuple(
            None if view is None else _blanked(view, some.wanted(v)) for v, view in enumerate(some.views)
        ),
        origin=Origin(ids=None if ids is None else np.asarray(ids)[which]),
        odd=Oddities(lacking=None if lacking is None else lacking[which]),
        columns=chunk.columns,
    )


def _blanked(view: Any, wanted: Mask) -> Any:
    """A view with zeros in other rows: what readers leave there depends on how rows were cut."""
    if wanted.all():
        return view
    if not scipy.sparse.issparse(view):
        view[~wanted] = 0
        return view
    lengths = np.diff(view.indptr)
    kept, ends = np.repeat(wanted, lengths), np.append(0, np.cumsum(lengths * wanted))
    given = view.data[kept], view.indices[kept], ends.astype(view.indptr.dtype)
    return scipy.sparse.csr_array(given, shape=view.shape)
