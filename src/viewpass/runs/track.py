"""`vp.track`: what became of the clusters of any two labelings, made by any method."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from viewpass.errors import DataError, SettingError, printable
from viewpass.kernels.grid import Array, Integers
from viewpass.streams.events import NO_CLUSTER
from viewpass.streams.track import Label, Labeling, Track, tracked

CLUSTER = "cluster"  # the column of labels, unless another is named
NUMBERS = (int, float, np.integer, np.floating)


def track(before: Any, after: Any, *, id: str | None = None, labels: str = CLUSTER) -> Track:
    """Compare two labelings: which clusters keep their id, and which were born, split, merged or died.

    Clusters are matched by the rows that both labelings have. So any software may have made them, and
    clusters may be numbered in any way.

    Parameters
    ----------
    before, after : array-like, dict, Series, frame, path, fitted model or Track
        Labels per row: whole numbers or text; -1, None and NaN are rows without a cluster. Arrays are matched
        row by row. A dict has labels by row id, a pandas Series by its index, a frame in column `labels` by
        column `id`. A path is a label file or a run folder of viewpass. A Track as `before` continues
        with its ids, and recognises clusters that return.
    id : str, optional
        The column of row ids of a frame; by default the index of a pandas frame.
    labels : str, default="cluster"
        The column of labels of a frame.

    Returns
    -------
    Track
        `ids`, `events`, `row_ids`. Printed, it is a summary in words.

    Examples
    --------
    >>> import viewpass as vp
    >>> week1 = vp.track([0, 0, 0, 0, 1, 1], [5, 5, 3, 3, 4, 4])
    >>> print(week1)
    6 rows in both; 2 (33.3%) changed their cluster.
    2 clusters go on.
    cluster 0 split; new: 2 (4 -> 2 rows), 100% sure
    ids of clusters that have another label after:
      3 is 0
      4 is 1
      5 is 2
    >>> week2 = vp.track(week1, [0, 0, 0, 0, 1, 1])
    >>> week2.ids
    {0: 0, 1: 1}
    """
    first, second = _labeling(before, id, labels, "before"), _labeling(after, id, labels, "after")
    if first.numbered != second.numbered:
        raise DataError(
            "one labeling has ids of rows and the other one has none, so that their rows cannot be matched. "
            "Give both as dicts, frames or files with ids, or both without."
        )
    if first.numbered and len(first.rows) != len(second.rows):
        raise DataError(
            f"{len(first.rows):,} rows before and {len(second.rows):,} after, without ids to match them by. "
            "Give both as dicts or frames with ids of rows."
        )
    return tracked(first, second)


def _labeling(given: Any, id: str | None, labels: str, which: str) -> Labeling:
    if isinstance(given, Track):
        return given.labeling()
    rows, values = _rows_and_labels(given, id, labels, which)
    if values.ndim != 1:
        raise DataError(f"{which}: labels have shape {values.shape}. Give one label per row.")
    clusters, names = _coded(values, which)
    numbered = rows is None
    found = np.arange(len(values)) if rows is None else rows
    if not numbered:
        _check_once(found, which)
    whole = all(isinstance(name, int) for name in names)
    ids = np.array(names if whole else range(len(names)), dtype=np.int64)
    return Labeling(found, clusters, names, ids, numbered, int(ids.max(initial=NO_CLUSTER)) + 1)


def _check_once(rows: Array, which: str) -> None:
    seen = set[Any]()
    for row in rows.tolist():
        if row in seen:
            raise DataError(
                f"{which}: {printable(repr(row))} is the id of several rows. Give each an id of its own."
            )
        seen.add(row)


def _rows_and_labels(given: Any, id: str | None, labels: str, which: str) -> tuple[Array | None, Array]:
    if isinstance(given, str | os.PathLike):
        return _of_file(Path(given))
    if isinstance(given, Mapping):
        return _array(list(given)), _array(list(given.values()))
    if hasattr(given, "predict"):
        return _of_model(given, which)
    frame = nw.from_native(given, pass_through=True, eager_only=True, allow_series=True)
    if isinstance(frame, nw.Series):
        index = nw.maybe_get_index(frame)
        return None if index is None else np.asarray(index), frame.to_numpy()
    if isinstance(frame, nw.DataFrame):
        for column in (labels, *([id] if id is not None else [])):
            if column not in frame.columns:
                raise DataError(
                    f"{which} has no column {column!r}. Name those of its labels and ids (labels=, id=)."
                )
        index = frame[id].to_numpy() if id is not None else nw.maybe_get_index(frame)
        if index is None:
            raise SettingError(
                f"{which} is a frame without an index. Name the column of its row ids with id=."
            )
        return np.asarray(index), frame[labels].to_numpy()
    return None, _array(given)


def _of_model(model: Any, which: str) -> tuple[Array | None, Array]:
    """Under the lasting ids of the model, where its clusters have them."""
    labels, rows = np.asarray(model.labels_), getattr(model, "row_ids_", None)
    if rows is not None and len(rows) != len(labels):
        raise DataError(
            f"{which}: the model has labels of {len(labels):,} rows and ids of {len(rows):,}. Give the "
            "labels of its rows as a dict by row id."
        )
    ids = getattr(model, "cluster_ids_", None)
    return rows, labels if ids is None else np.append(ids, NO_CLUSTER)[labels]


def _of_file(path: Path) -> tuple[Array | None, Array]:
    from viewpass.runs.labels import ROWS, RunLabels, plain

    found = RunLabels(path)
    names = [CLUSTER, *([found.id_name] if found.id_name else [])]
    tables = list(found.tables(ROWS, names))
    clusters = [np.asarray(table[CLUSTER]).astype(np.int64) for table in tables]
    rows = None
    if found.id_name:
        rows = _array([value for table in tables for value in plain(table[found.id_name]).to_pylist()])
    return rows, np.concatenate(clusters) if clusters else np.empty(0, dtype=np.int64)


def _array(values: Any) -> Array:
    """As NumPy reads it; lists that mix kinds keep the kinds."""
    if isinstance(values, list | tuple) and len({type(value) for value in values}) > 1:
        found = np.empty(len(values), dtype=object)
        found[:] = values
        return found
    return np.asarray(values)


def _coded(values: Array, which: str) -> tuple[Integers, tuple[Label, ...]]:
    """Places of the labels among the distinct ones, in order; -1 for rows without a cluster."""
    if values.dtype.kind in "iu":
        numbers, places = np.unique(values.astype(np.int64), return_inverse=True)
        below = int((numbers < 0).sum())
        if below and numbers[0] < NO_CLUSTER:
            raise _refused(int(numbers[0]), which)
        return np.where(places < below, NO_CLUSTER, places - below), tuple(numbers[below:].tolist())
    plain = [_label(value, which) for value in values.tolist()]
    found = {label for label in plain if label is not None}
    if len({type(label) for label in found}) > 1:
        raise DataError(f"{which}: some labels are numbers and some are text. Give labels of one kind.")
    names = tuple(sorted(found, key=lambda label: (isinstance(label, str), label)))
    order = {label: place for place, label in enumerate(names)}
    return np.array([NO_CLUSTER if one is None else order[one] for one in plain], dtype=np.int64), names


def _label(value: Any, which: str) -> Label | None:
    if value is None or value == NO_CLUSTER or value != value:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, NUMBERS) and not isinstance(value, bool) and value >= 0 and value == int(value):
        return int(value)
    raise _refused(value, which)


def _refused(value: Any, which: str) -> DataError:
    return DataError(
        f"{which}: {printable(repr(value))} cannot be a label. Labels are whole numbers from 0 or text; "
        "-1, None and NaN are rows without a cluster."
    )
