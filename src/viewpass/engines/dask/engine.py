"""The engine over a Dask cluster: every reading of the rows is one graph, a task per partition and their sum.

If a worker is lost, the scheduler runs its tasks again elsewhere, and the bits are the same.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import dask

from viewpass.engines.dask.collections import CollectionSource, made_rows
from viewpass.engines.dask.workers import Workers
from viewpass.engines.interface import FAN_IN, Engine, Task
from viewpass.engines.partitions import n_rows_of
from viewpass.engines.parts import Part, on_rows, parts_of
from viewpass.engines.progress import Callback
from viewpass.sources.source import Source

T = TypeVar("T")


class DaskEngine(Engine):
    """Rows that the workers of a cluster read, partition by partition."""

    def __init__(self, workers: Workers, source: Source, callback: Callback | None = None) -> None:
        self._workers, self.callback = workers, callback
        workers.place = source.place
        self.parts = _delayed_parts(source, workers)
        self.n_rows = self.parts[-1].stop if self.parts else 0

    def each(self, task: Task[T]) -> Iterable[T]:
        """`task(chunks)` for each partition, in the order of the rows."""
        made = self._made(task)
        return self._run(made, made)

    def total(self, task: Task[T], combine: Callable[[Sequence[T]], T]) -> T:
        """The results put together by the workers, a few at a time."""
        made = level = self._made(task)
        while len(level) > 1:
            groups = [list(level[first : first + FAN_IN]) for first in range(0, len(level), FAN_IN)]
            level = [dask.delayed(combine, pure=False)(group) for group in groups]
        (found,) = self._run(level, made)
        return found  # type: ignore[no-any-return]

    def _made(self, task: Task[Any]) -> list[Any]:
        """The task on each partition, delayed."""
        shared, name = as_value(task), _name(task)
        return [
            dask.delayed(on_rows, pure=False)(
                *(part.place, shared, part.read, list(part.given)),
                dask_key_name=self._workers.key(name, (part.start, part.stop)),
            )
            for part in self.parts
        ]

    def _run(self, wanted: Sequence[Any], made: Sequence[Any]) -> list[Any]:
        """Compute values; report the rows of the partitions that are `made`."""
        counts = [] if self.callback is None else [dask.delayed(n_rows_of, pure=False)(one) for one in made]
        return self._workers.compute(wanted, counts, lambda done: self.report(sum(done)))


def _delayed_parts(source: Source, workers: Workers) -> list[Part]:
    """The partitions of a source: those of a Dask collection, or rows that workers read from files.

    Rows in this process's memory are sent to the cluster once, and stay there as long as the parts do.
    """
    n_workers, gaps = workers.number(), source.marks_gaps
    if isinstance(source, CollectionSource):
        return [
            Part(start, stop, source.place(start, stop), made_rows, (gaps, *source.recipe(start, stop)))
            for start, stop in source.edges()
        ]
    parts = parts_of(source, n_workers)
    if source.portable:
        held = as_value(source)
        return [replace(part, given=(held, *part.given[1:])) for part in parts]
    found = []
    for part in parts:
        sent = workers.client.persist([as_value(*part.given)], optimize_graph=False)
        found.append(replace(part, given=tuple(sent)))
    return found


def as_value(value: Any) -> Any:
    """Something as it is, as part of a graph."""
    return dask.delayed(value, name=f"viewpass-value-{uuid.uuid4().hex}", traverse=False)


def _name(task: Any) -> str:
    return str(getattr(getattr(task, "func", task), "__name__", "task"))
