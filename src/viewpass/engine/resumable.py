"""A run that can be put away and taken up again: where it is, chunk after chunk, and what it decided."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from viewpass.core.model import Assigned
from viewpass.core.step.workspace import Workspace
from viewpass.core.stream import Stream
from viewpass.engine.labelling import label_rows
from viewpass.engine.local import check_enough, check_passes
from viewpass.kernels.grid import Array, Labels
from viewpass.sources.source import Source


class Position(NamedTuple):
    """Passes behind, and rows of the present one that are behind as well."""

    number: int = 0
    row: int = 0


class Sink(Protocol):
    """Where decided rows go."""

    def begin(self, number: int) -> None:
        """A pass begins."""

    def end(self) -> None:
        """The pass is complete."""

    def put(self, start: int, rows: Array) -> None:
        """The next rows of the pass."""

    def put_ids(self, ids: Array | None) -> None:
        """The ids of rows as they are read."""

    def last(self, start: int, n_rows: int) -> Labels:
        """Labels of rows in the pass before."""


def advance(
    stream: Stream,
    source: Source,
    sink: Sink,
    *,
    chunk_size: int,
    n_passes: int,
    at: Position,
) -> Iterator[Position]:
    """Go on from `at`; gives the position after every chunk, and (number, 0) after every pass.

    At each of these the stream and the sink belong together and may be put away; after a pass they
    must be, before its successor writes over the labels of its predecessor.
    """
    check_passes(source, n_passes)
    for number in range(at.number, n_passes):
        sink.begin(number)
        for chunk in source.chunks(chunk_size, at.row):
            if number == 0:
                decided = stream.learn(chunk)
                sink.put_ids(chunk.row_ids)
            else:
                decided = stream.relearn(chunk, sink.last(chunk.start, chunk.n_rows))
            _put(decided, sink, stream.workspace)
            yield Position(number, chunk.start + chunk.n_rows)
        if number == 0:
            _put(stream.finish(), sink, stream.workspace)
            check_enough(stream)
        sink.end()
        at = Position(number + 1)
        yield at
    stream.workspace.release()


def _put(decided: Assigned | None, sink: Sink, workspace: Workspace) -> None:
    if decided is not None:
        sink.put(decided.start, label_rows(decided, workspace))
