"""Partitions of the data: which rows, and how the worker that is given them reads them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import dask
from distributed import Client

from viewpass.engines.dask.collections import CollectionSource
from viewpass.engines.local import RowReader
from viewpass.errors import DataError
from viewpass.sources.source import GapSource, Source, spans
from viewpass.views.chunk import Chunk
from viewpass.views.gaps import with_gaps

BLOCK = 8192  # rows that a worker processes at a time, and the least of a partition
MOST_ROWS = 2**20  # of a partition: as many are read again if its worker is lost
PARTS_PER_WORKER = 4  # at least, where there are enough rows: workers finish at about the same time


@dataclass(frozen=True)
class Part:
    """Consecutive rows; `read(*given)` gives their chunks, where `given` may hold delayed values."""

    start: int
    stop: int
    read: Callable[..., Iterator[Chunk]]
    given: list[Any]


def parts_of(source: Source, client: Client, n_workers: int) -> list[Part]:
    """The partitions of a source: those of a Dask collection, or rows that workers read from files.

    Rows in this process's memory are sent to the cluster once, and stay there as long as the parts do.
    """
    gaps = isinstance(source, GapSource)
    inner = source.source if isinstance(source, GapSource) else source
    if isinstance(inner, CollectionSource):
        return [
            Part(start, stop, made_rows, [gaps, *inner.recipe(start, stop)]) for start, stop in inner.edges()
        ]
    if source.n_rows is None:
        raise DataError(
            "the number of rows is not known before reading, but is needed to divide them among workers. "
            "Give Parquet or Arrow IPC files, Dask collections or arrays."
        )
    each = -(-source.n_rows // (PARTS_PER_WORKER * n_workers))
    edges = spans(source.n_rows, min(max(-(-each // BLOCK) * BLOCK, BLOCK), MOST_ROWS))
    if source.portable:
        held = as_value(source)
        return [Part(*edge, file_rows, [held, *edge]) for edge in edges]
    found = []
    for start, stop in edges:
        (sent,) = client.persist([as_value(source.span(start, stop - start))], optimize_graph=False)
        found.append(Part(start, stop, blocks, [sent]))
    return found


def as_value(value: Any) -> Any:
    """Something as it is, as part of a graph."""
    return dask.delayed(value, name=f"viewpass-value-{uuid.uuid4().hex}", traverse=False)


def file_rows(source: Source, start: int, stop: int) -> Iterator[Chunk]:
    """Rows of files."""
    return RowReader(source, block=BLOCK).chunks(start, stop)


def made_rows(gaps: bool, build: Callable[..., Chunk], *given: Any) -> Iterator[Chunk]:
    """Rows of a Dask collection; `gaps`: values may be missing inside a view."""
    chunk = build(*given)
    return blocks(with_gaps(chunk) if gaps else chunk)


def blocks(chunk: Chunk) -> Iterator[Chunk]:
    """Rows that were sent."""
    for first, last in spans(chunk.n_rows, BLOCK):
        yield chunk.cut(first, last)
