"""The work of a run: what is done with rows, chunk by chunk, and what a checkpoint keeps of it."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from viewpass.engines.interface import Engine, read_stage
from viewpass.engines.label_parts import write
from viewpass.engines.local import RowReader
from viewpass.engines.progress import Callback, Progress
from viewpass.errors import DataError, FileError
from viewpass.kernels.grid import Array, Integers
from viewpass.labels import columns
from viewpass.labels.columns import COLUMNS, ID, Wanted, with_names
from viewpass.labels.formats import STREAM, TableFile, about_labels, staged_tables
from viewpass.labels.names import of_rows
from viewpass.labels.parts import PartLabels, write_manifest
from viewpass.labels.staging import Extent, StagedColumn
from viewpass.labels.writing import GROUP_ROWS, Watch, write_rows
from viewpass.model.model import Model
from viewpass.reasons.calibrate import calibration_of
from viewpass.runs.folder import RunFolder
from viewpass.sources.arrow.batches import resized
from viewpass.sources.source import Source
from viewpass.store.container.fields import Fields
from viewpass.store.container.files import naming, replacing
from viewpass.store.state.fitting import pack_fitting, unpack_fitting
from viewpass.store.state.learning import pack_learning, pack_segments, unpack_learning, unpack_segments
from viewpass.sums.rules import Workspace
from viewpass.tally.fitting import Fitting
from viewpass.tally.learning import ALL_ROWS, Labelled, Learning
from viewpass.tally.tally import tally_rows
from viewpass.views.chunk import Chunk

BLOCK = 8192
STAGED = ("ids", "labels")  # files of rows that are read once

Watched = Callable[[str], Watch]  # what is called while this is done with rows


class Work(metaclass=ABCMeta):
    """Reads the rows of a source, and writes their labels when all is learnt."""

    def __init__(
        self, learning: Learning, source: Source, folder: RunFolder, workspace: Workspace, wanted: Wanted
    ) -> None:
        self._given, self._source, self._folder = learning, source, folder
        self._workspace, self._wanted = workspace, wanted
        self.names: dict[int, str] = {}  # of clusters, once labels are written

    @property
    @abstractmethod
    def row(self) -> int:
        """The row at which it begins or goes on."""

    @property
    @abstractmethod
    def learning(self) -> Learning:
        """What was learnt."""

    @abstractmethod
    def steps(self) -> Iterator[Progress]:
        """Work on, chunk by chunk; where no row was read, a reading has ended."""

    @abstractmethod
    def write_labels(self, watched: Watched) -> Integers:
        """Write the label file; gives rows per cluster."""

    @abstractmethod
    def packed(self, arrays: dict[str, Array]) -> dict[str, Any]:
        """What a checkpoint stores, after all that it refers to was flushed to disk."""

    @abstractmethod
    def restore(self, stored: Fields) -> None:
        """Go on from a checkpoint, after checking every part of it; what was written after it is cut off."""

    def close(self) -> None:  # noqa: B027
        """Close files."""

    def _check(self, found: Fitting | Learning, stored: Fields) -> None:
        """Refuse what these settings and this source would not have given."""
        mine = self._given
        stored.need(found.plan == mine.plan and found.sample.size == mine.sample.size, "plan")
        horizon = found.horizon if isinstance(found, Learning) else ALL_ROWS
        stored.need(horizon == mine.horizon, "horizon")
        known, schema = self._source.schema, found.schema
        stored.need(schema is None or schema.names == known.names, "views")


class FitStages(Work):
    """Rows that are read again for each stage of a fit, and once more for their final labels."""

    def __init__(
        self, learning: Learning, source: Source, folder: RunFolder, workspace: Workspace, wanted: Wanted
    ) -> None:
        super().__init__(learning, source, folder, workspace, wanted)
        self._fitting = Fitting(learning.plan, learning.seed, learning.sample)

    @property
    def row(self) -> int:
        """The row at which it begins or goes on."""
        return self._fitting.row

    @property
    def learning(self) -> Learning:
        """What was learnt."""
        return self._fitting.learning

    def steps(self) -> Iterator[Progress]:
        """Read rows for one stage after the other."""
        fitting = self._fitting
        while not fitting.labelling:
            yield from self._read()
            fitting.end_stage(self._workspace)
            yield Progress(fitting.stage, fitting.stage + 1, 0, fitting.n_rows, None, fitting.what)

    def _read(self) -> Iterator[Progress]:
        """Read the rows of the present stage."""
        fitting, stage = self._fitting, self._fitting.stage
        drawing, reader = fitting.model is None, RowReader(self._source, None, BLOCK, keep_ids=False)
        for chunk in reader.chunks(fitting.row, None if drawing else fitting.n_rows):
            fitting.take(chunk, self._workspace)
            n_rows = self._source.n_rows if drawing else fitting.n_rows
            yield Progress(stage, stage + 1, fitting.row, n_rows, None, fitting.what)

    def write_labels(self, watched: Watched) -> Integers:
        """Label all rows, and add them up by their labels."""
        fitting = self._fitting
        assert fitting.model is not None
        fitting.model = model = replace(fitting.model, rows=fitting.sample.chunk)
        sizes = self._write(model, watched)
        fitting.end_stage(self._workspace)
        return sizes

    def _write(self, model: Model, watched: Watched) -> Integers:
        """Names of clusters follow from the labels of the sampled rows; rows are staged until then."""
        fitting, workspace, folder, wanted = self._fitting, self._workspace, self._folder, self._wanted

        def add(chunk: Chunk, found: columns.Labelled) -> None:
            fitting.add(tally_rows(chunk, found.rows, found.clusters, model.n_clusters, workspace))

        staged = folder.staging / "final.arrows"
        path = staged if wanted.named else folder.labels
        given = model, self._source, path, workspace, watched("labelling"), wanted
        sizes = write_rows(*given, growing=folder.growing, also=add, staged=wanted.named).sizes
        if wanted.named:
            tables = staged_tables(staged, ["cluster", *wanted.name_by])
            self.names = names = wanted.names(model, of_rows(tables, fitting.sample.numbers))
            watch = watched("naming")
            with replacing(folder.labels, folder.growing) as file, TableFile(folder.labels, file) as out:
                for rows in staged_tables(staged):
                    out.write(with_names(rows, names))
                    watch(out.n_rows, sizes)
            staged.unlink()
        return sizes

    def packed(self, arrays: dict[str, Array]) -> dict[str, Any]:
        """What a checkpoint stores."""
        return {"fitting": pack_fitting(self._fitting, arrays)}

    def restore(self, stored: Fields) -> None:
        """Go on from a checkpoint."""
        found = unpack_fitting(stored.part("fitting"))
        self._check(found, stored)
        self._fitting = found


class DistributedStages(FitStages):
    """Rows that workers read and whose labels they write; a checkpoint is written after each stage."""

    engine: Callable[[Source], Engine] | None = None
    callback: Callback | None = None

    @property
    def row(self) -> int:
        """A stage begins with its first row."""
        return 0

    def _opened(self) -> Engine:
        assert self.engine is not None
        made = self.engine(self._source.keeping(self._wanted.kept))
        made.callback = self.callback
        return made

    def _read(self) -> Iterator[Progress]:
        read_stage(self._opened(), self._fitting)
        return iter(())

    def _write(self, model: Model, watched: Watched) -> Integers:
        fitting, wanted, folder = self._fitting, self._wanted, self._folder
        calibration_of(model, self._workspace)  # once, here
        wanted.check(self._source.id_name, model)
        home = folder.staging / "final" if wanted.named else folder.parts
        for path in (home, folder.parts):
            with naming(path):
                path.mkdir(exist_ok=True)
        tally, parts = write(self._opened(), model, str(home.absolute()), self._source.id_name)
        fitting.add(tally)
        if wanted.named:
            labels = [PartLabels(str(home.absolute()), part) for part in parts]
            tables = (one.columns(["cluster", *wanted.name_by]) for one in labels)
            self.names = names = wanted.names(model, of_rows(tables, fitting.sample.numbers))
            parts = [one.changed(folder.parts, lambda table: with_names(table, names)) for one in labels]
        write_manifest(folder.parts, parts, folder.growing)
        sizes: Integers = np.sum([part.clusters for part in parts], axis=0, dtype=np.int64)
        return sizes


class StreamLabels(Work):
    """Rows that are read once: they keep the labels of the model that they met."""

    def __init__(
        self, learning: Learning, source: Source, folder: RunFolder, workspace: Workspace, wanted: Wanted
    ) -> None:
        super().__init__(learning, source, folder, workspace, wanted)
        self._learning = learning
        self._files: dict[str, StagedColumn] = {}  # by name; ids only where rows have any

    @property
    def learning(self) -> Learning:
        """What was learnt."""
        return self._learning

    @property
    def row(self) -> int:
        """The row at which it begins or goes on."""
        return self._learning.n_rows

    def _stage(self, name: str, values: Array) -> None:
        if name not in self._files:
            self._files[name] = StagedColumn(self._folder.staging / name)
        self._files[name].put(values)

    def steps(self) -> Iterator[Progress]:
        """Read all rows once."""
        learning, workspace = self._learning, self._workspace
        for chunk in RowReader(self._source, None, BLOCK, keep_ids=False).chunks(learning.n_rows):
            if chunk.row_ids is not None:
                self._stage("ids", chunk.row_ids)
            for found in learning.learn(chunk, workspace):
                self._stage("labels", found.labels)
            yield Progress(0, 1, learning.n_rows, self._source.n_rows, None)
        if not learning.up_to_date:
            for found in learning.solve(workspace):
                self._stage("labels", found.labels)
        if not learning.n_rows:
            raise DataError("the data has no rows (0 samples): at least one is needed.")
        workspace.release()

    def write_labels(self, watched: Watched) -> Integers:
        """Write the labels in the numbers that clusters have now."""
        learning, path, id_name = self._learning, self._folder.labels, self._source.id_name
        assert learning.solved is not None
        sizes = np.zeros(learning.solved.n_clusters, dtype=np.int64)
        files = [self._files[name] for name in STAGED if name in self._files]
        columns = [resized(file.batches(), GROUP_ROWS) for file in files]
        about = about_labels(STREAM, id_name)
        with replacing(path, self._folder.growing) as file, TableFile(path, file, about=about) as out:
            for *ids, staged in zip(*columns, strict=True):
                labels = np.asarray(staged["value"])
                found = learning.present(Labelled(out.n_rows, labels))
                sizes += np.bincount(found[found >= 0], minlength=len(sizes))
                numbers = np.arange(out.n_rows, out.n_rows + len(found))
                leading = ids[0]["value"] if ids else pa.array(numbers)
                id_field = pa.field(id_name or ID, leading.type, nullable=False)
                schema = pa.schema([id_field, COLUMNS.field("cluster")])
                out.write(pa.Table.from_arrays([leading, pa.array(found)], schema=schema))
        return sizes

    def packed(self, arrays: dict[str, Array]) -> dict[str, Any]:
        """What a checkpoint stores, after the staged files were flushed to disk."""
        for file in self._files.values():
            file.sync()
        pack_segments(self._learning.segments, arrays)
        extents = {
            name: self._files[name].extent.packed() if name in self._files else None for name in STAGED
        }
        return {"learning": pack_learning(self._learning, arrays), **extents}

    def restore(self, stored: Fields) -> None:
        """Go on from a checkpoint, with the staged files as long as it says."""
        learning = unpack_learning(stored.part("learning"))
        self._check(learning, stored)
        learning.segments = unpack_segments(stored, learning)
        self._learning = learning
        for name in STAGED:
            if stored.get(name) is not None:
                extent = Extent.unpacked(stored.part(name))
                self._files[name] = StagedColumn(self._folder.staging / name, extent)
        ids = self._files.get("ids")
        stored.need(ids is not None or self._source.id_name is None, "ids")
        stored.need(ids is None or ids.n_rows == learning.n_rows, "ids")
        self._check_labels(learning)

    def _check_labels(self, learning: Learning) -> None:
        """Refuse labels of other rows than were read, and of clusters that models did not have."""
        firsts = np.array([segment.start for segment in learning.segments], dtype=np.int64)
        most = np.array([len(segment.numbers) for segment in learning.segments], dtype=np.int64)
        row, sound = 0, True
        for batch in self._files["labels"].batches() if "labels" in self._files else ():
            labels, rows = np.asarray(batch["value"]), np.arange(row, row + len(batch))
            sound = sound and labels.dtype == np.int32 and len(firsts) > 0
            if sound:
                own = most[np.searchsorted(firsts, rows, side="right") - 1]
                sound = bool(((labels >= -1) & (labels < own)).all())
            row += len(batch)
        if not sound or row != (learning.n_rows if learning.solved is not None else 0):
            raise FileError(
                f"{self._folder.staging / 'labels'} does not hold the labels of the rows that the checkpoint "
                "beside it has read. Start over in a new folder."
            )

    def close(self) -> None:
        """Close files."""
        for file in self._files.values():
            file.close()
