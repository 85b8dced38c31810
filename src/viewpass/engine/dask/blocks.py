"""Rows on a worker. What travels is where they are found; they are read where they are needed."""

from __future__ import annotations

import threading
from typing import Any

import scipy.sparse

from viewpass.engine.dask.shards import Shard
from viewpass.kernels.grid import Labels
from viewpass.sources.source import Source
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows
from viewpass.views.scaling import Scaling


class Block:
    """Consecutive rows of the data, as a share of a round.

    Sent to another worker, or put on disk by Dask for want of memory, it leaves its rows behind (if
    there is a source to read them from again) and what it has decided of them: both are made anew.
    """

    _known: tuple[str, Labels] | None  # the name of centres, and the labels by them

    def __init__(
        self,
        start: int,
        size: int,
        source: Source | None,
        chunk: Chunk | None = None,
        scaling: Scaling | None = None,
    ) -> None:
        self.start, self.size = start, size
        self._source, self._chunk, self._scaling = source, chunk, scaling
        self._forget()

    def in_scale(self, scaling: Scaling) -> Block:
        """The same rows in a scale; this block stays as it is."""
        other = Block(self.start, self.size, self._source, self._chunk, scaling)
        other._at_hand, other._known = self.chunk(), self._known
        return other

    def cut(self, start: int, size: int) -> Block:
        """Some of the rows as a block of their own, without copying."""
        first = start - self.start
        part = self.chunk().cut(first, min(first + size, self.chunk().n_rows))
        given = None if self._chunk is None else part
        other = Block(start, size, self._source, given, self._scaling)
        other._at_hand = part
        if self._known is not None:
            name, labels = self._known
            other._known = name, labels[first : first + part.n_rows]
        return other

    def know(self, stage: str, start: int, labels: Labels) -> None:
        """Remember where these rows belong under some centres, from labels of the rows from `start` on."""
        first, n_rows = self.start - start, self.chunk().n_rows
        if first >= 0 and first + n_rows <= len(labels):
            self._known = stage, labels[first : first + n_rows]

    def known(self, stage: str) -> Labels | None:
        """Where the rows belong under these centres, if that was found here."""
        return self._known[1] if self._known is not None and self._known[0] == stage else None

    def _forget(self) -> None:
        self.lock = threading.RLock()
        self._known = None
        self._share: Shard | None = None
        self._at_hand: Chunk | None = None  # rows that were read for another, until they are scaled

    def share(self, n_threads: int) -> Shard:
        """The rows, read if they are not here; `lock` must be held while they are worked on."""
        with self.lock:
            if self._share is None:
                chunk = self.chunk()
                self._at_hand = None
                if self._scaling is not None:
                    chunk = self._scaling.apply(chunk, n_threads=n_threads)
                self._share = Shard(MeasuredRows(chunk), n_threads)
            return self._share

    def chunk(self) -> Chunk:
        """The rows as they were given."""
        if self._share is not None and self._scaling is None:
            return self._share.rows.chunk
        if self._at_hand is not None:
            return self._at_hand
        if self._chunk is not None:
            return self._chunk
        assert self._source is not None
        return self._source.span(self.start, self.size)

    def place(self) -> str:
        """Name the rows for an error message."""
        stop = self.start + (self.size if self._chunk is None else self._chunk.n_rows)
        if self._source is None:
            return f"rows {self.start} to {stop - 1}"
        return self._source.place(self.start, stop)

    def __sizeof__(self) -> int:
        """Bytes in memory, by which Dask judges where to work and when memory is short."""
        held = self._chunk
        if self._share is not None:
            held = self._share.rows.chunk
        return 1000 if held is None else 1000 + sum(map(_n_bytes, held.views))

    def __getstate__(self) -> dict[str, Any]:
        kept = ("start", "size", "_source", "_chunk", "_scaling")
        return {name: self.__dict__[name] for name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()


def _n_bytes(view: Any) -> int:
    if view is None:
        return 0
    if scipy.sparse.issparse(view):
        return int(view.data.nbytes + view.indices.nbytes + view.indptr.nbytes)
    return int(view.nbytes)
