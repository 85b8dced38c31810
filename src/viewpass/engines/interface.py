"""What an engine is: it runs a task on the rows of each partition. A fit is a few such runs.

    sample   the union of the partitions' samples; it is solved here
    tally    the sum of the partitions' tallies: whole numbers, in any order
    label    the same by label, and the labels in the order of the rows

Tasks are pure functions of a partition's rows (engines/partitions.py). A task that is run again, because a
worker was lost, gives the same bits. What is solved when, and when it is enough: `tally/fitting.py`.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from viewpass.engines import partitions
from viewpass.engines.local import RowReader
from viewpass.engines.partitions import Labelled
from viewpass.engines.progress import Callback, Progress
from viewpass.kernels.grid import Labels
from viewpass.model.model import Model
from viewpass.sample.sample import Sample, Size
from viewpass.sums.rules import Workspace
from viewpass.tally.fitting import Fitting
from viewpass.tally.learning import Learning
from viewpass.tally.tally import Tally
from viewpass.views.chunk import Chunk, Schema

T = TypeVar("T")
Task = Callable[[Iterable[Chunk]], T]

FAN_IN = 8  # results that are put together at a time
MORE = 8  # times as many rows are asked for if a sample is not full


class Engine(metaclass=ABCMeta):
    """Runs tasks on the rows of some data, which is divided into partitions. `each` is all that it needs."""

    n_rows: int
    """Rows of the data."""
    ordered: bool = True
    """Whether rows have numbers. Rows of a table without an order are known by their ids alone."""
    callback: Callback | None = None
    """Called with the progress, as results are `reported`."""
    n_readings: int = 0
    """How often all rows were read."""

    @abstractmethod
    def each(self, task: Task[T]) -> Iterable[T]:
        """`task(chunks)` for each partition, in the order of the rows."""

    def total(self, task: Task[T], combine: Callable[[Sequence[T]], T]) -> T:
        """The results of all partitions put together; `combine` takes them in any order and grouping."""
        waiting = list[T]()
        for found in self.each(task):
            waiting.append(found)
            if len(waiting) == FAN_IN:
                waiting = [combine(waiting)]
        return combine(waiting)

    def reported(self, results: Iterable[T]) -> Iterator[T]:
        """The same results; their rows are reported to the callback."""
        n_done = 0
        for found in results:
            n_done += partitions.n_rows_of(found)
            self.report(n_done)
            yield found

    def report(self, n_done: int) -> None:
        """Report to the callback how many rows of this reading are done."""
        if self.callback is not None:
            self.callback(Progress(self.n_readings - 1, self.n_readings, n_done, self.n_rows, None))


class Drawn(NamedTuple):
    """The first reading of the data: its sample, its views and its number of rows."""

    sample: Sample
    schema: Schema
    n_rows: int


def fit(engine: Engine, fitting: Fitting, workspace: Workspace) -> Labelled | None:
    """Take a fit from its beginning to its end.

    Gives the labels of all rows; None if rows have no order, so that labels stay where the rows are.
    `workspace` is that of this process, which solves the sample.
    """
    while not fitting.labelling:
        read_stage(engine, fitting)
        fitting.end_stage(workspace)
    assert fitting.model is not None
    found = None
    if engine.ordered:
        found = label(engine, fitting.model)
        fitting.add(found.tally)
    else:
        fitting.add(_total(engine, partial(partitions.tally_labels, model=partitions.light(fitting.model))))
    fitting.end_stage(workspace)
    workspace.release()
    return found


def follow(engine: Engine, learning: Learning, reader: RowReader, workspace: Workspace) -> Labels:
    """Learn from a stream that changes, and give the labels that rows get as they are read.

    Samples are drawn here, in the order of the rows. Then the workers label rows by the models of their time.
    """
    models = list[tuple[int, Model]]()
    for chunk in reader.chunks():
        for found in learning.learn(chunk, workspace, labelling=False):
            _remember(models, found.start, learning)
    if not learning.up_to_date:
        for found in learning.solve(workspace):
            _remember(models, found.start, learning)
    workspace.release()
    engine.n_readings += 1
    starts = [start for start, _ in models]
    task = partial(partitions.stream_labels, starts=starts, models=[model for _, model in models])
    return _joined([np.empty(0, dtype=np.int32), *engine.each(task)])


def _remember(models: list[tuple[int, Model]], start: int, learning: Learning) -> None:
    assert learning.solved is not None
    light = partitions.light(learning.solved)
    if not models or models[-1][1].centres is not light.centres:
        models.append((start, light))


def read_stage(engine: Engine, fitting: Fitting) -> None:
    """Read all rows once, for the sample or for a tally."""
    if fitting.model is None:
        fitting.start(*sample(engine, fitting.sample.size))
    else:
        task = partial(partitions.tally, model=partitions.light(fitting.model), limit=fitting.limit)
        fitting.add(_total(engine, task))


def sample(engine: Engine, size: Size) -> Drawn:
    """The rows with the lowest keys (sample/keys.py): one reading, unless many rows share their ids."""
    factor, found = 1, None
    while found is None or not found.complete:
        engine.n_readings += 1
        task = partial(partitions.candidates, size=size, n_rows=engine.n_rows, factor=factor)
        found = engine.total(task, partitions.union)
        factor *= MORE
    drawn = found.sample
    if not engine.ordered:
        drawn = replace(drawn, numbers=np.arange(drawn.n_rows, dtype=np.int64))
    return Drawn(drawn, found.schema, found.n_rows)


def _total(engine: Engine, task: Task[Tally]) -> Tally:
    engine.n_readings += 1
    found = engine.total(task, partitions.added)
    if not engine.ordered:
        found = replace(found, census=found.census.together(engine.n_rows))
    return found


def label(engine: Engine, model: Model) -> Labelled:
    """What all rows add up to by their labels, the labels, and their ids."""
    engine.n_readings += 1
    tallies, labels, ids = list[Tally](), [np.empty(0, dtype=np.int32)], list[Any]()
    for found in engine.each(partial(partitions.label, model=partitions.light(model))):
        tallies = [partitions.added([*tallies, found.tally])]
        labels.append(found.labels)
        ids += [] if found.ids is None else [found.ids]
    return Labelled(tallies[0], _joined(labels), np.concatenate(ids) if ids else None)


def predict(engine: Engine, model: Model) -> Labels:
    """The labels of all rows."""
    engine.n_readings += 1
    task = partial(partitions.labels, model=partitions.light(model))
    return _joined([np.empty(0, dtype=np.int32), *engine.each(task)])


def _joined(parts: Sequence[Any]) -> Labels:
    found: Labels = np.concatenate(parts, dtype=np.int32)
    return found
