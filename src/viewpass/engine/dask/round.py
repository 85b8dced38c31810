"""One round on the workers: its blocks are the shards of a chunk, and tasks compute on them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from functools import reduce
from operator import add
from typing import Any

from distributed import Future

from viewpass.core.consensus.births import Candidates
from viewpass.core.state.sample import Sample
from viewpass.core.state.statistics import Statistics
from viewpass.engine.dask import tasks
from viewpass.engine.dask.calls import Ask
from viewpass.engine.dask.rows import WorkerRows
from viewpass.engine.dask.shards import Stage, Tally
from viewpass.engine.dask.tasks import Report
from viewpass.engine.dask.worker_pool import WorkerPool, were_made
from viewpass.kernels.grid import Links
from viewpass.views.chunk import Schema

Watch = Callable[[Sequence[tasks.Worked]], None]

FEW_BLOCKS = 8  # blocks of a round to which centres are sent one by one
MOST_SENT = 2**23  # bytes of centres sent this way: more is faster by broadcast


class Round:
    """The rows of one chunk, in blocks: one per worker, where they stay until the round is over."""

    def __init__(
        self,
        pool: WorkerPool,
        rows: WorkerRows,
        start: int,
        stop: int,
        width: int,  # blocks that a whole chunk is cut into
        *,
        workers: Sequence[str] = (),  # those that read it; by default all
        together: int = 0,  # if not 0: the first of them reads all of it, with this many threads
    ) -> None:
        self.start, self.stop = start, min(stop, rows.n_rows)
        size = -(-(stop - start) // width)
        self.edges = [(first, min(first + size, self.stop)) for first in range(start, self.stop, size)]
        self.schema: Schema | None = None
        self.watch: Watch = lambda worked: None
        self.labels: Sequence[Any] = ()  # of the pass before, by block: arrays, or callables that read them
        self._pool, self._rows = pool, rows
        there: list[str | None] = [*(workers or pool.workers())] or [None]
        if together:
            there = there[:1]
            self.whole = rows.block(pool, start, self.stop - start, there[0], together)
        self._homes = [there[number % len(there)] for number in range(len(self.edges))]
        self._opened: dict[int, Future[Any]] = {}
        self.blocks: list[Future[Any]] = []
        self._stages: dict[str, Future[Any]] = {}
        self._ahead: tuple[str, Report] | None = None

    def open(self, workers: Collection[str] | None = None) -> Round:
        """Start reading the blocks of these workers; by default all that are not read yet."""
        for number, ((first, stop), home) in enumerate(zip(self.edges, self._homes, strict=True)):
            if number not in self._opened and (workers is None or home in workers):
                self._opened[number] = self._rows.block(self._pool, first, stop - first, home)
        if len(self._opened) == len(self.edges):
            self.blocks = [self._opened[number] for number in range(len(self.edges))]
        return self

    @property
    def opened(self) -> list[Future[Any]]:
        """The blocks that are being read or have been."""
        return list(self._opened.values())

    def cut(self) -> None:
        """Cut rows that were read together into blocks, on the same worker."""
        for edge, home in zip(self.edges, self._homes, strict=True):
            given = (tasks.cut_block, self.whole, edge[0], edge[1] - edge[0])
            self.blocks.append(self._pool.submit(*given, worker=home, rows=edge))

    def submit_whole(self, function: Callable[..., Any]) -> list[Future[Any]]:
        """Submit a task for rows that were read together."""
        home, about = self._homes[0], (self.start, self.stop)
        return [self._pool.submit(function, self.whole, worker=home, rows=about)]

    def asks(self, function: Callable[..., Any], *given: Any, each: Sequence[Any] = ()) -> list[Ask]:
        """A task for every block; `each` holds one argument per block."""
        own = [(one,) for one in each] if each else [()] * len(self.blocks)
        where = zip(self.blocks, own, self._homes, self.edges, strict=True)
        return [Ask(function, block, (*one, *given), home, edge) for block, one, home, edge in where]

    def stage(self, stage: Stage) -> Any:
        """Centres as the argument of a task: sent with it where there are few blocks.

        Otherwise they are stored in the cluster, broadcast once, and kept while the next ones need them.
        """
        if len(self.blocks) <= FEW_BLOCKS and len(self.blocks) * sys.getsizeof(stage) <= MOST_SENT:
            return stage
        if stage.name not in self._stages:
            kept = list(self._stages.items())[-1:]
            self._stages = {**dict(kept), stage.name: self._pool.store(stage)}
        return self._stages[stage.name]

    def _tally(self, asked: Sequence[Ask]) -> Tally:
        return self._watched(self._pool.total(asked))

    def _watched(self, report: Report) -> Tally:
        self.watch(report.worked)
        return report.tally

    def candidates(self, stage: Stage) -> list[Candidates]:
        """Rows of each block that may open an anchor."""
        found: list[Candidates] = self._pool.ask(self.asks(tasks.candidates, self.stage(stage), self.schema))
        return found

    def sampled(self, most: int, limit: int) -> list[Sample]:
        """Rows of each block that belong to the sample of the stream."""
        found: list[Sample] = self._pool.ask(self.asks(tasks.sampled, most, limit))
        return found

    def asks_ahead(self, stage: Stage, schema: Schema) -> list[Ask]:
        """The tasks that assign the rows, for `assigned_ahead`; none where it is better to wait."""
        self.schema = schema
        if len(self.blocks) > FEW_BLOCKS or not were_made(self.blocks):
            return []
        return self.asks(tasks.assign, self.stage(stage), schema)

    def assigned_ahead(self, stage: Stage, reports: Sequence[Report]) -> None:
        """Keep the result of these tasks."""
        self._ahead = stage.name, tasks.combine(reports)

    def assign(self, stage: Stage) -> Tally:
        """Assign new rows to the centres so far."""
        if self._ahead is not None and self._ahead[0] == stage.name:
            return self._watched(self._ahead[1])
        return self._tally(self.asks(tasks.assign, self.stage(stage), self.schema))

    def measured(self, n_clusters: int) -> Tally:
        """Count the rows and views."""
        return self._tally(self.asks(tasks.measured, n_clusters, self.schema))

    def follow(self, before: Stage | None, after: Stage) -> Tally:
        """Reassign rows; reports the moves."""
        if before is None:
            return self._tally(self.asks(tasks.follow, self.stage(after), each=self.labels))
        return self._tally(self.asks(tasks.follow, self.stage(before), self.stage(after)))

    def links(self, stage: Stage) -> Links:
        """Edge weights of the anchor graph from the rows."""
        found: list[Links] = self._pool.ask(self.asks(tasks.links, self.stage(stage)))
        return reduce(add, found)

    def scale(self, scaling: Future[Any]) -> None:
        """Bring the rows to the scale that was learnt."""
        self.blocks = self._pool.submit_each(self.asks(tasks.scaled, scaling))

    def row_sums(self) -> Sequence[Statistics]:
        """The sum of the rows of each block."""
        return self._pool.ask(self.asks(tasks.row_sums))
