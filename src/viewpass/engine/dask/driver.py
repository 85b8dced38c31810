"""The driver: rounds one after the other, pass after pass. It holds centres and sums, never a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from distributed import Future

from viewpass.core.initialise import check_given
from viewpass.core.model import Model, StreamState
from viewpass.core.stream import Stream
from viewpass.engine.dask import tasks
from viewpass.engine.dask.coordinator import advance, blank, expected, first_stage
from viewpass.engine.dask.round import Round
from viewpass.engine.dask.rows import Rows
from viewpass.engine.dask.shards import Stage
from viewpass.engine.dask.worker_pool import WorkerPool
from viewpass.engine.local import check_enough
from viewpass.engine.resumable import Position
from viewpass.errors import DataError, SettingError
from viewpass.views.chunk import Schema
from viewpass.views.scaling import Scaling


class Sink(Protocol):
    """Where the labels of blocks go: the driver's memory, or files that workers write."""

    def begin(self, number: int) -> None:
        """A pass begins."""

    task: Callable[..., Any]
    """What brings a block's labels there: of the block, an order, the stage and the schema."""

    def order(self, number: int, start: int) -> Any:
        """What the task must know besides."""

    def put(self, start: int, found: Any) -> None:
        """What that task gave."""

    def last(self, start: int, stop: int) -> Any:
        """Labels of rows in the pass before, or what gives them."""

    def end(self) -> None:
        """The pass is complete."""


@dataclass
class Driver:
    """One run of a stream over rows that workers hold.

    `width` chunks of `size` rows are a round. It is fixed when the run begins, whatever workers come and
    go: the result depends on it as it does on the chunk size of a local run.
    """

    pool: WorkerPool
    rows: Rows
    schema: Schema  # as far as it is known without reading
    stream: Stream
    sink: Sink
    size: int
    width: int
    n_passes: int
    watch: Callable[[Sequence[tasks.Worked]], None] = lambda worked: None
    _coming: list[Round] = field(default_factory=list, init=False)  # opened ahead
    _scaling: Future[Any] | None = field(default=None, init=False)

    def steps(self, at: Position) -> Iterator[Position]:
        """Go on from `at`; gives the position after every round, and (number, 0) after every pass.

        At each of these the stream and the sink belong together and may be put away.
        """
        for number in range(at.number, self.n_passes):
            self.sink.begin(number)
            row = at.row
            if number == 0 and not self.stream.started:
                row = self._start()
                if row:
                    yield Position(0, row)
            while row < self.rows.n_rows:
                row = self._round(number, row)
                yield Position(number, row)
            if number == 0:
                check_enough(self.stream)
            self.sink.end()
            at = Position(number + 1)
            yield at

    def _open(self, row: int) -> Round:
        """The blocks of a round: those opened ahead, if it is the one."""
        while self._coming:
            coming = self._coming.pop(0)
            if coming.start == row:
                return coming
        return self._scaled(self._round_at(row).open())

    def _round_at(self, row: int, **how: Any) -> Round:
        return Round(self.pool, self.rows, row, self.size, self.width, **how)

    def _scaled(self, one: Round) -> Round:
        """A round whose rows are as the centres see them."""
        scaling = self._model().scaling
        if not scaling.plain:
            if self._scaling is None:
                self._scaling = self.pool.hold(scaling)
            one.scale(self._scaling)
        return one

    def _round(self, number: int, row: int) -> int:
        """Read one round, while the rows of the next are being opened; gives the row after it."""
        model = self._model()
        here = self._open(row)
        here.schema, here.watch = expected(model), self.watch
        if number > 0:
            here.labels = [self.sink.last(*edge) for edge in here.edges]
        following = here.stop if here.stop < self.rows.n_rows else 0
        if not self._coming and (following or number + 1 < self.n_passes):
            self._coming.append(self._scaled(self._round_at(following).open()))
        rules, name = self.stream.plan.rules, _name(number, row)
        model, stage = advance(here, model, rules, name, again=number > 0, first=row == 0)
        self._stand(model)
        self._settle_labels([here], stage, number)
        return here.stop

    def _model(self) -> Model:
        model = self.stream.state.model
        assert model is not None
        return model

    def _stand(self, model: Model) -> None:
        self.stream.state = StreamState(model.schema, model, (), 0, model.n_rows, model.n_without_views)

    def _settle_labels(self, rounds: Sequence[Round], stage: Stage, number: int) -> None:
        """Have the blocks' labels brought to the sink."""
        asked: list[tuple[int, Future[Any]]] = []
        schema = expected(self._model())
        for one in rounds:
            orders = [self.sink.order(number, first) for first, _ in one.edges]
            futures = one.ask(self.sink.task, one.stage(stage), schema, each=orders)
            asked += zip([first for first, _ in one.edges], futures, strict=True)
        if number == 0 and self._coming:  # what is asked next does not depend on the labels
            coming = self._coming[0]
            if coming.start == rounds[-1].stop:
                coming.look_ahead(first_stage(self._model(), _name(0, coming.start)), schema)
        for (start, _), found in zip(asked, self.pool.gather([one for _, one in asked]), strict=True):
            self.sink.put(start, found)

    def _start(self) -> int:
        """Make the first centres, by one worker; gives the row after those it was made of."""
        init = self.stream.plan.init
        if isinstance(init, list):  # centres are given: the first round is one like all others
            plan = self.stream.plan
            if any(name != "unit" for name in plan.scale):
                raise SettingError("centres as init= need scale='unit' here: no row was seen to learn one.")
            check_given(init, self.schema, plan.n_clusters or 0)
            self._stand(blank(self.schema, init, Scaling.none(len(init)), plan.rules.alpha))
            return 0
        span = self.size * self.width
        n_rounds = max(1, -(-self.stream.plan.warmup // span))
        workers = self.pool.workers()
        one, others = workers[:1], workers[1:]
        beside = self.pool.beside(one[0]) if one else {}
        n_threads = sum(beside.values()) or 1
        rounds: list[Round] = []
        while True:
            for row in range(len(rounds) * span, min(n_rounds * span, self.rows.n_rows), span):
                rounds.append(self._round_at(row, workers=one, together=n_threads))
            stop = rounds[-1].stop
            whole = stop == self.rows.n_rows
            given = ([each.whole for each in rounds], self.stream.plan, self.stream.rng, whole, n_threads)
            home = one[0] if one else None
            asked = self.pool.submit(tasks.begin, *given, worker=home, rows=(0, stop))
            # While one makes the start, the others read on; those beside it once it need not read.
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
            n_rounds *= 2
        self.stream.rng.bit_generator.state = begun.rng.bit_generator.state
        if begun.model is None:
            raise DataError("no row has a view: there is nothing to cluster.")
        self._stand(begun.model)
        used = [each for each in rounds if each.stop <= begun.model.n_rows]
        for each in used:
            each.cut()
            self._scaled(each)
        for coming in self._coming:
            self._scaled(coming.open())
        self._settle_labels(used, Stage(tasks.STARTED, begun.model.centres), 0)
        return int(begun.model.n_rows)


def _name(number: int, row: int) -> str:
    """Of the round that begins with a row, in a pass."""
    return f"{number}.{row}"
