"""One round on the workers: the shares of a chunk, asked by tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

from distributed import Future

from viewpass.core.shares import Stage, Tally
from viewpass.core.statistics import Statistics
from viewpass.engine.dask import tasks
from viewpass.engine.dask.crew import Crew
from viewpass.engine.dask.rows import Rows
from viewpass.kernels.grid import Integers
from viewpass.views.chunk import Schema

Watch = Callable[[Sequence[tasks.Worked]], None]


class Round:
    """Blocks of consecutive rows, one a worker; they stay where they are until the round is over."""

    def __init__(
        self,
        crew: Crew,
        rows: Rows,
        start: int,
        size: int,
        width: int,
        *,
        workers: Sequence[str] = (),  # those that are to read it, by default all
        together: bool = False,  # the first of them reads all of it
    ) -> None:
        self.start = start
        self.stop = min(start + size * width, rows.n_rows)
        self.edges = [(first, min(first + size, self.stop)) for first in range(start, self.stop, size)]
        self.schema: Schema | None = None
        self.watch: Watch = lambda worked: None
        self.labels: Sequence[Any] = ()  # of the last pass, by block: arrays, or what gives them
        self._crew = crew
        there: list[str | None] = [*(workers or crew.workers())] or [None]
        if together:
            there = there[:1]
            self.whole = rows.block(crew, start, size * width, there[0])
        self._homes = [there[number % len(there)] for number in range(len(self.edges))]
        self.blocks: list[Future[Any]] = []
        if not together:
            self.blocks = [
                rows.block(crew, first, size, home)
                for (first, _), home in zip(self.edges, self._homes, strict=True)
            ]
        self._stages: dict[str, Future[Any]] = {}

    def cut(self) -> None:
        """Blocks of rows that were read together; they stay where they are."""
        for edge, home in zip(self.edges, self._homes, strict=True):
            given = (tasks.cut_block, self.whole, edge[0], edge[1] - edge[0])
            self.blocks.append(self._crew.submit(*given, worker=home, rows=edge))

    def ask(self, function: Callable[..., Any], *given: Any, each: Sequence[Any] = ()) -> list[Future[Any]]:
        """A task for every block, where it is; `each` has an argument of its own for each."""
        asked = []
        for number, block in enumerate(self.blocks):
            own = [each[number]] if each else []
            task = (function, block, *own, *given)
            asked.append(self._crew.submit(*task, worker=self._homes[number], rows=self.edges[number]))
        return asked

    def stage(self, stage: Stage) -> Future[Any]:
        """Centres in the cluster: broadcast once, and kept while the next ones need them."""
        if stage.name not in self._stages:
            kept = list(self._stages.items())[-1:]
            self._stages = {**dict(kept), stage.name: self._crew.hold(stage)}
        return self._stages[stage.name]

    def _tally(self, reports: Sequence[Future[Any]]) -> Tally:
        report = self._crew.total(reports)
        self.watch(report.worked)
        return report.tally

    def look(self, stage: Stage) -> Tally:
        """New rows under the centres so far."""
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
