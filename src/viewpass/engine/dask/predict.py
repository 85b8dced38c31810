"""Labels under a model that does not change: every block by itself, whoever has time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from viewpass.core.model import Model
from viewpass.engine.dask.rows import Rows
from viewpass.engine.dask.workers import Crew

AHEAD = 2  # blocks asked of each worker at a time


def label_blocks(
    crew: Crew, rows: Rows, model: Model, size: int, task: Callable[..., Any], order: Any
) -> Iterator[tuple[int, Any]]:
    """Have `task` done for every block; gives its first row and what the task gave, in order."""
    held = crew.hold(model)
    waiting: list[tuple[int, Any]] = []
    for start in range(0, rows.n_rows, size):
        workers: list[str | None] = [*crew.workers()] or [None]
        worker = workers[start // size % len(workers)]
        block = rows.block(crew, start, size, worker)
        about = (start, min(start + size, rows.n_rows))
        waiting.append((start, crew.submit(task, block, order, held, worker=worker, rows=about)))
        if len(waiting) >= AHEAD * len(workers):
            yield _next(crew, waiting)
    while waiting:
        yield _next(crew, waiting)


def _next(crew: Crew, waiting: list[tuple[int, Any]]) -> tuple[int, Any]:
    start, future = waiting.pop(0)
    (found,) = crew.gather([future])
    return start, found
