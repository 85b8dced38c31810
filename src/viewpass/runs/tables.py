"""Tables made of a run, without holding it in memory: `viewpass join` and `viewpass sample`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from viewpass.errors import DataError, SettingError
from viewpass.kernels.grid import Array, Floats, Integers
from viewpass.labels.columns import CONFIDENCE, OWN
from viewpass.labels.formats import TableFile
from viewpass.runs.labels import ROWS, RunLabels, RunRows, plain
from viewpass.sample.keys import mixed, number_keys
from viewpass.sources.arrow.chunks import ArrowSource
from viewpass.sources.source import Source
from viewpass.store.container.files import replacing

NUMBER = "viewpass.row"


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


def sample(labels: RunLabels, per_cluster: int, *, doubtful: bool = False, seed: int = 0) -> Any:
    """At most this many rows of each cluster, by cluster and row, as an Arrow table of the label file.

    Rows are drawn uniformly, by their number and the seed alone; or, with `doubtful`, those of the lowest
    confidence. Only the rows drawn so far are in memory.
    """
    if doubtful and CONFIDENCE not in labels.names:
        raise SettingError(
            f"{labels.path}: the labels have no confidence (--stream-labels). "
            "Label the rows with viewpass predict, and sample from that file."
        )
    drawn: Any = None
    keys, n_rows = np.empty(0), 0
    for table in labels.tables(ROWS):
        numbers = np.arange(n_rows, n_rows + len(table), dtype=np.int64)
        n_rows += len(table)
        table = table.append_column(NUMBER, pa.array(numbers))
        key = np.asarray(table[CONFIDENCE], dtype=np.float64) if doubtful else _random(numbers, seed)
        keys = np.concatenate((keys, key))
        drawn = table if drawn is None else pa.concat_tables((drawn, table))
        kept = _first(np.asarray(drawn["cluster"]), keys, per_cluster)
        drawn, keys = drawn.take(pa.array(kept)).combine_chunks(), keys[kept]
    order = np.lexsort((np.asarray(drawn[NUMBER]), np.asarray(drawn["cluster"])))
    return drawn.take(pa.array(order)).drop_columns([NUMBER])


def _random(numbers: Integers, seed: int) -> Floats:
    """A number for each row, by its number and the seed alone."""
    keys = number_keys(numbers) ^ mixed(np.array([seed % 2**64], dtype=np.uint64))
    return mixed(keys).astype(np.float64)


def _first(clusters: Array, keys: Floats, per_cluster: int) -> Integers:
    """The rows of each cluster with the lowest keys, in the order of rows; not those without any view."""
    order = np.lexsort((keys, clusters))
    order = order[clusters[order] >= 0]
    begins = np.searchsorted(clusters[order], clusters[order])
    chosen: Integers = np.sort(order[np.arange(len(order)) - begins < per_cluster])
    return chosen
