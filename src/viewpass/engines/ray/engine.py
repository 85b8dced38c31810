"""The engine over a Ray cluster: `map_batches` of a Dataset; of files and arrays, a task per partition.

Tasks cost less than Datasets, whose own processes start with each of them.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import ray
import ray.data
from ray.data import DataContext

from viewpass.engines.interface import FAN_IN
from viewpass.engines.tables import (
    FOUND,
    NUMBER,
    Mapped,
    TableEngine,
    TableSource,
    applied,
    applied_pickled,
)
from viewpass.sources.source import Source


def source_of(data: Any, views: Any, id: str | None) -> Any:
    """A source of the rows of a Ray Dataset; other data is returned unchanged."""
    if not isinstance(data, ray.data.Dataset):
        return data
    with quiet():
        return TableSource(data, schema_of(data), data.count(), views, id)


def schema_of(dataset: Any) -> Any:
    """The Arrow schema of a Dataset."""
    with quiet():
        schema = getattr(dataset.schema(), "base_schema", None)
        if not isinstance(schema, pa.Schema):  # blocks of another kind
            batches = dataset.limit(1).iter_batches(batch_format="pyarrow", batch_size=None)
            schema = next((batch.schema for batch in batches), pa.schema([]))
        return schema.remove_metadata()


class RayEngine(TableEngine):
    """Rows that the workers of a Ray cluster read."""

    def __init__(self, source: Source) -> None:
        super().__init__(source, max(1, int(ray.cluster_resources().get("CPU", 1))))

    def numbers(self, n: int) -> Any:
        """Tables of a number each: the arguments of tasks."""
        return _Tasks([[pa.table({NUMBER: [number]})] for number in range(n)])

    def selected(self, table: Any, columns: Sequence[str]) -> Any:
        """Some columns of a Dataset."""
        return table.select_columns(list(columns))

    def mapped(self, table: Any, function: Mapped) -> Any:
        """The results, a row per block."""
        if isinstance(table, _Tasks):
            sent = ray.put(pickle.dumps(function))  # bytes: Ray would make arrays that cannot be written to
            return _Tasks([[_run.remote(sent, *given)] for given in table])

        def each(block: Any) -> Any:
            return applied(function, [block])

        return table.map_batches(each, batch_size=None, batch_format="pyarrow", zero_copy_batch=True)

    def gathered(self, results: Any) -> Any:
        """The results in larger blocks."""
        if isinstance(results, _Tasks):
            whole = [one for given in results for one in given]
            return _Tasks([whole[first : first + FAN_IN] for first in range(0, len(whole), FAN_IN)])
        return results.map_batches(_same, batch_size=FAN_IN, batch_format="pyarrow", zero_copy_batch=True)

    def fetched(self, results: Any) -> Iterable[tuple[int, bytes]]:
        """The rows, as they come."""
        with quiet():
            if isinstance(results, _Tasks):
                rows = (row for (one,) in results for row in ray.get(one).to_pylist())
            else:
                rows = results.iter_rows()
            for row in rows:
                yield row[NUMBER], row[FOUND]


class _Tasks(list[list[Any]]):
    """The blocks that each of some tasks takes, or gives."""


_run: Any = ray.remote(applied_pickled)


def _same(block: Any) -> Any:
    return block


@contextmanager
def quiet() -> Iterator[None]:
    """Without what Ray Data tells of every execution."""
    context, logger = DataContext.get_current(), logging.getLogger("ray.data")
    before, level = context.enable_progress_bars, logger.level
    context.enable_progress_bars = False
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        context.enable_progress_bars = before
        logger.setLevel(level)
