"""Labels of a Dask run in files that the workers write: none of them passes through the driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from viewpass.engine.dask import tasks
from viewpass.kernels.grid import Integers
from viewpass.store.labels.parts import PartSink
from viewpass.views.chunk import Chunk


class WorkerPartSink(PartSink):
    """The sink of a run in a folder that every worker can write to."""

    task: Callable[..., Any] = staticmethod(tasks.write_labels)

    def packed(self) -> dict[str, Any]:
        """What a checkpoint stores; ids are in the parts."""
        return {"labels": super().packed(), "ids": None}


class SamplingPartSink(WorkerPartSink):
    """The same, and some rows of the first pass come to the driver."""

    task = staticmethod(tasks.with_rows)
    numbers: Callable[[int, int], Integers]  # which ones, of a first row and a number of rows
    keep: Callable[[Integers, Chunk], None]

    def order(self, number: int, start: int) -> Any:
        """What a worker needs to write a part and to take rows."""
        chosen = self.numbers if number == 0 else _none
        return tasks.Job(tasks.write_labels, super().order(number, start), chosen)

    def put(self, start: int, found: Any) -> None:
        """Record a part that was written, and keep the rows."""
        part, rows = found
        if rows is not None:
            self.keep(*rows)
        super().put(start, part)


def _none(start: int, n_rows: int) -> tuple[()]:
    return ()
