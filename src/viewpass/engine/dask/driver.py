"""The driver of a Dask run: rounds of blocks, one after the other. It holds centres and sums, never a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from distributed import Future

from viewpass.core.model import Model, StreamState
from viewpass.core.outgrown import linked, outgrown
from viewpass.core.state.census import Span
from viewpass.core.state.growth import followed
from viewpass.core.step.workspace import Workspace
from viewpass.core.stream import Stream
from viewpass.engine.dask import tasks
from viewpass.engine.dask.calls import Ask
from viewpass.engine.dask.coordinator import advance, blank, candidates_of, first_stage
from viewpass.engine.dask.round import Round
from viewpass.engine.dask.rows import WorkerRows
from viewpass.engine.dask.shards import Stage
from viewpass.engine.dask.worker_pool import WorkerPool
from viewpass.engine.run import Sink
from viewpass.engine.schedule import Schedule
from viewpass.errors import DataError, SettingError
from viewpass.kernels.grid import Array, Labels
from viewpass.sources.source import Cuts
from viewpass.views.chunk import Schema

AHEAD = 2  # rounds that are being read while one is processed
TOGETHER_BYTES = 2**26  # of first rows that one worker learns: their rounds are too small to be divided


class BlockSink(Sink, Protocol):
    """A sink for blocks of rows that are on workers."""

    task: Callable[..., Any]  # run where a block is: takes the block, its order, the stage and the schema

    def order(self, number: int, start: int) -> Any:
        """What else the task needs for the block that begins at row `start`."""

    def put(self, start: int, found: Any) -> None:
        """Keep what the task returned."""

    def last(self, start: int, stop: int) -> Any:
        """Labels of rows in the pass before, or a callable that reads them."""


class MemorySink:
    """Labels and ids in the driver's memory, four bytes per row."""

    task = staticmethod(tasks.collect)

    def __init__(self, n_rows: int) -> None:
        self.labels: Labels = np.full(n_rows, -1, dtype=np.int32)
        self._ids: dict[int, Array] = {}

    def begin(self, number: int) -> None:
        """Nothing to prepare."""

    def end(self) -> None:
        """Nothing to close."""

    def order(self, number: int, start: int) -> None:
        """Nothing else is needed."""

    def put(self, start: int, found: Any) -> None:
        """Keep the labels of a block, and its ids."""
        labels, ids = found
        self.labels[start : start + len(labels)] = labels
        if ids is not None:
            self._ids[start] = ids

    def last(self, start: int, stop: int) -> Labels:
        """Labels of rows in the pass before."""
        return self.labels[start:stop].copy()

    @property
    def row_ids(self) -> Array | None:
        """Ids of the rows, in order, where reading showed them."""
        return np.concatenate([self._ids[start] for start in sorted(self._ids)]) if self._ids else None


