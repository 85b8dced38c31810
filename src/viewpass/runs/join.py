"""`viewpass join`: a table with the labels of a run added, without holding the table in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from viewpass.errors import DataError, SettingError
from viewpass.labels.columns import OWN
from viewpass.labels.files.formats import TableFile
from viewpass.runs.run_labels import RunLabels
from viewpass.runs.run_rows import ROWS, RunRows, plain
from viewpass.sources.arrow.chunks import ArrowSource
from viewpass.sources.source import Source
from viewpass.store.container.files import replacing


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
