"""The engine over a Spark cluster: `mapInArrow` of a DataFrame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.sql.pandas.types import to_arrow_schema

from viewpass.engines.tables import FOUND, NUMBER, Mapped, TableEngine, TableSource
from viewpass.sources.source import Source

RESULTS = f"{NUMBER} long, {FOUND} binary"


def frame_source(frame: Any, views: Any, id: str | None) -> TableSource:
    """The rows of a Spark DataFrame."""
    return TableSource(frame, to_arrow_schema(frame.schema), frame.count(), views, id)


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
