"""The one loop over chunks: pass after pass, a stream learns from a source and a sink keeps the labels.

`fit`, `partial_fit`, `viewpass fit`, `viewpass update` and the Dask driver all go through `run`. They
differ in their steps (rows in this process, or rounds of blocks on workers) and in their sink.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from viewpass.core.model import Assigned, Model, label
from viewpass.core.reasons.gathering import Gathered, gathered
from viewpass.core.step.workspace import Workspace
from viewpass.core.stream import Stream
from viewpass.errors import DataError
from viewpass.kernels.grid import Integers, Labels
from viewpass.sources.source import Cuts, Every, Source
from viewpass.views.chunk import Chunk

logger = logging.getLogger("viewpass")

SMALL_STEP = 2**21  # multiplications per chunk below which calling costs more than computing
SMALL_STEP_ROWS = 4096  # rows of such chunks that are processed in one call
CHUNKS_PER_CALL = 16  # larger chunks processed in one call, where rows are read in place
MOST_SUMS = 2**20  # and the sums, of which there are three copies then, are no larger than this
READ_ROWS, READ_BYTES = 2**14, 2**23  # read at a time from files when rows are only labelled


class Position(NamedTuple):
    """How far a run is: complete passes, and rows of the current one."""

    number: int = 0
    row: int = 0


START = Position()


@dataclass(frozen=True)
class Progress:
    """How far a run is, as callbacks see it."""

    pass_number: int  # from 0
    n_passes: int
    n_rows_read: int  # in this pass
    n_rows: int | None  # of the data, where known
    loss: float | None  # average loss per row; None before the first centres
    sizes: Integers | None = None  # rows per centre, where labels go to a file


Callback = Callable[[Progress], object]


class Sink(Protocol):
    """Where the labels of a run go."""

    def begin(self, number: int) -> None:
        """A pass begins."""

    def end(self) -> None:
        """The pass is complete."""


class RowSink(Sink, Protocol):
    """A sink for rows that are processed in this process."""

    by_chunk: bool  # labels are wanted chunk by chunk, with the centres they were assigned by

    def put(self, assigned: Assigned, workspace: Workspace) -> None:
        """Keep the labels of consecutive rows."""

    def put_rows(self, chunk: Chunk) -> None:
        """Keep what is wanted of rows besides their labels, such as ids; in the first pass."""

    def last(self, start: int, n_rows: int) -> Labels:
        """Labels of rows in the pass before."""


class Steps(Protocol):
    """A stream and the rows it learns from, step by step."""

    stream: Stream

    def learn(self, number: int, row: int) -> Iterator[int]:
        """Learn from the rows of a pass from `row` on; gives the row after each step."""

    def finish(self) -> None:
        """The first pass is over: initialise from a warm-up that is not full."""


def run(
    steps: Steps,
    sink: Sink,
    n_passes: int,
    at: Position = START,
    *,
    whole: bool = True,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[Position]:
    """Go on from `at`; gives the position after every step, and (number, 0) after every pass.

    At each of these the stream and the sink agree and may be saved; after a pass they must be, before
    the next one overwrites the labels of the one before. `whole=False`: more rows may come later, so an
    incomplete warm-up stays open. Once `stopped` the run ends as if there were no more rows.
    """
    for number in range(at.number, n_passes):
        sink.begin(number)
        for row in steps.learn(number, at.row):
            yield Position(number, row)
            if stopped():
                break
        if number == 0 and whole:
            steps.finish()
            check_enough(steps.stream)
        sink.end()
        at = Position(number + 1)
        yield at
        if stopped():
            break
    steps.stream.workspace.release()


def run_to_end(
    steps: Steps,
    sink: Sink,
    n_passes: int,
    *,
    n_rows: int | None,
    callback: Callback | None = None,
    whole: bool = True,
) -> None:
    """Run until there are no more rows, or until the callback returns True."""
    stops: list[Position] = []
    for at in run(steps, sink, n_passes, whole=whole, stopped=lambda: bool(stops)):
        state = progress(steps.stream, at, n_passes, n_rows)
        if callback is not None and at.row and callback(state):
            stops.append(at)
        if at.row == 0 and state.loss is not None:
            logger.info("pass %d of %d: average loss %.6g", at.number, n_passes, state.loss)


def progress(stream: Stream, at: Position, n_passes: int, n_rows: int | None) -> Progress:
    """What a callback is given after a step."""
    loss = stream.learning.loss_curve[-1] if stream.started and stream.learning.loss_curve else None
    return Progress(at.number, n_passes, at.row, n_rows if at.number == 0 else stream.n_rows, loss)


class LocalSteps:
    """Chunks of a source, processed in this process."""

    def __init__(
        self,
        stream: Stream,
        source: Source,
        sink: RowSink,
        cuts: Cuts,
        *,
        keep: bool = False,
        copies: Integers | None = None,
    ) -> None:
        self.stream = stream
        self.n_read = 0  # rows of the present pass
        self._source, self._sink = source, sink
        self._keep = keep  # rows of the warm-up outlive the run, the caller's arrays may not
        self._copies = copies  # how often each row counts
        self._cuts = cuts
        self._chunk_size: int | None = None  # where several chunks may be read at once
        if isinstance(cuts, Every):
            self._chunk_size = cuts.first
            if not sink.by_chunk:
                self._cuts = Every(rows_per_call(source, stream, cuts.first))

    def learn(self, number: int, row: int) -> Iterator[int]:
        """Learn from the chunks of a pass; several small ones are one step."""
        for chunk in self._source.chunks(self._cuts, row):
            if self._copies is not None:
                chunk = replace(chunk, copies=self._copies[chunk.start : chunk.start + chunk.n_rows])
            if self._keep and not self.stream.started:
                chunk = chunk.copy()
            labels = None if number == 0 else self._sink.last(chunk.start, chunk.n_rows)
            size = self._chunk_size or chunk.n_rows
            for assigned in self.stream.learn_several(chunk, size, labels):
                self._put(assigned)
                del assigned  # its rows are not kept while the next are processed
            if number == 0:
                self._sink.put_rows(chunk)
            self.n_read = chunk.start + chunk.n_rows
            yield self.n_read

    def finish(self) -> None:
        """Initialise from the rows there are."""
        self._put(self.stream.finish())

    def _put(self, assigned: Assigned | None) -> None:
        if assigned is not None:
            self._sink.put(assigned, self.stream.workspace)


def rows_per_call(source: Source, stream: Stream, chunk_size: int) -> int:
    """Rows processed in one call: several chunks of data in memory, many small ones, or one."""
    widths = [width or 0 for width in source.schema.widths]
    sums = sum(widths) * (stream.plan.n_clusters or 1)
    if source.in_memory and chunk_size * sums <= SMALL_STEP:
        return max(1, SMALL_STEP_ROWS // chunk_size) * chunk_size
    return chunk_size * (CHUNKS_PER_CALL if source.in_place and sums <= MOST_SUMS else 1)


def rows_per_read(source: Source, chunk_size: int) -> int:
    """Rows of whole chunks that are best read and labelled together, as far as is known."""
    if source.row_bytes is None:
        return chunk_size
    fitting = min(READ_ROWS, READ_BYTES // max(source.row_bytes, 1))
    return max(1, fitting // chunk_size) * chunk_size


def labels_of(
    model: Model, source: Source, workspace: Workspace, *, block: int, sample: list[Gathered] | None = None
) -> Iterator[Labels]:
    """Labels of the source's rows under a model, block by block; `sample` gets what sampled rows show."""
    for chunk in source.chunks(rows_per_read(source, block)):
        if sample is not None:
            sample.append(gathered(chunk, model, workspace))
        yield label(chunk, model, workspace)


def check_passes(source: Source, n_passes: int) -> None:
    """Refuse to read a stream more often than it can be, before anything is read."""
    if n_passes > 1 and not source.rereadable:
        raise DataError(
            f"{n_passes} passes over a stream that can be read only once. Use n_passes=1, or give data that "
            "can be read again: files, a table or a frame."
        )


def check_enough(stream: Stream) -> None:
    """After the first pass: refuse fewer rows than clusters."""
    n_clusters = stream.plan.n_clusters or 1
    n_seen = stream.learning.read.n_seen if stream.started else 0
    if n_seen < n_clusters:
        raise DataError(too_few(n_seen, n_clusters))


def too_few(n_seen: int, n_clusters: int) -> str:
    """Say that there are fewer rows than clusters."""
    return (
        f"{n_seen} sample{'s' if n_seen != 1 else ''} with at least one view cannot form "
        f"{n_clusters} clusters (n_samples = {n_seen}). Give more rows or a smaller n_clusters."
    )
