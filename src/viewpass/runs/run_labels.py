"""The label file of a run: written with the names of clusters where they are asked for, and read in parts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from viewpass.errors import FileError, SettingError
from viewpass.estimators.persistence import load
from viewpass.kernels.grid import Integers
from viewpass.labels.columns import NAME, Wanted, with_names
from viewpass.labels.files.formats import IDS, TableFile, staged_tables, which_labels
from viewpass.labels.files.parts import MANIFEST
from viewpass.labels.names import of_rows
from viewpass.labels.writing import Also, Watch, write_rows
from viewpass.model.model import Model
from viewpass.runs.folder import RunFolder
from viewpass.sources.arrow.batches import resized
from viewpass.sources.source import Source
from viewpass.store.container.files import naming, replacing
from viewpass.sums.rules import Workspace

ROW = "row"  # the column of row numbers in the parts of a Dask run


class RunLabels:
    """Labels in row order, as Parquet files: one of a run on this machine, or several of a Dask run."""

    def __init__(self, path: Path) -> None:
        """Find the files of a run folder, or take a label file."""
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


Watched = Callable[[str], Watch]  # what is called while this is done with rows


def write_final_labels(
    model: Model,
    source: Source,
    folder: RunFolder,
    workspace: Workspace,
    watched: Watched,
    wanted: Wanted,
    also: Also,
    sampled: Integers,
) -> tuple[Integers, dict[int, str]]:
    """Write the label file of a run; gives rows per cluster, and the names of clusters.

    Names of clusters follow from the labels of the `sampled` rows; rows are staged until then.
    """
    given = workspace, watched("labelling"), wanted
    if not wanted.named:
        return write_rows(model, source, folder.labels, *given, growing=folder.growing, also=also).sizes, {}
    staged = folder.staging / "final.arrows"
    sizes = write_rows(model, source, staged, *given, growing=folder.growing, also=also, staged=True).sizes
    names = wanted.names(model, of_rows(staged_tables(staged, ["cluster", *wanted.name_by]), sampled))
    with (
        naming(staged),
        replacing(folder.labels, folder.growing) as file,
        TableFile(folder.labels, file) as out,
    ):
        watch = watched("naming")
        for rows in staged_tables(staged):
            out.write(with_names(rows, names))
            watch(out.n_rows, sizes)
    staged.unlink()
    return sizes, names
