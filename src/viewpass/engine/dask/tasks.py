"""The tasks of workers: pure functions of their arguments, so that any can be run again, anywhere.

A block remembers its last assignment, which only makes the next task faster.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from distributed import Future, Worker, get_worker, secede

from viewpass.core.consensus.births import Candidates
from viewpass.core.model import Assigned, Model, label
from viewpass.core.plan import Plan
from viewpass.core.reasons.gathering import Gathered, gathered
from viewpass.core.state.census import Span, span
from viewpass.core.state.sample import Sample
from viewpass.core.state.statistics import Statistics
from viewpass.core.step.workspace import Workspace
from viewpass.core.stream import Stream
from viewpass.engine import schedule
from viewpass.engine.dask.blocks import Block
from viewpass.engine.dask.shards import Shard, Stage, Tally
from viewpass.engine.labelling import Labelled, bare_rows, cluster_rows, label_rows
from viewpass.errors import DataError, ViewpassError
from viewpass.kernels.grid import Integers, Labels, Links
from viewpass.sources.source import Source
from viewpass.views.chunk import Chunk, Schema
from viewpass.views.scaling import Scaling

T = TypeVar("T")

STARTED = "start"  # the name of the first centres

_reading = threading.Lock()  # one task of a worker reads at a time: more would not be faster
_called: ContextVar[Worker | None] = ContextVar("called", default=None)  # the worker, in a call (calls.py)


@dataclass(frozen=True)
class Worked:
    """Rows a worker processed, and the seconds it took."""

    worker: str
    n_rows: int
    seconds: float


@dataclass(frozen=True)
class Report:
    """The tally of some blocks, and which workers computed it."""

    tally: Tally
    worked: tuple[Worked, ...]

    def __add__(self, other: Report) -> Report:
        return Report(self.tally + other.tally, self.worked + other.worked)


class Job(NamedTuple):
    """A task, its own argument and what goes with it; older versions of Dask would run a plain tuple."""

    task: Callable[..., Any]
    own: Any
    more: Any = None


@dataclass(frozen=True)
class PartOrder:
    """How the parts of a label file are to be written."""

    folder: str
    id_name: str | None
    columns: Callable[[Labelled, Model], Any]  # about the labels, as an Arrow table


@dataclass(frozen=True)
class WorkerStart:
    """A model of the first rounds, and the state of the random generator after them."""

    schema: Schema
    model: Model | None  # None if more rows are needed
    rng: np.random.Generator
    stages: tuple[Stage, ...]  # that the rows of each round were labelled by, as far as they were learnt


class Call:
    """A function with all of its arguments except those stored in the cluster."""

    def __init__(self, function: Callable[..., Any], given: Sequence[Any]) -> None:
        self.function = function
        self.given = [None if isinstance(one, Future) else one for one in given]
        self.places = [place for place, one in enumerate(given) if isinstance(one, Future)]

    def __call__(self, *found: Any) -> Any:
        """Call it with those as well."""
        given = list(self.given)
        for place, one in zip(self.places, found, strict=True):
            given[place] = one
        return self.function(*given)


def store(value: T) -> T:
    """Store a value in the cluster: the graph makes it again if the worker that holds it is lost."""
    return value


def open_block(source: Source, start: int, size: int, n_threads: int = 1) -> Block:
    """Read rows; they stay with the worker, which can run other tasks meanwhile."""
    with suppress(ValueError):  # not on a worker
        secede()
    block = Block(start, size, source)
    with _reading, decoding(n_threads), locked(block):
        pass
    return block


@contextmanager
def decoding(n_threads: int) -> Iterator[None]:
    """Decode with this many threads, if the worker has fewer."""
    try:
        import pyarrow as pa
    except ImportError:
        yield
        return
    before = pa.cpu_count()
    if before >= n_threads:
        yield
        return
    pa.set_cpu_count(n_threads)
    try:
        yield
    finally:
        pa.set_cpu_count(before)


def cut_block(whole: Block, start: int, size: int) -> Block:
    """Some of the rows of a block."""
    return whole.cut(start, size)


def take_block(start: int, chunk: Chunk) -> Block:
    """A block of rows that were sent."""
    return Block(start, chunk.n_rows, None, chunk)


def view_bytes(block: Block) -> list[int]:
    """Bytes of a row in each view, as the schedule of chunks counts them."""
    return schedule.view_bytes(block.chunk())


def candidates(block: Block, stage: Stage, schema: Schema) -> Candidates:
    """Rows that may open an anchor."""
    with locked(block) as shard:
        schema.merged(shard.rows.chunk.schema)
        return shard.candidates(stage, block.start)


def sampled(block: Block, most: int, limit: int) -> Sample:
    """Rows that belong to the sample of the stream."""
    with locked(block) as shard:
        return shard.sampled(most, limit)


def assign(block: Block, stage: Stage, schema: Schema) -> Report:
    """Assign new rows to the centres so far."""
    return _report(block, lambda shard: shard.assign(stage), schema)


def measured(block: Block, n_clusters: int, schema: Schema) -> Report:
    """Count the rows and views."""
    return _report(block, lambda shard: shard.measured(n_clusters), schema)


def follow(block: Block, before: Any, after: Stage) -> Report:
    """Reassign rows; reports the moves from the centres before, or from their labels in the last pass."""
    if not isinstance(before, Stage):
        before = np.asarray(before() if callable(before) else before, dtype=np.int32)
    return _report(block, lambda shard: shard.follow(before, after))


def links(block: Block, stage: Stage) -> Links:
    """Edge weights of the anchor graph from the rows."""
    with locked(block) as shard:
        return shard.links(stage)


def scaled(block: Block, scaling: Scaling) -> Block:
    """The rows in the scale that was learnt."""
    other = block.in_scale(scaling)
    with locked(other):
        pass
    return other


def row_sums(block: Block) -> Statistics:
    """The sum of the rows."""
    with locked(block) as shard:
        return shard.row_sums()


def combine(reports: Sequence[Report]) -> Report:
    """Add up; sums are exact, so the order does not matter."""
    return reduce(add, reports)


def collect(block: Block, _order: None, stage: Stage, schema: Schema) -> tuple[Labels, Any]:
    """Labels and ids of the rows, for the driver."""
    known = block.known(stage.name)
    if known is not None:
        return known, block.chunk().row_ids
    with locked(block) as shard:
        schema.merged(shard.rows.chunk.schema)
        return _assigned(block, shard, stage).recorded, shard.rows.chunk.row_ids


def write_labels(block: Block, order: tuple[str, int, bool, str | None], stage: Stage, schema: Schema) -> Any:
    """Write the rows of a label file, with distances if users read it; gives a record of the part."""
    from viewpass.store.labels.parts import write_part

    folder, n_clusters, with_distances, id_name = order
    with locked(block) as shard:
        schema.merged(shard.rows.chunk.schema)
        rows = shard.rows
        decided = _assigned(block, shard, stage)
        found = (label_rows if with_distances else bare_rows)(decided, shard.workspace)
        return write_part(Path(folder), block.start, found, rows.chunk.row_ids, n_clusters, id_name=id_name)


def with_census(block: Block, order: Job, stage: Stage, schema: Schema) -> tuple[Any, Span]:
    """What another task gives for a block, and counts of its rows; with presence patterns if they are new."""
    task, own, new = order
    found = task(block, own, stage, schema)
    with locked(block) as shard:
        labels = shard.labels(stage)
        seen = shard.rows.inverse > 0 if new else None
        return found, span(labels, block.start, stage.centres.n_clusters, seen)


def with_rows(block: Block, order: Job, *given: Any) -> tuple[Any, tuple[Integers, Chunk] | None]:
    """What another task gives for a block, and the rows of some numbers as they were read, if there are any.

    `order.more` gives these numbers for the first row and the number of rows.
    """
    found = order.task(block, order.own, *given)
    with locked(block) as shard:
        numbers = order.more(block.start, shard.rows.n_rows)
        rows = (numbers, block.chunk().take(numbers - block.start)) if len(numbers) else None
        return found, rows


def _assigned(block: Block, shard: Shard, stage: Stage) -> Assigned:
    given = shard.labels(stage), np.empty(0), shard.rows
    return Assigned(block.start, *given, stage.centres, stage.names)


def label_block(block: Block, _order: None, model: Model) -> Labels:
    """The clusters of rows under a model."""
    with locked(block) as shard:
        return label(shard.rows.chunk, model, shard.workspace)


def write_clusters(block: Block, order: PartOrder, model: Model) -> Any:
    """Write the rows of a label file under a model; gives a record of the part."""
    from viewpass.store.labels.formats import FINAL
    from viewpass.store.labels.parts import write_part

    with locked(block) as shard:
        chunk = shard.rows.chunk
        found = cluster_rows(chunk, model, shard.workspace)
        more = order.columns(found, model)
        rows = found.records, chunk.row_ids, model.clusters.n_clusters
        given = FINAL, order.id_name, chunk.kept
        return write_part(Path(order.folder), block.start, *rows, *given, more)


def with_sample(block: Block, order: Job, model: Model) -> tuple[Any, Gathered]:
    """What another task gives for a block, and what its sampled rows show."""
    found = order.task(block, order.own, model)
    with locked(block) as shard:
        return found, gathered(shard.rows.chunk, model, shard.workspace)


def change_part(labels: Any, folder: str, change: Callable[[Any], Any]) -> Any:
    """Write a part again with other columns beside its labels; gives a record of it."""
    return labels.changed(Path(folder), change)


def cluster_part(labels: Any, folder: str, clusters: Labels, n_clusters: int) -> Any:
    """Write a part again with clusters in place of anchors; gives a record of it."""
    return labels.clustered(Path(folder), clusters, n_clusters)


def begin(
    rounds: Sequence[Block], plan: Plan, rng: np.random.Generator, whole: bool, n_threads: int
) -> WorkerStart:
    """Begin a stream with the first rounds, each one chunk; `whole`: there are no more rows.

    Rounds after the start are small, and learnt here as well: not those with anchors, which are costly.
    """
    stream, stages = Stream(plan, rng, Workspace(n_threads)), list[Stage]()
    for number, block in enumerate(rounds):
        further = stream.twin()
        decided = further.learn(block.chunk())
        if whole and number == len(rounds) - 1 and not further.started:
            decided = further.finish()
        model = further.state.model
        grown = model is not None and (model.growth is not None or model.links is not None)
        if stages and grown:
            break
        stream = further
        if decided is None or model is None:
            continue
        name, known = (f"{STARTED}.{number}", [block]) if stages else (STARTED, rounds[: number + 1])
        for each in known:
            each.know(name, decided.start, decided.recorded)
        lineage = None if model.growth is None else model.growth.lineage
        stages += [Stage(name, decided.centres, lineage=lineage)] * len(known)
        if grown:
            break
    return WorkerStart(stream.schema, stream.state.model, stream.rng, tuple(stages))


@contextmanager
def running_on(worker: Worker) -> Iterator[None]:
    """What runs here runs on this worker, though not as one of its tasks."""
    token = _called.set(worker)
    try:
        yield
    finally:
        _called.reset(token)


def _worker() -> Worker | None:
    try:
        return _called.get() or get_worker()
    except ValueError:  # not on a worker
        return None


def n_threads() -> int:
    """The threads of this worker, all of which process its one block at a time."""
    worker = _worker()
    return 1 if worker is None else int(worker.state.nthreads)


@contextmanager
def locked(block: Block) -> Iterator[Shard]:
    """The rows of a block, for one task at a time; errors name them."""
    try:
        with block.lock:
            yield block.shard(n_threads())
    except (ViewpassError, MemoryError):
        raise
    except Exception as problem:
        reason = " ".join(str(problem).split())
        raise DataError(f"{block.place()}: {type(problem).__name__}: {reason}") from problem


def _report(block: Block, compute: Callable[[Shard], Tally], schema: Schema | None = None) -> Report:
    began = time.perf_counter()
    with locked(block) as shard:
        if schema is not None:
            schema.merged(shard.rows.chunk.schema)
        tally = compute(shard)
    worker = _worker()
    where = "here" if worker is None else str(worker.address)
    return Report(tally, (Worked(where, tally.read.n_rows, time.perf_counter() - began),))
