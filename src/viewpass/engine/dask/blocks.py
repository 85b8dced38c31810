"""Blocks of rows on a worker. What is sent is where to find them; they are read where they are needed."""

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
    """Consecutive rows of the data: one shard of a round.

    When it is sent to another worker, or spilled to disk, its rows (if there is a source to read them
    from again) and their last assignment are left behind, and made again.
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
        other._read_before, other._known = self.chunk(), self._known
        return other

    def cut(self, start: int, size: int) -> Block:
        """Some of the rows as a block of their own, without copying."""
        first = start - self.start
        part = self.chunk().cut(first, min(first + size, self.chunk().n_rows))
        given = None if self._chunk is None else part
        other = Block(start, size, self._source, given, self._scaling)
        other._read_before = part
        if self._known is not None:
            name, labels = self._known
            other._known = name, labels[first : first + part.n_rows]
        return other

    def know(self, stage: str, start: int, labels: Labels) -> None:
        """Remember the labels under some centres, given those of the rows from `start` on."""
        first, n_rows = self.start - start, self.chunk().n_rows
        if first >= 0 and first + n_rows <= len(labels):
            self._known = stage, labels[first : first + n_rows]

    def known(self, stage: str) -> Labels | None:
        """The labels under these centres, if they are remembered."""
        return self._known[1] if self._known is not None and self._known[0] == stage else None

    def _forget(self) -> None:
        self.lock = threading.RLock()
        self._known = None
        self._shard: Shard | None = None
        self._read_before: Chunk | None = None  # rows read by another block, until they are scaled

    def shard(self, n_threads: int) -> Shard:
        """The rows, read if need be; `lock` must be held while they are used."""
        with self.lock:
            if self._shard is None:
                chunk = self.chunk()
                self._read_before = None
                if self._scaling is not None:
                    chunk = self._scaling.apply(chunk, n_threads=n_threads)
                self._shard = Shard(MeasuredRows(chunk), n_threads)
            return self._shard

    def chunk(self) -> Chunk:
        """The rows as they were given."""
        if self._shard is not None and self._scaling is None:
            return self._shard.rows.chunk
        if self._read_before is not None:
            return self._read_before
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
        """Bytes in memory: Dask decides by them where to run tasks and when to spill."""
        held = self._chunk
        if self._shard is not None:
            held = self._shard.rows.chunk
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
