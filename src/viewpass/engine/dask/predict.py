"""Prediction on a cluster: every block by itself, on whichever worker is free."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from viewpass.core.model import Model
from viewpass.engine.dask.rows import WorkerRows
from viewpass.engine.dask.worker_pool import WorkerPool

BLOCKS_AHEAD = 2  # per worker


def label_blocks(
    pool: WorkerPool, rows: WorkerRows, model: Model, size: int, task: Callable[..., Any], order: Any
) -> Iterator[tuple[int, Any]]:
    """Run a task for every block; gives its first row and its result, in order."""
    held = pool.store(model)
    waiting: list[tuple[int, Any]] = []
    for start in range(0, rows.n_rows, size):
        workers: list[str | None] = [*pool.workers()] or [None]
        worker = workers[start // size % len(workers)]
        block = rows.block(pool, start, size, worker)
        about = (start, min(start + size, rows.n_rows))
        waiting.append((start, pool.submit(task, block, order, held, worker=worker, rows=about)))
        if len(waiting) >= BLOCKS_AHEAD * len(workers):
            yield _next(pool, waiting)
    while waiting:
        yield _next(pool, waiting)


def _next(pool: WorkerPool, waiting: list[tuple[int, Any]]) -> tuple[int, Any]:
    start, future = waiting.pop(0)
    (found,) = pool.gather([future])
    return start, found
