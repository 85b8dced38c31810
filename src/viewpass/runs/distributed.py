"""A run in a folder whose rows are read, and whose labels are written, by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from viewpass.engines.interface import Engine, read_stage
from viewpass.engines.label_parts import PartOrder, write
from viewpass.engines.progress import Callback, Progress
from viewpass.errors import SettingError
from viewpass.kernels.grid import Integers
from viewpass.labels.columns import confidence_columns, with_names
from viewpass.labels.files.formats import STREAM
from viewpass.labels.files.parts import PartLabels, write_manifest
from viewpass.labels.names import of_rows
from viewpass.reasons.calibrate import calibration_of
from viewpass.runs.run import Run
from viewpass.runs.run_labels import Watched
from viewpass.runs.work import FitStages, Work
from viewpass.sources.source import Source
from viewpass.store.container.files import naming


class DistributedStages(FitStages):
    """The stages of a fit on a cluster; a checkpoint is written after each."""

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
        """Have the workers read the rows of the present stage."""
        read_stage(self._opened(), self._fitting)
        return iter(())

    def write_labels(self, watched: Watched) -> Integers:
        """Have the workers label all rows, write their labels, and add them up."""
        fitting, wanted, folder = self._fitting, self._wanted, self._folder
        assert fitting.model is not None
        fitting.model = model = replace(fitting.model, rows=fitting.sample.chunk)
        calibration_of(model, self._workspace)  # once, here
        wanted.check(self._source.id_name, model)
        home = folder.staging / "final" if wanted.named else folder.parts
        for path in (home, folder.parts):
            with naming(path):
                path.mkdir(exist_ok=True)
        order = PartOrder(str(home.absolute()), self._source.id_name, confidence_columns)
        tally, parts = write(self._opened(), model, order)
        fitting.add(tally)
        if wanted.named:  # by the labels of the sampled rows
            labels = [PartLabels(str(home.absolute()), part) for part in parts]
            tables = (one.columns(["cluster", *wanted.name_by]) for one in labels)
            self.names = names = wanted.names(model, of_rows(tables, fitting.sample.numbers))
            parts = [one.changed(folder.parts, lambda table: with_names(table, names)) for one in labels]
        write_manifest(folder.parts, parts, folder.growing)
        fitting.end_stage(self._workspace)
        sizes: Integers = np.sum([part.clusters for part in parts], axis=0, dtype=np.int64)
        return sizes


class DistributedRun(Run):
    """A run on a cluster."""

    def _new_work(self) -> Work:
        if self.which == STREAM:
            raise SettingError(
                "labels of a stream are decided in the order of the rows: that is not for a cluster. Leave "
                "--stream-labels out and give files, or use --engine local."
            )
        estimator = self._estimator
        given = estimator._learnt, self._source, self.folder, estimator._workspace(self._source)
        return DistributedStages(*given, self._wanted)

    def use(self, engine: Callable[[Source], Engine], callback: Callback) -> None:
        """Work on this engine; those who watch are told of the rows read."""
        assert isinstance(self._work, DistributedStages)
        self._work.engine, self._work.callback = engine, callback
