"""The engine over a Spark cluster: `mapInArrow` of a DataFrame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from viewpass.engines.tables import FOUND, NUMBER, Mapped, TableEngine, TableSource
from viewpass.sources.source import Source

RESULTS = f"{NUMBER} long, {FOUND} binary"


def source_of(data: Any, views: Any, id: str | None) -> Any:
    """A source of the rows of a Spark DataFrame; other data is returned unchanged."""
    if not isinstance(data, DataFrame):
        return data
    return TableSource(data, schema_of(data), data.count(), views, id)


def schema_of(frame: Any) -> Any:
    """The Arrow schema of a DataFrame."""
    return to_arrow_schema(frame.schema)


def spark_schema(schema: Any) -> Any:
    """The schema of a DataFrame with the columns of an Arrow schema."""
    return from_arrow_schema(schema)


class SparkEngine(TableEngine):
    """Rows that the executors of a Spark session read."""

    def __init__(self, session: Any, source: Source) -> None:
        self._session = session
        super().__init__(source, session.sparkContext.defaultParallelism)

    def numbers(self, n: int) -> Any:
        """A DataFrame of numbers, a partition each."""
        return self._session.range(0, n, 1, n).toDF(NUMBER)

    def selected(self, table: Any, columns: Sequence[str]) -> Any:
        """Some columns of a DataFrame."""
        return table.select(*(f"`{name.replace('`', '``')}`" for name in columns))

    def mapped(self, table: Any, function: Mapped) -> Any:
        """The results, a row per partition."""
        return table.mapInArrow(function, RESULTS)

    def gathered(self, results: Any) -> Any:
        """The results in a partition per worker."""
        return results.repartition(self.n_workers)

    def fetched(self, results: Any) -> Iterable[tuple[int, bytes]]:
        """All rows."""
        return [(row[NUMBER], bytes(row[FOUND])) for row in results.collect()]
