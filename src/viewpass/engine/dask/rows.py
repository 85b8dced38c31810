"""Data cut into blocks of rows for workers: at multiples of the chunk size from row 0, wherever files end."""

from __future__ import annotations

from typing import Any, Protocol

from distributed import Future

from viewpass.engine.dask import tasks
from viewpass.engine.dask.collections import CollectionSource
from viewpass.engine.dask.worker_pool import WorkerPool
from viewpass.errors import DataError
from viewpass.sources.source import Source

READING = -10  # the priority of reading ahead: whoever waits for an answer comes first


class Rows(Protocol):
    """Rows that workers can be asked to have at hand."""

    n_rows: int

    def block(
        self, pool: WorkerPool, start: int, size: int, worker: str | None, n_threads: int = 1
    ) -> Future[Any]:
        """Have the rows from `start` on at a worker, which may use so many threads to read them."""

    def place(self, start: int, stop: int) -> str:
        """Name rows for an error message."""


class FileRows:
    """Files that every worker reads by itself: no row passes through the driver."""

    def __init__(self, source: Source) -> None:
        if source.n_rows is None:
            raise DataError(
                "the number of rows of these files shows only in reading, but workers must know it to share "
                "them. Give Parquet or Arrow IPC files."
            )
        self.n_rows = source.n_rows
        self._source = source
        self._held: Future[Any] | None = None

    def block(
        self, pool: WorkerPool, start: int, size: int, worker: str | None, n_threads: int = 1
    ) -> Future[Any]:
        """Have a worker read its rows."""
        if self._held is None:
            self._held = pool.store(self._source)
        return pool.submit(
            *(tasks.open_block, self._held, start, size, n_threads),
            worker=worker,
            rows=(start, min(start + size, self.n_rows)),
            priority=READING,
            retries=1,
        )

    def place(self, start: int, stop: int) -> str:
        """By file."""
        return self._source.place(start, stop)


class HereRows:
    """Rows in the driver's memory, which are sent to the workers."""

    def __init__(self, source: Source) -> None:
        if source.n_rows is None:
            raise DataError(
                "a stream cannot be shared among workers: its rows come once, in order. Give files, Dask "
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
            priority=READING,
        )

    def place(self, start: int, stop: int) -> str:
        """By number."""
        return self._source.place(start, stop)


def rows_of(source: Source) -> Rows:
    """How workers get at the rows of a source."""
    if isinstance(source, CollectionSource):
        return source
    return FileRows(source) if source.portable else HereRows(source)
