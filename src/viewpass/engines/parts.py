"""Partitions of files or arrays: which rows, and how a worker reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from viewpass.engines.local import RowReader
from viewpass.errors import DataError, ViewpassError
from viewpass.sources.source import Source, spans
from viewpass.views.chunk import Chunk

T = TypeVar("T")

BLOCK = 8192  # rows that a worker processes at a time, and the least of a partition
MOST_ROWS = 2**20  # of a partition: as many are read again if its worker is lost
PARTS_PER_WORKER = 4  # at least, where there are enough rows: workers finish at about the same time


@dataclass(frozen=True)
class Part:
    """Consecutive rows, in a form that can be sent: `read(*given)` gives their chunks."""

    start: int
    stop: int
    place: str  # for errors
    read: Callable[..., Iterator[Chunk]]
    given: tuple[Any, ...]

    def run(self, task: Callable[[Iterable[Chunk]], T]) -> T:
        """Run a task on the rows."""
        return on_rows(self.place, task, self.read, self.given)


def parts_of(source: Source, n_workers: int) -> list[Part]:
    """The partitions of a source: rows that workers read from files, or rows of arrays that are sent."""
    if not source.rereadable:
        raise DataError(
            "a stream cannot be divided among workers: its rows come once, in order. Give files or arrays."
        )
    if source.n_rows is None:
        raise DataError(
            "the number of rows is not known before reading, but is needed to divide them among workers. "
            "Give Parquet or Arrow IPC files, or arrays."
        )
    each = -(-source.n_rows // (PARTS_PER_WORKER * n_workers))
    found = []
    for start, stop in spans(source.n_rows, min(max(-(-each // BLOCK) * BLOCK, BLOCK), MOST_ROWS)):
        place = source.place(start, stop)
        if source.portable:
            found.append(Part(start, stop, place, file_rows, (source, start, stop)))
        else:
            found.append(Part(start, stop, place, blocks, (source.span(start, stop - start),)))
    return found


def on_rows(
    place: str,
    task: Callable[[Iterable[Chunk]], T],
    read: Callable[..., Iterator[Chunk]],
    given: Iterable[Any],
) -> T:
    """Run a task on the rows that `read(*given)` gives; an error says which they are."""
    try:
        return task(read(*given))
    except (ViewpassError, MemoryError):
        raise
    except Exception as problem:
        reason = " ".join(str(problem).split())
        raise DataError(f"{place}: {type(problem).__name__}: {reason}") from problem


def file_rows(source: Source, start: int, stop: int) -> Iterator[Chunk]:
    """Rows of files."""
    return RowReader(source, block=BLOCK).chunks(start, stop)


def blocks(chunk: Chunk) -> Iterator[Chunk]:
    """Rows that were sent."""
    for first, last in spans(chunk.n_rows, BLOCK):
        yield chunk.cut(first, last)
