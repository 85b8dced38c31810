"""The engine over a Dask cluster: every stage of a fit is one graph, a task per partition and their sum.

Tasks are pure functions of their rows and the model, and sums are whole numbers. If a worker is lost, the
scheduler runs its tasks again elsewhere, and the bits are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dask
import numpy as np

from viewpass.engines import partitions
from viewpass.engines.dask.parts import as_value, parts_of
from viewpass.engines.dask.workers import Workers
from viewpass.engines.interface import Drawn
from viewpass.engines.partitions import Candidates, Labelled
from viewpass.engines.progress import Callback, Progress
from viewpass.errors import DataError, ViewpassError
from viewpass.kernels.grid import Array, Labels
from viewpass.model.model import Model, label
from viewpass.sample.sample import Size
from viewpass.sources.source import Source
from viewpass.sums.workspace import Workspace
from viewpass.tally.tally import Tally

if TYPE_CHECKING:  # they need PyArrow
    from viewpass.engines.dask.label_parts import PartOrder, Written
    from viewpass.labels.files.parts import Part as FilePart
    from viewpass.labels.files.parts import PartLabels

FAN_IN = 8  # partitions that are added up at a time
MORE = 8  # times as many rows are asked for if a sample is not full


class DaskEngine:
    """Rows that the workers of a cluster read, partition by partition (engines/interface.py)."""

    def __init__(self, workers: Workers, source: Source, callback: Callback | None = None) -> None:
        self._workers, self._source, self._callback = workers, source, callback
        workers.place = source.place
        self.parts = parts_of(source, workers.client, workers.number())
        self.n_rows = self.parts[-1].stop if self.parts else 0
        self.row_ids: Array | None = source.row_ids
        self.n_barriers = 0

    def sample(self, size: Size) -> Drawn:
        """The rows with the lowest keys, in one reading unless many rows share their ids."""
        factor, found = 1, None
        while found is None or not found.complete:
            made = self._each(partitions.candidates, size, self.n_rows, factor)
            (found,) = self._run([_total(partitions.union, made)], [_count(each) for each in made])
            assert isinstance(found, Candidates)
            factor *= MORE
        return Drawn(found.sample, found.schema, found.n_rows)

    def tally(self, model: Model) -> Tally:
        """The sum of the partitions' tallies."""
        made = self._each(partitions.tally, as_value(_light(model)))
        (found,) = self._run([_total(_added, made)], [_count(each) for each in made])
        assert isinstance(found, Tally)
        return found

    def label(self, model: Model) -> tuple[Tally, Labels]:
        """The tally by label, and the labels; keeps the ids of rows."""
        made = self._each(partitions.label, as_value(_light(model)))
        total = _total(_added, [_get(each, "tally") for each in made])
        labels, ids = ([_get(each, name) for each in made] for name in ("labels", "ids"))
        wanted = labels if self.row_ids is not None else [*labels, *ids]
        tally, *found = self._run([total, *wanted], [_count(each) for each in made])
        parts, known = found[: len(made)], found[len(made) :]
        if known and known[0] is not None:
            self.row_ids = np.concatenate(known)
        return tally, np.concatenate(parts)

    def predict(self, model: Model) -> Labels:
        """The labels alone."""
        made = self._each(_labels, as_value(_light(model)))
        return np.concatenate([np.empty(0, dtype=np.int32), *self._run(made, [])])

    def write(self, model: Model, order: PartOrder) -> tuple[Tally, list[FilePart]]:
        """Let the workers write the labels as files; gives their tally, and a record of each file."""
        from viewpass.engines.dask.label_parts import write_rows

        made = self._each(write_rows, as_value(_light(model, reasons=True)), order)
        total = _total(_added, [_get(each, "tally") for each in made])
        tally, *parts = self._run([total, *(_get(each, "part") for each in made)], [_count(e) for e in made])
        return tally, parts

    def rewrite(
        self, parts: Sequence[PartLabels], folder: str, change: Callable[[Any], Any]
    ) -> list[FilePart]:
        """Let the workers write such files into another folder, with other columns."""
        from viewpass.engines.dask.label_parts import change_part

        task = dask.delayed(change_part, pure=False)
        return self._run([task(part, folder, change) for part in parts], [])

    def _each(self, task: Callable[..., Any], *given: Any) -> list[Any]:
        """The task on each partition, delayed."""
        return [
            dask.delayed(on_part, pure=False)(
                *(self._source.place(part.start, part.stop), task, part.read, part.given, *given),
                dask_key_name=self._workers.key(task.__name__, (part.start, part.stop)),
            )
            for part in self.parts
        ]

    def _run(self, wanted: Sequence[Any], counts: Sequence[Any]) -> list[Any]:
        """Compute values; `counts` are the rows of each partition, for those who watch."""
        number, self.n_barriers = self.n_barriers, self.n_barriers + 1

        def watch(done: Sequence[int]) -> None:
            if self._callback is not None:
                self._callback(Progress(number, number + 1, sum(done), self.n_rows, None))

        return self._workers.compute(wanted, counts if self._callback is not None else [], watch)


def on_part(
    place: str, task: Callable[..., Any], read: Callable[..., Any], rows: list[Any], *given: Any
) -> Any:
    """Run a task on the rows of a partition; an error says which they are."""
    try:
        return task(read(*rows), *given)
    except (ViewpassError, MemoryError):
        raise
    except Exception as problem:
        reason = " ".join(str(problem).split())
        raise DataError(f"{place}: {type(problem).__name__}: {reason}") from problem


def _light(model: Model, *, reasons: bool = False) -> Model:
    """The model without what workers do not need; clusters of anchors are found once, here."""
    found = replace(model, rows=None, labelled=None, calibration=model.calibration if reasons else None)
    if model.consensus != "plain":
        found.__dict__["cut"] = model.cut
    return found


def _labels(chunks: Any, model: Model) -> Labels:
    workspace = Workspace(1)
    return np.concatenate([label(chunk, model, workspace) for chunk in chunks])


def _added(tallies: Sequence[Tally]) -> Tally:
    return partitions.added(tallies)


def _total(combine: Callable[[Sequence[Any]], Any], level: Sequence[Any]) -> Any:
    """All of these put together, a few at a time and in order."""
    while len(level) > 1:
        groups = [list(level[first : first + FAN_IN]) for first in range(0, len(level), FAN_IN)]
        level = [dask.delayed(combine, pure=False)(group) for group in groups]
    return level[0]


def _get(each: Any, name: str) -> Any:
    return dask.delayed(getattr, pure=False)(each, name)


def _count(each: Any) -> Any:
    """The rows of a partition, once it is done."""
    return dask.delayed(n_rows_of, pure=False)(each)


def n_rows_of(found: Candidates | Tally | Labelled | Written) -> int:
    """How many rows a result is about."""
    if isinstance(found, Candidates):
        return found.n_rows
    return (found if isinstance(found, Tally) else found.tally).read.n_rows
