"""One round on the workers: the shares of a chunk, asked by tasks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from functools import reduce
from operator import add
from typing import Any

from distributed import Future

from viewpass.core.state.statistics import Statistics
from viewpass.engine.dask import tasks
from viewpass.engine.dask.rows import Rows
from viewpass.engine.dask.shards import Stage, Tally
from viewpass.engine.dask.worker_pool import WorkerPool
from viewpass.kernels.grid import Integers
from viewpass.views.chunk import Schema

Watch = Callable[[Sequence[tasks.Worked]], None]

FEW = 8  # blocks of a round that are told the centres one by one
MOST_TOLD = 2**23  # bytes of centres that are told so: to pass on more takes longer than to wait
MOST_KEPT = 2**26  # bytes of answers that workers keep until the round is over


class Round:
    """Blocks of consecutive rows, one a worker; they stay where they are until the round is over."""

    def __init__(
        self,
        pool: WorkerPool,
        rows: Rows,
        start: int,
        size: int,
        width: int,
        *,
        workers: Sequence[str] = (),  # those that are to read it, by default all
        together: int = 0,  # the first of them reads all of it, with so many threads
    ) -> None:
        self.start = start
        self.stop = min(start + size * width, rows.n_rows)
        self.edges = [(first, min(first + size, self.stop)) for first in range(start, self.stop, size)]
        self.schema: Schema | None = None
        self.watch: Watch = lambda worked: None
        self.labels: Sequence[Any] = ()  # of the last pass, by block: arrays, or what gives them
        self._crew, self._rows, self._size = pool, rows, size
        there: list[str | None] = [*(workers or pool.workers())] or [None]
        if together:
            there = there[:1]
            self.whole = rows.block(pool, start, size * width, there[0], together)
        self._homes = [there[number % len(there)] for number in range(len(self.edges))]
        self._opened: dict[int, Future[Any]] = {}
        self.blocks: list[Future[Any]] = []
        self._stages: dict[str, Future[Any]] = {}
        self._ahead: tuple[str, list[Future[Any]]] | None = None
        self._answered: list[Future[Any]] = []

    def open(self, workers: Collection[str] | None = None) -> Round:
        """Have the rows read that are these workers' to read, by default all that are not read yet."""
        for number, ((first, _), home) in enumerate(zip(self.edges, self._homes, strict=True)):
            if number not in self._opened and (workers is None or home in workers):
                self._opened[number] = self._rows.block(self._crew, first, self._size, home)
        if len(self._opened) == len(self.edges):
            self.blocks = [self._opened[number] for number in range(len(self.edges))]
        return self

    @property
    def opened(self) -> list[Future[Any]]:
        """The blocks that are being read, or have been."""
        return list(self._opened.values())

    def cut(self) -> None:
        """Blocks of rows that were read together; they stay where they are."""
        for edge, home in zip(self.edges, self._homes, strict=True):
            given = (tasks.cut_block, self.whole, edge[0], edge[1] - edge[0])
            self.blocks.append(self._crew.submit(*given, worker=home, rows=edge))

    def ask(self, function: Callable[..., Any], *given: Any, each: Sequence[Any] = ()) -> list[Future[Any]]:
        """A task for every block, where it is; `each` has an argument of its own for each."""
        asked = [
            (block, *([each[number]] if each else []), *given) for number, block in enumerate(self.blocks)
        ]
        return self._crew.ask(function, asked, self._homes, self.edges)

    def stage(self, stage: Stage) -> Any:
        """Centres for a task: themselves where few are asked, who then need not wait for one another.

        Otherwise they are held in the cluster: broadcast once, and kept while the next ones need them.
        """
        if len(self.blocks) <= FEW and len(self.blocks) * sys.getsizeof(stage) <= MOST_TOLD:
            return stage
        if stage.name not in self._stages:
            kept = list(self._stages.items())[-1:]
            self._stages = {**dict(kept), stage.name: self._crew.hold(stage)}
        return self._stages[stage.name]

    def _tally(self, reports: Sequence[Future[Any]]) -> Tally:
        report = self._crew.total(reports)
        self.watch(report.worked)
        # Letting go of answers is a message too, which the next question would have to wait for.
        self._answered += reports
        if len(self._answered) * sum(steps.nbytes for steps in report.tally.change.steps) > MOST_KEPT:
            self._answered = []
        return report.tally

    def look_ahead(self, stage: Stage, schema: Schema) -> None:
        """Have the rows looked at before anybody waits for it."""
        self.schema = schema
        self._ahead = stage.name, self.ask(tasks.look, self.stage(stage), schema)

    def look(self, stage: Stage) -> Tally:
        """New rows under the centres so far."""
        if self._ahead is not None and self._ahead[0] == stage.name:
            return self._tally(self._ahead[1])
        return self._tally(self.ask(tasks.look, self.stage(stage), self.schema))

    def measured(self, n_clusters: int) -> Tally:
        """What the rows are."""
        return self._tally(self.ask(tasks.measured, n_clusters, self.schema))

    def follow(self, before: Stage | None, after: Stage) -> Tally:
        """How rows move."""
        if before is None:
            return self._tally(self.ask(tasks.follow, self.stage(after), each=self.labels))
        return self._tally(self.ask(tasks.follow, self.stage(before), self.stage(after)))

    def links(self, stage: Stage) -> Integers:
        """What anchors have in common by the rows."""
        found: list[Integers] = self._crew.gather(self.ask(tasks.links, self.stage(stage)))
        return reduce(add, found)

    def scale(self, scaling: Future[Any]) -> None:
        """From here on the rows in the scale that was learnt."""
        self.blocks = self.ask(tasks.scaled, scaling)

    def row_sums(self) -> Sequence[Statistics]:
        """The sum of the rows of each block."""
        return self._crew.gather(self.ask(tasks.row_sums))
