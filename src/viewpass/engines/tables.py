"""Engines of frameworks that map functions over Arrow tables, and run them again where workers are lost.

The table is that of the rows, or, of files and arrays, the numbers of their parts. The function that is
mapped gives a row per partition: the number of its part, and the result, pickled. Ray and Spark differ in
how a table is mapped and its rows are fetched; the rest is here.
"""

from __future__ import annotations

import pickle
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa

from viewpass.engines.interface import Engine, Task
from viewpass.engines.parts import BLOCK, Part, on_rows, parts_of
from viewpass.errors import DataError, EngineError, SettingError, ViewpassError
from viewpass.sources.scan import scan
from viewpass.sources.source import Source
from viewpass.version import __version__
from viewpass.views.chunk import Chunk

T = TypeVar("T")
Mapped = Callable[[Iterable[Any]], Iterator[Any]]  # of Arrow batches

NUMBER, FOUND = "number", "found"
RESULTS = pa.schema([(NUMBER, pa.int64()), (FOUND, pa.binary())])


@dataclass(frozen=True)
class Columns:
    """How the columns of an Arrow table are read as views; None as id or views: as `vp.scan` takes them."""

    schema: Any
    views: Any
    id: str
    order: tuple[str, ...] | None = None  # of the views, as a model has them
    gaps: bool = False

    def source(self, table: Any) -> Source:
        """The rows of a table or a stream of these columns."""
        found: Source = scan(table, views=self.views, id=self.id)
        found = found if self.order is None else found.arranged(self.order)
        return found.marking_gaps() if self.gaps else found

    def chunks(self, batches: Iterable[Any]) -> Iterator[Chunk]:
        """The rows of Arrow batches or tables, numbered from 0."""
        cast = (part for batch in batches for part in _as_batches(batch, self.schema))
        return iter(self.source(pa.RecordBatchReader.from_batches(self.schema, cast)).chunks(BLOCK))


def _as_batches(batch: Any, schema: Any) -> list[Any]:
    table = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
    batches: list[Any] = table.select(schema.names).cast(schema).to_batches()
    return batches


class TableSource(Source):
    """The rows of a table that a framework holds. They come in no order, so they are known by their ids."""

    row_ids = None
    in_memory = False
    n_rows: int

    def __init__(self, table: Any, schema: Any, n_rows: int, views: Any, id: str | None) -> None:
        kind = type(table).__name__
        if id is None:
            raise SettingError(
                f"the rows of a {kind} come in no fixed order, so they have no numbers. Name a column of "
                "ids, as in id='item_id'."
            )
        if not n_rows:
            raise DataError("the data has no rows (0 samples): at least one is needed.")
        self.columns = Columns(schema, views, id)
        self._use(table, self.columns.source(schema.empty_table()))
        self.n_rows, self.id_name = n_rows, id

    def _use(self, table: Any, empty: Any) -> None:
        """Keep the columns that are read."""
        self.table, self.schema, self.left_out = table, empty.schema, empty.left_out
        used = [field for field in self.columns.schema if field.name not in empty.left_out]
        self.columns = Columns(pa.schema(used), self.columns.views, self.columns.id)

    def _chunks(self, size: int, start: int) -> Iterator[Chunk]:
        """The framework's workers read the rows."""
        raise EngineError("the rows of this table are read by the workers of its framework.")

    def identity(self) -> dict[str, Any]:
        """The columns, and the number of rows."""
        fields = {field.name: str(field.type) for field in self.columns.schema}
        return {"kind": type(self.table).__name__, "rows": self.n_rows, "columns": fields}


