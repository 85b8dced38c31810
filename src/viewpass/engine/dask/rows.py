"""Blocks of rows for workers: cut at multiples of the chunk size from row 0, wherever files end."""

from __future__ import annotations

from typing import Any, Protocol

from distributed import Future

from viewpass.engine.dask import tasks
from viewpass.engine.dask.collections import CollectionSource
from viewpass.engine.dask.worker_pool import WorkerPool
from viewpass.errors import DataError
from viewpass.sources.source import Source

READ_PRIORITY = -10  # of reading ahead: tasks whose result is waited for come first


class WorkerRows(Protocol):
    """Rows that can be brought to workers, block by block."""

    n_rows: int

    def block(
        self, pool: WorkerPool, start: int, size: int, worker: str | None, n_threads: int = 1
    ) -> Future[Any]:
        """Bring the rows from `start` on to a worker, which may read with this many threads."""

    def place(self, start: int, stop: int) -> str:
        """Name rows for an error message."""


class FileRows:
    """Files that the workers read: no row passes through the driver."""

    def __init__(self, source: Source) -> None:
        if source.n_rows is None:
            raise DataError(
                "the number of rows of these files is not known before reading, but is needed to divide them "
                "among workers. Give Parquet or Arrow IPC files."
            )
        self.n_rows = source.n_rows
        self._source = source
        self._held: Future[Any] | None = None

    def block(
        self, pool: WorkerPool, start: int, size: int, worker: str | None, n_threads: int = 1
    ) -> Future[Any]:
        """Let a worker read the rows."""
        if self._held is None:
            self._held = pool.store(self._source)
        return pool.submit(
            *(tasks.open_block, self._held, start, size, n_threads),
            worker=worker,
            rows=(start, min(start + size, self.n_rows)),
            priority=READ_PRIORITY,
            retries=1,
        )

    def place(self, start: int, stop: int) -> str:
        """By file."""
        return self._source.place(start, stop)


class MemoryRows:
    """Rows in the driver's memory, sent to the workers."""

    def __init__(self, source: Source) -> None:
        if source.n_rows is None:
            raise DataError(
                "a stream cannot be divided among workers: its rows come once, in order. Give files, Dask "
                "arrays, or arrays."
            )
        self.n_rows = source.n_rows
        self._source = source

    def block(
        self, pool: WorkerPool, start: int, size: int, worker: str | None, n_threads: int = 1
    ) -> Future[Any]:
        """Send the rows."""
        chunk = self._source.span(start, size)
        return pool.submit(
            *(tasks.take_block, start, chunk),
            worker=worker,
            rows=(start, start + chunk.n_rows),
            priority=READ_PRIORITY,
        )

    def place(self, start: int, stop: int) -> str:
        """By number."""
        return self._source.place(start, stop)


def rows_of(source: Source) -> WorkerRows:
    """The rows of a source, as workers can read them."""
    if isinstance(source, CollectionSource):
        return source
    return FileRows(source) if source.portable else MemoryRows(source)
