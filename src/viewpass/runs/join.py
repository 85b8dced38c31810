"""`viewpass join`: a table with the labels of a run added, without holding the table in memory.

Rows are found in the run by id where it has ids, in any order; otherwise by number. Labels are read along
with the table while both are in the same order. From the first row that is not, the labels are held in
memory, and every row is looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewpass.errors import DataError, SettingError
from viewpass.kernels.grid import Integers
from viewpass.labels.columns import OWN
from viewpass.labels.files.formats import TableFile
from viewpass.runs.run_labels import RunLabels
from viewpass.sources.arrow.chunks import ArrowSource
from viewpass.sources.source import Source
from viewpass.store.container.files import replacing

ROWS = 2**16


class Found(NamedTuple):
    """The labels of some rows, null where the run does not have them, and their numbers in the run or -1."""

    labels: Any
    numbers: Integers


class RunRows:
    """Finds the rows of a table, block by block; `once`: no row of the run may be found twice."""

    def __init__(self, labels: RunLabels, columns: Sequence[str], *, once: bool = False) -> None:
        self._run, self._columns = labels, list(columns)
        self._wanted = list(dict.fromkeys([*columns, *([labels.id_name] if labels.id_name else [])]))
        self._tables = labels.tables(ROWS, self._wanted)
        self._held: Any = None  # labels read along with the table, and not used yet
        self._known: Any = None  # all labels, once rows are looked up
        self._seen = np.zeros(labels.n_rows if once else 0, dtype=bool)
        self._n_rows = 0

    def find(self, ids: Any, n_rows: int) -> Found:
        """The next rows of the table, given their ids (an Arrow array; None for a run without ids)."""
        found = self._in_order(ids, n_rows) if self._known is None else None
        if found is None:
            found = self._looked_up(ids)
        self._n_rows += n_rows
        if len(self._seen):
            self._check_once(ids, found.numbers)
        return found

    def end(self) -> None:
        """The table has no more rows: without ids it must have had all rows of the run."""
        if self._run.id_name is None and self._n_rows < self._run.n_rows:
            raise self._other_number("fewer")

    def _in_order(self, ids: Any, n_rows: int) -> Found | None:
        rows = self._following(n_rows)
        if self._run.id_name is None:
            if len(rows) < n_rows:
                raise self._other_number("more")
        else:
            labelled = plain(rows[self._run.id_name])
            if len(rows) < n_rows or not pc.all(pc.equal(self._as_labelled(ids), labelled)).as_py():
                return None
        return Found(rows.select(self._columns), np.arange(self._n_rows, self._n_rows + n_rows))

    def _following(self, n_rows: int) -> Any:
        held = [] if self._held is None else [self._held]
        while sum(map(len, held)) < n_rows and (more := next(self._tables, None)) is not None:
            held.append(more)
        rows = pa.concat_tables(held) if held else self._run.schema.empty_table().select(self._wanted)
        self._held = rows.slice(n_rows)
        return rows.slice(0, n_rows)

    def _looked_up(self, ids: Any) -> Found:
        if self._known is None:
            self._held, self._known = None, pa.concat_tables(self._run.tables(ROWS, self._wanted))
            self._known = self._known.combine_chunks()
            if pc.count_distinct(self._ids).as_py() < self._run.n_rows:
                raise DataError(
                    f"rows cannot be matched by id: {self._run.path} has some ids more than once. Fit with "
                    "ids that differ, or give the rows in the order in which they were labelled."
                )
        places = pc.index_in(self._as_labelled(ids), value_set=self._ids)
        numbers = np.asarray(pc.fill_null(places, -1)).astype(np.int64)
        return Found(self._known.select(self._columns).take(places), numbers)

    @property
    def _ids(self) -> Any:
        return plain(self._known[self._run.id_name])

    def _as_labelled(self, ids: Any) -> Any:
        kind = self._run.schema.field(self._run.id_name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        try:
            return ids.cast(kind)
        except pa.ArrowException as problem:
            raise DataError(
                f"ids are of type {ids.type} where those that were labelled are of type {kind} ({problem})."
            ) from problem

    def _check_once(self, ids: Any, numbers: Integers) -> None:
        there = numbers[numbers >= 0]
        twice = self._seen[there]
        twice[np.setdiff1d(np.arange(len(there)), np.unique(there, return_index=True)[1])] = True
        if twice.any():
            row = int(np.flatnonzero(numbers >= 0)[twice.argmax()])
            raise DataError(
                f"rows cannot be matched by id: {ids[row].as_py()!r} is the id of several rows. Give each "
                "row an id of its own."
            )
        self._seen[there] = True

    def _other_number(self, which: str) -> DataError:
        return DataError(
            f"the labels are those of {self._run.n_rows:,} rows, the data has {which}. Give the data that "
            "was labelled; fit with --id to match rows in another order, or some of them."
        )


def plain(column: Any) -> Any:
    """A column of ids as one array, without a dictionary."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column


def join(labels: RunLabels, data: Source, path: Path, watch: Callable[[int], None] = lambda n: None) -> int:
    """Write all columns of the data and the labels of its rows to a file; gives the number of rows.

    Rows are matched by their ids where the run has ids (in any order, or some of them), otherwise by number.
    """
    if not isinstance(data, ArrowSource):
        raise SettingError("join needs a table: Parquet, Arrow or CSV files.")
    id_name = labels.check_id(data.column_names)
    added = [name for name in labels.names if name != id_name]
    twice = [name for name in added if name in OWN and name in data.column_names]
    if twice:
        raise SettingError(f"column {twice[0]!r} is in the data and in the labels. Rename it in the data.")
    added = [name for name in added if name not in data.column_names]  # others were kept of the data
    rows = RunRows(labels, added)
    with replacing(path) as file, TableFile(path, file) as out:
        for table in data.tables(ROWS):
            ids = None if id_name is None else plain(table[id_name])
            found, numbers = rows.find(ids, len(table))
            if ids is not None and (numbers < 0).any():
                row = int(np.flatnonzero(numbers < 0)[0])
                raise DataError(
                    f"row {out.n_rows + row}: its id {ids[row].as_py()!r} was not labelled. Give the data "
                    "that was labelled, or label it with viewpass predict."
                )
            for name in added:
                table = table.append_column(found.schema.field(name), found[name])
            out.write(table)
            watch(out.n_rows)
        rows.end()
        if not out.n_rows:
            raise DataError("the data has no rows: there is nothing to join.")
    return out.n_rows