@dataclass
class DaskSteps:
    """The steps of a run over rows that workers hold (engine/run.py has the loop).

    A round is one chunk of the stream, as `cuts` says, in `width` blocks. The blocks are the parts that
    labels are written in, so the width is fixed when the run begins; the result does not depend on it.
    """

    pool: WorkerPool
    rows: WorkerRows
    schema: Schema  # as far as it is known without reading
    stream: Stream
    sink: BlockSink
    cuts: Cuts
    width: int
    n_passes: int
    watch: Callable[[Sequence[tasks.Worked]], None] = lambda worked: None
    _coming: list[Round] = field(default_factory=list, init=False)  # rounds opened ahead
    _scaling: Future[Any] | None = field(default=None, init=False)

    def learn(self, number: int, row: int) -> Iterator[int]:
        """Learn from the rounds of a pass from `row` on."""
        if number == 0 and not self.stream.started:
            row = self._start()
            if row:
                yield row
        while row < self.rows.n_rows:
            row = self._round(number, row)
            yield row

    def finish(self) -> None:
        """Nothing is left: the start takes as many rounds as it needs."""

    def _open(self, row: int) -> Round:
        """A round whose blocks are being read: the one opened ahead, if it begins here."""
        while self._coming:
            coming = self._coming.pop(0)
            if coming.start == row:
                return coming
        return self._scaled(self._round_at(row).open())

    def _round_at(self, row: int, **how: Any) -> Round:
        return Round(self.pool, self.rows, row, self.cuts.stop(row), self.width, **how)

    def _scaled(self, one: Round) -> Round:
        """The round with its rows in the scale the model has learnt."""
        scaling = self._model().scaling
        if not scaling.plain:
            if self._scaling is None:
                self._scaling = self.pool.store(scaling)
            one.scale(self._scaling)
        return one

    def _round(self, number: int, row: int) -> int:
        """Process one round while the next is being read; gives the row after it."""
        model = self._model()
        here = self._open(row)
        here.schema, here.watch = model.known_schema, self.watch
        if number > 0:
            here.labels = [self.sink.last(*edge) for edge in here.edges]
        self._read_ahead(number, here)
        rules, name = self.stream.rules, _name(number, row)
        found = candidates_of(here, model, name) if number == 0 else None
        if found is not None:
            model = linked(self.stream.plan, model, found, Workspace(1))
        result, stage = advance(here, model, rules, name, again=number > 0, first=row == 0, found=found)
        anchored = None
        if number == 0 and result.losses:
            given = result.total, result.losses[-1], model.n_rows + result.read.n_rows
            anchored = outgrown(self.stream.plan, model, *given)
        if anchored is not None:  # the round is made again
            model = anchored
            result, stage = advance(here, model, rules, f"{name}.anchors", again=False)
        self.stream.commit(model, result)
        spans = self._put_labels([(here, stage)], number, counted=model.census is not None)
        if model.census is not None:
            now = self._model()
            census = model.census.emptied() if number > 0 and row == 0 else model.census
            lineage = None if now.growth is None else now.growth.lineage
            now.census = followed(census, spans, stage.lineage, lineage)
        return here.stop

    def _read_ahead(self, number: int, here: Round) -> None:
        """Begin to read the rounds after this one, those of the next pass too."""
        last = self._coming[-1] if self._coming else here
        while len(self._coming) < AHEAD:
            following = last.stop if last.stop < self.rows.n_rows else 0
            if not following:
                number += 1
            if number == self.n_passes:
                return
            last = self._scaled(self._round_at(following).open())
            self._coming.append(last)

    def _model(self) -> Model:
        model = self.stream.state.model
        assert model is not None
        return model

    def _begin_with(self, model: Model) -> None:
        self.stream.state = StreamState(model.schema, model, (), 0, model.read)

    def _put_labels(
        self, rounds: Sequence[tuple[Round, Stage]], number: int, *, counted: bool = False
    ) -> list[Span]:
        """Bring the labels of the blocks to the sink; gives counts of their rows, if asked for."""
        asked, starts = list[Ask](), list[int]()
        schema = self._model().known_schema
        for one, stage in rounds:
            orders = [self.sink.order(number, first) for first, _ in one.edges]
            task = self.sink.task
            if counted:
                task, orders = tasks.with_census, [tasks.Job(task, own, number == 0) for own in orders]
            asked += one.asks(task, one.stage(stage), schema, each=orders)
            starts += [first for first, _ in one.edges]
        ahead = list[Ask]()
        if number == 0 and self._coming:  # the next assignment does not depend on the labels
            coming, following = self._coming[0], first_stage(self._model(), _name(0, self._coming[0].start))
            if coming.start == rounds[-1][0].stop and self._model().growth is None:
                ahead = coming.asks_ahead(following, schema)
        results = self.pool.ask([*ahead, *asked])
        if ahead:
            coming.assigned_ahead(following, results[: len(ahead)])
        spans = list[Span]()
        for start, found in zip(starts, results[len(ahead) :], strict=True):
            if counted:
                found, mine = found
                spans.append(mine)
            self.sink.put(start, found)
        return spans

    def _look(self, submit: Callable[..., list[Future[Any]]]) -> None:
        """Let the cuts know the first chunk: where others end may depend on the width of its rows."""
        if isinstance(self.cuts, Schedule) and self.cuts.row_bytes is None:
            found = np.max(self.pool.gather(submit(tasks.view_bytes)), axis=0)
            self.cuts.row_bytes = max(1, int(found.sum()))

    def _start(self) -> int:
        """Initialise the centres on one worker; gives the row after those it used."""
        init = self.stream.plan.init
        if isinstance(init, list):  # given centres: the first round is like all others
            plan = self.stream.plan
            if any(name != "unit" for name in plan.scale):
                raise SettingError(
                    "centres as init= need scale='unit' here: there are no rows to learn a scale from."
                )
            self._begin_with(blank(self.schema, init, plan.n_clusters or 0, plan.rules.alpha))
            self._coming = [self._round_at(0).open()]
            self._look(lambda task: self.pool.submit_each(self._coming[0].asks(task)))
            return 0
        wanted = max(1, self.stream.plan.warmup)  # rows to be collected, as far as they have a view
        workers = self.pool.workers()
        one, others = workers[:1], workers[1:]
        beside = self.pool.beside(one[0]) if one else {}
        n_threads = sum(beside.values()) or 1
        rounds: list[Round] = []
        while True:
            stop = rounds[-1].stop if rounds else 0
            while stop < min(wanted, self.rows.n_rows):
                rounds.append(self._round_at(stop, workers=one, together=n_threads))
                stop = rounds[-1].stop
                self._look(rounds[0].submit_whole)
                if isinstance(self.cuts, Schedule):
                    wanted = max(wanted, TOGETHER_BYTES // (self.cuts.row_bytes or 1))
            whole = stop == self.rows.n_rows
            given = ([each.whole for each in rounds], self.stream.plan, self.stream.rng, whole, n_threads)
            home = one[0] if one else None
            asked = self.pool.submit(tasks.begin, *given, worker=home, rows=(0, stop))
            # While one worker initialises, the others read on; those on its machine once it has read.
            self._coming = [] if whole else [self._round_at(stop, workers=others)]
            if self._coming and self._coming[0].stop < self.rows.n_rows:
                self._coming.append(self._round_at(self._coming[0].stop))
            for coming in self._coming:
                coming.open(set(others) - set(beside))
            self.pool.wait([each.whole for each in rounds])
            for coming in self._coming:
                coming.open(others or None)
            (begun,) = self.pool.gather(
                [asked], [block for coming in self._coming for block in coming.opened]
            )
            if begun.model is not None or whole:
                break
            wanted = 2 * stop
        self.stream.rng.bit_generator.state = begun.rng.bit_generator.state
        if begun.model is None:
            raise DataError("no row has a view: there is nothing to cluster.")
        self._begin_with(begun.model)
        used = list(zip(rounds, begun.stages, strict=False))
        for each, _ in used:
            each.cut()
            self._scaled(each)
        for coming in self._coming:
            self._scaled(coming.open())
        self._put_labels(used, 0)
        return int(begun.model.n_rows)


def _name(number: int, row: int) -> str:
    """The name of the round that begins at a row, in a pass."""
    return f"{number}.{row}"
