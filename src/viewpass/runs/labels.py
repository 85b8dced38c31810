"""The labels of a run: read in parts, and found for the rows of a table.

Rows are found by id where the run has ids, in any order; otherwise by number. Labels are read along with the
table while both are in the same order. From the first row that is not, the labels are held in memory, and
every row is looked up.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from viewpass.errors import DataError, FileError, SettingError
from viewpass.estimators.persistence import load
from viewpass.kernels.grid import Integers
from viewpass.labels.columns import NAME, ROW, with_names
from viewpass.labels.formats import IDS, which_labels
from viewpass.labels.parts import MANIFEST
from viewpass.runs.folder import RunFolder
from viewpass.sources.arrow.batches import UNREADABLE, resized

ROWS = 2**16  # read at a time


def is_label_file(path: Path) -> bool:
    """Whether a file is Parquet, and says which labels it holds."""
    try:
        return which_labels(pq.read_schema(path)) is not None
    except UNREADABLE:  # reading it as data says what is wrong
        return False


class RunLabels:
    """Labels in row order, as Parquet files: one of a run on this machine, or several of a Dask run."""

    def __init__(self, path: Path) -> None:
        """Find the files of a run folder, or take a label file."""
        if not path.exists():
            raise FileError(f"{path}: there is no such file or folder.")
        self.path, self._folder = path, RunFolder(path)
        self._files = self._found()
        try:
            self.schema = pq.read_schema(self._files[0])
            self.n_rows = sum(pq.read_metadata(file).num_rows for file in self._files)
        except (pa.ArrowException, OSError) as problem:
            raise FileError(f"{self._files[0]} is no Parquet file ({problem}).") from problem
        if which_labels(self.schema) is None or "cluster" not in self.schema.names:
            raise FileError(f"{self._files[0]} is no label file.")
        said = (self.schema.metadata or {}).get(IDS)
        self.id_name = said.decode() if said else None
        self.names = [name for name in self.schema.names if name != ROW or not self._several]
        if self.id_name is None and not self._several:
            self.names = self.names[1:]  # row numbers
        self._cluster_names = load(self._folder.model).cluster_names_ if path.is_dir() else {}
        if self._cluster_names and NAME not in self.names:
            self.names.append(NAME)

    def _found(self) -> list[Path]:
        self._several = False
        if not self.path.is_dir():
            return [self.path]
        folder = self._folder
        if not folder.finished:
            raise FileError(f"{self.path} is not the folder of a finished run.")
        if folder.labels.exists():
            return [folder.labels]
        self._several = True
        try:
            listed = json.loads((folder.parts / MANIFEST).read_text())["parts"]
            files = [folder.parts / Path(str(part["file"])).name for part in listed]
        except (OSError, ValueError, LookupError, TypeError) as problem:
            raise FileError(f"{folder.parts / MANIFEST} is damaged or absent ({problem}).") from problem
        if not files:
            raise FileError(f"{folder.parts / MANIFEST} names no files.")
        return files

    def check_id(self, columns: Sequence[str]) -> str | None:
        """The column of the ids, None if the run has none; refuse a table that does not have it."""
        if self.id_name is not None and self.id_name not in columns:
            raise SettingError(
                f"{self.path} was labelled with ids, but the data has no column {self.id_name!r} to match "
                "its rows by."
            )
        return self.id_name

    def tables(self, size: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Read columns (None: all, without row numbers) in tables of `size` rows.

        Names of clusters are those that the model of the run has today.
        """
        wanted = list(self.names if columns is None else columns)
        if NAME not in wanted or not self._cluster_names:
            yield from resized(self._batches(size, wanted), size)
            return
        stored = list(dict.fromkeys(["cluster", *(name for name in wanted if name != NAME)]))
        for table in resized(self._batches(size, stored), size):
            yield with_names(table, self._cluster_names).select(wanted)

    def _batches(self, size: int, columns: Sequence[str]) -> Iterator[Any]:
        for path in self._files:
            try:
                with pq.ParquetFile(path, pre_buffer=False) as file:  # otherwise it would hold the whole file
                    for batch in file.iter_batches(size, columns=list(columns)):
                        yield batch.select(list(columns))
            except (pa.ArrowException, OSError, KeyError) as problem:
                raise FileError(f"{path} is damaged ({problem}).") from problem


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
