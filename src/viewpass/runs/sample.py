"""`viewpass sample`: some rows of each cluster of a run, drawn at random or the least sure ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from viewpass.errors import SettingError
from viewpass.kernels.grid import Array, Floats, Integers
from viewpass.labels.columns import CONFIDENCE
from viewpass.runs.run_labels import RunLabels
from viewpass.sample.keys import mixed, number_keys

ROWS = 2**16
NUMBER = "viewpass.row"


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
