"""`viewpass join`: a table with the labels of a run added, without holding the table in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewpass.errors import DataError, SettingError
from viewpass.labels.columns import OWN
from viewpass.labels.files.formats import label_format, table_writer
from viewpass.runs.run_labels import RunLabels
from viewpass.sources.arrow.chunks import ArrowSource
from viewpass.sources.source import Source
from viewpass.store.container.files import naming, replacing

ROWS = 2**16
OTHERWISE = "Give the data that was labelled, or match rows by their ids (--by-id)."


def join(
    labels: RunLabels, data: Source, path: Path, *, by_id: bool, watch: Callable[[int], None] = lambda n: None
) -> int:
    """Write all columns of the data and the labels of its rows to a file; gives the number of rows.

    Rows are matched by their number, and refused where there are not as many, or where their ids differ; or,
    with `by_id`, by the id, for a table in another order or a part of it.
    """
    if not isinstance(data, ArrowSource):
        raise SettingError("join needs a table: Parquet, Arrow or CSV files.")
    added = [name for name in labels.names if name != labels.id_name]
    twice = [name for name in added if name in OWN and name in data.column_names]
    if twice:
        raise SettingError(f"column {twice[0]!r} is in the data and in the labels. Rename it in the data.")
    added = [name for name in added if name not in data.column_names]  # others were kept of the data
    format, writer, n_rows = label_format(path), None, 0
    with replacing(path) as file:
        for table in _by_id(labels, data, added) if by_id else _by_number(labels, data, added):
            try:
                writer = writer or table_writer(format, file, table.schema)
                with naming(path):
                    writer.write_table(table)
            except pa.ArrowException as problem:
                raise DataError(
                    f"{path}: the table cannot be written as {format} ({problem}). Write it as .arrow, which "
                    "holds any column, or try a newer PyArrow."
                ) from problem
            n_rows += len(table)
            watch(n_rows)
        if writer is None:
            raise DataError("the data has no rows: there is nothing to join.")
        writer.close()
    return n_rows


def _by_number(labels: RunLabels, data: ArrowSource, added: Sequence[str]) -> Iterator[Any]:
    """Rows in the order in which they were labelled."""
    n_rows, id_name = 0, labels.id_name
    for table, found in zip_longest(data.tables(ROWS), labels.tables(ROWS)):
        if table is None or found is None or len(table) != len(found):
            few = table is None or (found is not None and len(table) < len(found))
            raise DataError(
                f"the labels are those of {labels.n_rows:,} rows, the data has {'fewer' if few else 'more'}. "
                f"{OTHERWISE}"
            )
        if id_name is not None and id_name in table.column_names:
            _check_ids(_plain(table[id_name]), found[id_name].combine_chunks(), n_rows)
        n_rows += len(table)
        yield _added(table, found, added)


def _added(table: Any, found: Any, names: Sequence[str]) -> Any:
    for name in names:
        table = table.append_column(found.schema.field(name), found[name])
    return table


def _plain(column: Any) -> Any:
    column = column.combine_chunks()
    return column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column


def _check_ids(given: Any, labelled: Any, start: int) -> None:
    same = pc.fill_null(pc.equal(_as(given, labelled.type), labelled), False)
    wrong = np.flatnonzero(~np.asarray(same))
    if len(wrong):
        row = int(wrong[0])
        was, now = labelled[row].as_py(), given[row].as_py()
        raise DataError(f"row {start + row}: its id is {now!r} where {was!r} was labelled. {OTHERWISE}")


def _as(given: Any, type: Any) -> Any:
    try:
        return given.cast(type)
    except pa.ArrowException as problem:
        raise DataError(
            f"ids are of type {given.type} where those that were labelled are of type {type} ({problem})."
        ) from problem


def _by_id(labels: RunLabels, data: ArrowSource, added: Sequence[str]) -> Iterator[Any]:
    """Rows in any order, matched by id; the labels are held in memory."""
    name = labels.id_name
    if name is None or name not in data.column_names:
        raise SettingError(
            "rows cannot be matched by id: the labels have none (fit with --id)."
            if name is None
            else f"rows cannot be matched by id: the data has no column {name!r}."
        )
    known = pa.concat_tables(labels.tables(ROWS)).combine_chunks()
    ids = _plain(known[name])
    if pc.count_distinct(ids).as_py() < len(ids):
        raise DataError("rows cannot be matched by id: some ids were labelled more than once.")
    for table in data.tables(ROWS):
        given = _plain(table[name])
        places = pc.index_in(_as(given, ids.type), value_set=ids)
        if places.null_count:
            row = int(np.flatnonzero(np.asarray(places.is_null()))[0])
            raise DataError(
                f"id {given[row].as_py()!r} was not labelled. Label its row with viewpass predict."
            )
        yield _added(table, known.take(places), added)
