"""What workers are asked to do. A task is a pure function of its arguments: it can be done again, anywhere.

A block remembers what it decided last, which only makes the next task quicker.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from distributed import Future, get_worker, secede

from viewpass.core.model import Assigned, Model, Plan, label
from viewpass.core.state.statistics import Statistics
from viewpass.core.step.workspace import Workspace
from viewpass.core.stream import Stream
from viewpass.engine.dask.blocks import Block
from viewpass.engine.dask.shards import Shard, Stage, Tally
from viewpass.engine.labelling import cluster_rows, label_rows
from viewpass.errors import DataError, ViewpassError
from viewpass.kernels.grid import Integers, Labels
from viewpass.sources.source import Source
from viewpass.views.chunk import Chunk, Schema
from viewpass.views.scaling import Scaling

T = TypeVar("T")

STARTED = "start"  # the name of the first centres

_one_reads = threading.Lock()  # of a worker's tasks at a time: more would not be quicker


@dataclass(frozen=True)
class Worked:
    """Who worked on how many rows for how long."""

    worker: str
    n_rows: int
    seconds: float


@dataclass(frozen=True)
class Report:
    """The tally of some blocks, and who worked on them."""

    tally: Tally
    worked: tuple[Worked, ...]

    def __add__(self, other: Report) -> Report:
        return Report(self.tally + other.tally, self.worked + other.worked)


@dataclass(frozen=True)
class Begun:
    """A start: what was learnt from the first rows, and where the random numbers stand."""

    schema: Schema
    model: Model | None  # None if more rows are needed
    rng: np.random.Generator


class Call:
    """A function with all of its arguments but those that are in the cluster."""

    def __init__(self, function: Callable[..., Any], given: Sequence[Any]) -> None:
        self.function = function
        self.given = [None if isinstance(one, Future) else one for one in given]
        self.places = [place for place, one in enumerate(given) if isinstance(one, Future)]

    def __call__(self, *found: Any) -> Any:
        """Ask, with what was in the cluster."""
        given = list(self.given)
        for place, one in zip(self.places, found, strict=True):
            given[place] = one
        return self.function(*given)


def hold(value: T) -> T:
    """Have a value in the cluster: made anew from the graph if the worker that holds it is lost."""
    return value


def open_block(source: Source, start: int, size: int, n_threads: int = 1) -> Block:
    """Read rows; they stay with the worker, which goes on answering meanwhile."""
    with suppress(ValueError):  # not on a worker
        secede()
    block = Block(start, size, source)
    with _one_reads, decoding(n_threads), at_work(block):
        pass
    return block


@contextmanager
def decoding(n_threads: int) -> Iterator[None]:
    """So many threads for decoding, if this worker has fewer."""
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
    """Some of the rows that a worker has."""
    return whole.cut(start, size)


def take_block(start: int, chunk: Chunk) -> Block:
    """Rows that are handed over."""
    return Block(start, chunk.n_rows, None, chunk)


def look(block: Block, stage: Stage, schema: Schema) -> Report:
    """New rows under the centres so far."""
    return _told(block, lambda share: share.look(stage), schema)


def measured(block: Block, n_clusters: int, schema: Schema) -> Report:
    """What the rows are."""
    return _told(block, lambda share: share.measured(n_clusters), schema)


def follow(block: Block, before: Any, after: Stage) -> Report:
    """How rows move from the centres before, or from their labels in the last pass."""
    if not isinstance(before, Stage):
        before = np.asarray(before() if callable(before) else before, dtype=np.int32)
    return _told(block, lambda share: share.follow(before, after))


def links(block: Block, stage: Stage) -> Integers:
    """What anchors have in common by the rows."""
    with at_work(block) as share:
        return share.links(stage)


def scaled(block: Block, scaling: Scaling) -> Block:
    """The rows in the scale that was learnt."""
    other = block.in_scale(scaling)
    with at_work(other):
        pass
    return other


def row_sums(block: Block) -> Statistics:
    """The sum of the rows."""
    with at_work(block) as share:
        return share.row_sums()


def combine(reports: Sequence[Report]) -> Report:
    """Add up; sums are exact, so the order is of no account."""
    return reduce(add, reports)


def collect(block: Block, _order: None, stage: Stage, schema: Schema) -> tuple[Labels, Any]:
    """Labels and ids of the rows, for the driver."""
    known = block.known(stage.name)
    if known is not None:
        return known, block.chunk().row_ids
    with at_work(block) as share:
        schema.merged(share.rows.chunk.schema)
        return share.labels(stage), share.rows.chunk.row_ids


def write_labels(block: Block, order: tuple[str, int], stage: Stage, schema: Schema) -> Any:
    """Write what label files hold of the rows; gives a note of the part."""
    from viewpass.store.labels.parts import write_part

    folder, n_clusters = order
    with at_work(block) as share:
        schema.merged(share.rows.chunk.schema)
        rows = share.rows
        decided = Assigned(block.start, share.labels(stage), np.empty(0), rows, stage.centres)
        found = label_rows(decided, share.workspace)
        return write_part(Path(folder), block.start, found, rows.chunk.row_ids, n_clusters)


def label_block(block: Block, _order: None, model: Model) -> Labels:
    """The clusters of rows under a model."""
    with at_work(block) as share:
        return label(share.rows.chunk, model, share.workspace)


def write_clusters(block: Block, order: tuple[str, int], model: Model) -> Any:
    """Write what label files hold of rows under a model; gives a note of the part."""
    from viewpass.store.labels.parts import write_part

    folder, n_clusters = order
    with at_work(block) as share:
        chunk = share.rows.chunk
        found = cluster_rows(chunk, model, share.workspace)
        return write_part(Path(folder), block.start, found, chunk.row_ids, n_clusters)


def cluster_part(labels: Any, folder: str, clusters: Labels, n_clusters: int) -> Any:
    """Write a part once more, with clusters where it has centres; gives a note of it."""
    return labels.clustered(Path(folder), clusters, n_clusters)


def begin(
    rounds: Sequence[Block], plan: Plan, rng: np.random.Generator, whole: bool, n_threads: int
) -> Begun:
    """Start a stream with the first rounds, each of them one chunk; `whole`: there are no more rows."""
    stream = Stream(plan, rng, Workspace(n_threads))
    decided = None
    for block in rounds:
        decided = stream.learn(block.chunk())
        if stream.started:
            break
    if whole and not stream.started:
        decided = stream.finish()
    if decided is not None:
        for block in rounds:
            block.know(STARTED, decided.start, decided.labels)
    return Begun(stream.schema, stream.state.model, stream.rng)


def n_threads() -> int:
    """The threads of this worker: its one block at a time is worked on by all of them."""
    try:
        return int(get_worker().state.nthreads)
    except ValueError:  # not on a worker
        return 1


@contextmanager
def at_work(block: Block) -> Iterator[Shard]:
    """The rows of a block, for one task at a time; what goes wrong names them."""
    try:
        with block.lock:
            yield block.share(n_threads())
    except (ViewpassError, MemoryError):
        raise
    except Exception as problem:
        told = " ".join(str(problem).split())
        raise DataError(f"{block.place()}: {type(problem).__name__}: {told}") from problem


def _told(block: Block, question: Callable[[Shard], Tally], schema: Schema | None = None) -> Report:
    began = time.perf_counter()
    with at_work(block) as share:
        if schema is not None:
            schema.merged(share.rows.chunk.schema)
        tally = question(share)
    try:
        worker = str(get_worker().address)
    except ValueError:
        worker = "here"
    return Report(tally, (Worked(worker, tally.n_rows, time.perf_counter() - began),))