class TableEngine(Engine):
    """Rows that a framework maps functions over."""

    def __init__(self, source: Source, n_workers: int) -> None:
        self.n_workers = n_workers
        self.ordered = not isinstance(source, TableSource)
        self._rows: _PartRows | _TableRows
        if isinstance(source, TableSource):
            columns = replace(source.columns, order=source.schema.names, gaps=source.marks_gaps)
            self._rows, self.n_rows = _TableRows(columns), source.n_rows
            self._table = self.selected(source.table, columns.schema.names)
        else:
            parts = parts_of(source, n_workers)
            self._rows, self.n_rows = _PartRows(parts), parts[-1].stop if parts else 0
            self._table = self.numbers(len(parts))

    @abstractmethod
    def numbers(self, n: int) -> Any:
        """A table of the numbers below `n`, each of which can be mapped by another worker."""

    @abstractmethod
    def selected(self, table: Any, columns: Sequence[str]) -> Any:
        """Some columns of a table."""

    @abstractmethod
    def mapped(self, table: Any, function: Mapped) -> Any:
        """The table of results that a function gives for each partition of a table."""

    @abstractmethod
    def gathered(self, results: Any) -> Any:
        """The same results in few partitions."""

    @abstractmethod
    def fetched(self, results: Any) -> Iterable[tuple[int, bytes]]:
        """The rows of a table of results."""

    def each(self, task: Task[T]) -> Iterable[T]:
        """`task(chunks)` for each partition, in the order of the rows."""
        made = self.mapped(self._table, partial(_results, self._rows, task, __version__))
        return self.reported(found for _, found in sorted(self._fetched(made), key=lambda pair: pair[0]))

    def total(self, task: Task[T], combine: Callable[[Sequence[T]], T]) -> T:
        """The results put together by the workers, then here."""
        made = self.mapped(self._table, partial(_results, self._rows, task, __version__))
        level = self.mapped(self.gathered(made), partial(_combined, combine))
        found = combine([one for _, one in self._fetched(level)])
        self.report(self.n_rows)
        return found

    def _fetched(self, results: Any) -> list[tuple[int, Any]]:
        found = list[tuple[int, Any]]()
        for number, content in self.fetched(results):
            one = pickle.loads(content)
            if isinstance(one, BaseException):
                raise one
            found.append((number, one))
        if not found:
            raise DataError("the data has become shorter while it was read: no row is left.")
        return found


@dataclass(frozen=True)
class _PartRows:
    """Partitions are parts of files or arrays."""

    parts: list[Part]

    def run(self, batches: Iterable[Any], task: Task[T]) -> Iterator[tuple[int, T]]:
        for batch in batches:
            for number in batch.column(NUMBER).to_pylist():
                yield number, self.parts[number].run(task)


@dataclass(frozen=True)
class _TableRows:
    """Partitions are those of a table."""

    columns: Columns

    def run(self, batches: Iterable[Any], task: Task[T]) -> Iterator[tuple[int, T]]:
        rows = (batch for batch in batches if batch.num_rows)
        first = next(rows, None)
        if first is not None:
            whole = (part for some in ([first], rows) for part in some)
            yield 0, on_rows("rows of the table", task, self.columns.chunks, (whole,))


def _results(
    rows: _PartRows | _TableRows, task: Task[Any], version: str, batches: Iterable[Any]
) -> Iterator[Any]:
    """Run a task on partitions; errors travel as results, since frameworks would raise others instead."""
    try:
        if version != __version__:
            raise EngineError(
                f"a worker has viewpass {__version__}; the process that asks has {version}. Install the same "
                "version everywhere and restart the workers."
            )
        for number, found in rows.run(batches, task):
            yield _row(number, found)
    except (ViewpassError, MemoryError) as problem:
        yield _row(-1, problem)


def applied(function: Mapped, blocks: Iterable[Any]) -> Any:
    """The table of results of some blocks."""
    return pa.Table.from_batches(function(blocks), schema=RESULTS)


def applied_pickled(function: bytes, *blocks: Any) -> Any:
    """The same as a task: it is here so that a worker of Ray need not import what data sets take."""
    return applied(pickle.loads(function), blocks)


def _combined(combine: Callable[[Sequence[Any]], Any], batches: Iterable[Any]) -> Iterator[Any]:
    """Put results together."""
    found = [pickle.loads(one) for batch in batches for one in batch.column(FOUND).to_pylist()]
    if found:
        failed = [one for one in found if isinstance(one, BaseException)]
        yield _row(0, failed[0] if failed else combine(found))


def _row(number: int, found: Any) -> Any:
    return pa.RecordBatch.from_arrays(
        [pa.array([number], pa.int64()), pa.array([pickle.dumps(found)], pa.binary())], schema=RESULTS
    )
