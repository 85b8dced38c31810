"""A run in a folder whose rows are read, and whose labels are written, by the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from viewpass.engines.dask.engine import DaskEngine
from viewpass.engines.dask.label_parts import PartOrder
from viewpass.engines.dask.workers import Workers
from viewpass.engines.progress import Callback, Progress
from viewpass.errors import SettingError
from viewpass.kernels.grid import Integers
from viewpass.labels.columns import confidence_columns, with_names
from viewpass.labels.files.formats import STREAM
from viewpass.labels.files.parts import PartLabels, write_manifest
from viewpass.labels.names import of_rows
from viewpass.reasons.calibrate import calibration_of
from viewpass.runs.final_labels import Watched
from viewpass.runs.run import Run
from viewpass.runs.work import FitStages, Work
from viewpass.store.container.files import naming


class DaskStages(FitStages):
    """The stages of a fit on a cluster; a checkpoint is written after each."""

    workers: Workers | None = None
    callback: Callback | None = None

    @property
    def row(self) -> int:
        """A stage begins with its first row."""
        return 0

    def _engine(self) -> DaskEngine:
        assert self.workers is not None
        return DaskEngine(self.workers, self._source.keeping(self._wanted.kept), self.callback)

    def _read(self) -> Iterator[Progress]:
        """Have the workers read the rows of the present stage."""
        fitting, engine = self._fitting, self._engine()
        if fitting.model is None:
            fitting.start(*engine.sample(fitting.sample.size))
        else:
            fitting.add(engine.tally(fitting.model))
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
        engine = self._engine()
        order = PartOrder(str(home.absolute()), self._source.id_name, confidence_columns)
        tally, parts = engine.write(model, order)
        fitting.add(tally)
        if wanted.named:  # by the labels of the sampled rows
            labels = [PartLabels(str(home.absolute()), part) for part in parts]
            tables = (one.columns(["cluster", *wanted.name_by]) for one in labels)
            self.names = names = wanted.names(model, of_rows(tables, fitting.sample.numbers))
            into = str(folder.parts.absolute())
            parts = engine.rewrite(labels, into, partial(with_names, names=names))
        write_manifest(folder.parts, parts, folder.growing)
        fitting.end_stage(self._workspace)
        sizes: Integers = np.sum([part.clusters for part in parts], axis=0, dtype=np.int64)
        return sizes


class DaskRun(Run):
    """A run on a cluster."""

    def _new_work(self) -> Work:
        if self.which == STREAM:
            raise SettingError(
                "labels of a stream are decided in the order of the rows: that is not for a cluster. Leave "
                "--stream-labels out and give files, or use --engine local."
            )
        estimator = self._estimator
        given = estimator._learnt, self._source, self.folder, estimator._workspace(self._source)
        return DaskStages(*given, self._wanted)

    def use(self, workers: Workers, callback: Callback) -> None:
        """Work with these workers; those who watch are told of the rows read."""
        assert isinstance(self._work, DaskStages)
        self._work.workers, self._work.callback = workers, callback
