"""The work of a run: what is done with rows, chunk by chunk, and what a checkpoint keeps of it."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from viewpass.engines.local import RowReader
from viewpass.engines.progress import Progress
from viewpass.errors import DataError
from viewpass.kernels.grid import Array, Integers
from viewpass.labels.columns import Labelled as LabelledRows
from viewpass.labels.columns import Wanted
from viewpass.labels.files.appended import Extent
from viewpass.labels.files.formats import STREAM
from viewpass.labels.files.parquet import IdSink, LabelFile
from viewpass.labels.files.staging import STAGED, StagedLabels
from viewpass.runs.folder import RunFolder
from viewpass.runs.run_labels import Watched, write_final_labels
from viewpass.sources.source import Source
from viewpass.store.container.fields import Fields
from viewpass.store.container.files import replacing
from viewpass.store.state.fitting import pack_fitting, unpack_fitting
from viewpass.store.state.learning import pack_learning, pack_segments, unpack_learning, unpack_segments
from viewpass.sums.rules import Workspace
from viewpass.tally.fitting import Fitting
from viewpass.tally.learning import ALL_ROWS, Labelled, Learning
from viewpass.tally.tally import tally_rows
from viewpass.views.chunk import Chunk

BLOCK = 8192


class Work(metaclass=ABCMeta):
    """Reads the rows of a source, and writes their labels when all is learnt."""

    def __init__(self, learning: Learning, source: Source, folder: RunFolder, workspace: Workspace) -> None:
        self._given, self._source, self._folder = learning, source, folder
        self._workspace = workspace
        self.names: dict[int, str] = {}  # of clusters, once labels are written

    @property
    @abstractmethod
    def row(self) -> int:
        """The row at which it begins or goes on."""

    @property
    @abstractmethod
    def learning(self) -> Learning:
        """What was learnt, at the end."""

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
        """Go on from a checkpoint, after checking every part of it."""

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
        self,
        learning: Learning,
        source: Source,
        folder: RunFolder,
        workspace: Workspace,
        wanted: Wanted,
    ) -> None:
        super().__init__(learning, source, folder, workspace)
        self._wanted = wanted
        self._fitting = Fitting(learning.plan, learning.seed, learning.sample)

    @property
    def row(self) -> int:
        """The row at which it begins or goes on."""
        return self._fitting.row

    @property
    def learning(self) -> Learning:
        """What was learnt, at the end."""
        return self._fitting.learning

    def steps(self) -> Iterator[Progress]:
        """Work on, chunk by chunk; where no row was read, a reading has ended."""
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
        fitting, workspace = self._fitting, self._workspace
        assert fitting.model is not None
        fitting.model = model = replace(fitting.model, rows=fitting.sample.chunk)

        def add(chunk: Chunk, found: LabelledRows) -> None:
            labels = np.ascontiguousarray(found.records["cluster"])
            fitting.add(tally_rows(chunk, found.rows, labels, model.n_clusters, workspace))

        given = self._source, self._folder, workspace, watched, self._wanted, add, fitting.sample.numbers
        sizes, self.names = write_final_labels(model, *given)
        fitting.end_stage(workspace)
        return sizes

    def packed(self, arrays: dict[str, Array]) -> dict[str, Any]:
        """What a checkpoint stores."""
        return {"fitting": pack_fitting(self._fitting, arrays)}

    def restore(self, stored: Fields) -> None:
        """Go on from a checkpoint, after checking every part of it."""
        found = unpack_fitting(stored.part("fitting"))
        self._check(found, stored)
        self._fitting = found


class StreamLabels(Work):
    """Rows that are read once: they keep the labels of the model that they met."""

    def __init__(self, learning: Learning, source: Source, folder: RunFolder, workspace: Workspace) -> None:
        super().__init__(learning, source, folder, workspace)
        self._learning = learning
        self._labels: StagedLabels | None = None
        self._ids: IdSink | None = None

    @property
    def row(self) -> int:
        """The row at which it begins or goes on."""
        return self._learning.n_rows

    @property
    def learning(self) -> Learning:
        """What was learnt, at the end."""
        return self._learning

    def steps(self) -> Iterator[Progress]:
        """Work on, chunk by chunk."""
        learning, workspace = self._learning, self._workspace
        labels = self._labels = self._labels or StagedLabels(self._folder.staging / "labels")
        for chunk in RowReader(self._source, None, BLOCK, keep_ids=False).chunks(learning.n_rows):
            if chunk.row_ids is not None:
                self._ids = self._ids or IdSink(self._folder.ids)
                self._ids.put(chunk.row_ids)
            for found in learning.learn(chunk, workspace):
                labels.put(found.labels)
            yield Progress(0, 1, learning.n_rows, self._source.n_rows, None)
        if learning.n_rows > learning.solved_at:
            for found in learning.solve(workspace):
                labels.put(found.labels)
        if not learning.n_rows:
            raise DataError("the data has no rows (0 samples): at least one is needed.")
        workspace.release()

    def write_labels(self, watched: Watched) -> Integers:
        """Write the labels in the numbers that clusters have now."""
        learning, labels, ids, path = self._learning, self._labels, self._ids, self._folder.labels
        assert labels is not None
        assert learning.solved is not None
        sizes = np.zeros(learning.solved.n_clusters, dtype=np.int64)
        name = self._source.id_name

        def rows(given: Labelled) -> Array:
            made = np.zeros(len(given.labels), dtype=STAGED)
            made["cluster"] = found = learning.present(given)
            sizes[:] += np.bincount(found[found >= 0], minlength=len(sizes))
            return made

        with replacing(path, self._folder.growing) as file, LabelFile(file, path, STREAM, name) as out:
            for start, block in labels.blocks() if ids is None else ():
                out.add(rows(Labelled(start, block)))
            for part in () if ids is None else ids.parts():
                out.add(rows(Labelled(out.n_rows, labels.read(out.n_rows, len(part)))), part)
        return sizes

    def packed(self, arrays: dict[str, Array]) -> dict[str, Any]:
        """What a checkpoint stores, after all that it refers to was flushed to disk."""
        files = {"labels": self._labels, "ids": self._ids}
        extents = {}
        for name, file in files.items():
            if file is not None:
                file.sync()
            extents[name] = None if file is None else file.extent.packed()
        pack_segments(self._learning.segments, arrays)
        return {"learning": pack_learning(self._learning, arrays), **extents}

    def restore(self, stored: Fields) -> None:
        """Go on from a checkpoint, after checking every part of it; what was written after it is cut off."""
        learning = unpack_learning(stored.part("learning"))
        self._check(learning, stored)
        learning.segments = unpack_segments(stored, learning)
        folder, solved = self._folder, learning.solved
        extent = Extent.unpacked(stored.part("labels"))
        self._learning = learning
        self._labels = StagedLabels(folder.staging / "labels", extent)
        clusters = [(segment.start, len(segment.numbers)) for segment in learning.segments]
        self._labels.check(learning.n_rows if solved is not None else 0, clusters)
        stored.need(stored.get("ids") is not None or self._source.id_name is None, "ids")
        if stored.get("ids") is not None:
            self._ids = IdSink(folder.ids, Extent.unpacked(stored.part("ids")))
            stored.need(self._ids.n_rows == learning.n_rows, "ids")

    def close(self) -> None:
        """Close files."""
        closing: list[Callable[[], None]] = [
            file.close for file in (self._labels, self._ids) if file is not None
        ]
        for close in closing:
            close()
