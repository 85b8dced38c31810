"""A fit in a folder: labels on disk, checkpoints on the way, the same files after any crash and resume."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from viewpass.engines.interface import Engine
from viewpass.engines.progress import Callback, Progress
from viewpass.errors import FileError, SettingError, ViewpassError
from viewpass.estimators.notices import warn_of_fit
from viewpass.estimators.persistence import pack, save
from viewpass.estimators.viewpass import ViewPass
from viewpass.kernels.grid import Array, Integers
from viewpass.labels.columns import Wanted
from viewpass.labels.formats import FINAL, STREAM
from viewpass.labels.writing import Watch
from viewpass.runs.folder import RunFolder, check_same, read_checkpoint, write_checkpoint
from viewpass.runs.summary import figures, stream_figures
from viewpass.runs.work import DistributedStages, FitStages, StreamLabels, Work
from viewpass.sources.source import Source
from viewpass.store.container.files import naming, replacing


class StoppedError(ViewpassError):
    """A run was asked to stop; everything up to here is saved."""


@dataclass(frozen=True)
class RunOptions:
    """How a run is watched and saved."""

    every: int = 50  # steps between checkpoints
    watch: Callable[[Progress], None] = lambda progress: None
    stopping: Callable[[], bool] = lambda: False


class Run:
    """One estimator over one source, in one folder.

    Its label file holds the final labels, for which the rows are read once more at the end; or, with
    `stream_labels` and where rows can be read only once, those that rows got when they were read. If it is
    `distributed`, the workers of an engine (`use`) read the rows and write the labels.
    """

    def __init__(
        self,
        estimator: ViewPass,
        data: Source,
        folder: RunFolder,
        *,
        distributed: bool = False,
        stream_labels: bool = False,
        keep: Sequence[str] = (),
        name_by: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        self._estimator, self._source, _ = estimator._prepare(data, None)
        once = stream_labels or self._estimator._learnt.horizon.changing or not self._source.rereadable
        self.which = STREAM if once else FINAL
        self._wanted = Wanted.of(self._source.schema, keep, name_by)
        self._wanted.check(self._source.id_name)
        self._source.keeping(self._wanted.kept)
        if (columns := [*self._wanted.kept, *self._wanted.features]) and self.which == STREAM:
            raise SettingError(
                f"{columns[0]!r} cannot be kept or name clusters: rows are not read again for final labels."
            )
        self.settings = pack(self._estimator, {})["settings"]
        self._identity = json.loads(json.dumps(self._source.identity()))
        if distributed and once:
            raise SettingError(
                "labels of a stream are decided in the order of the rows: that is not for a cluster. Leave "
                "--stream-labels out and give files, or use --engine local."
            )
        kind = StreamLabels if once else DistributedStages if distributed else FitStages
        given = self._estimator._learnt, self._source, folder, self._estimator._workspace(self._source)
        self._work: Work = kind(*given, self._wanted)
        self._seconds, self._sessions = 0.0, 1
        self.saved = False  # whether there is a checkpoint of some work

    def use(self, engine: Callable[[Source], Engine], callback: Callback) -> None:
        """Work on this engine; the callback gets the rows that were read."""
        assert isinstance(self._work, DistributedStages)
        self._work.engine, self._work.callback = engine, callback

    @property
    def first_row(self) -> int:
        """The row it begins or resumes at."""
        return self._work.row

    @property
    def estimator(self) -> ViewPass:
        """The model, once the run has ended."""
        return self._estimator

    def resume(self) -> None:
        """Go on from the checkpoint, after comparing it with the settings and the source of this run.

        One without work is that of a run that ended before its first checkpoint: it begins anew.
        """
        stored = read_checkpoint(self.folder)
        self.check_settings(stored.values.get("settings"))
        check_same(stored.values.get("source"), self._identity, "source", self.folder)
        choice = stored.values.get("which_labels")
        check_same(choice, self.which, "choice of labels (--stream-labels)", self.folder)
        try:
            self._seconds, sessions = stored.decimal("seconds"), stored.number("sessions")
            self._sessions = sessions + 1
            self.saved = stored.values.get("work") is not None
            if self.saved:
                self._work.restore(stored.part("work"))
        except FileError as problem:
            self._work.close()
            raise FileError(f"{self.folder.checkpoint} is damaged: {problem}") from problem

    def check_settings(self, begun: Any) -> None:
        """Refuse to go on with a run that has other settings."""
        check_same(begun, self.settings, "setting", self.folder)

    def begin(self) -> None:
        """Note what the run is, before there is any work to save."""
        self._commit(None, {}, 0.0)

    def commit(self, began: float) -> None:
        """Write the checkpoint, after all the data it refers to."""
        arrays: dict[str, Array] = {}
        self._commit(self._work.packed(arrays), arrays, time.perf_counter() - began)
        self.saved = True

    def _commit(self, work: dict[str, Any] | None, arrays: dict[str, Array], seconds: float) -> None:
        stored = {
            "work": work,
            "settings": self.settings,
            "source": self._identity,
            "which_labels": self.which,
            "seconds": self._seconds + seconds,
            "sessions": self._sessions,
        }
        write_checkpoint(self.folder, stored, arrays)

    def go(self, options: RunOptions) -> dict[str, Any]:
        """Read the remaining rows, write the files, and give the report."""
        began = time.perf_counter()
        try:
            for number, at in enumerate(self._work.steps(), 1):
                stopping = options.stopping()
                if at.n_rows_read == 0 or number % options.every == 0 or stopping:
                    self.commit(began)
                options.watch(at)
                if stopping:
                    where = f"{at.what} row {at.n_rows_read:,}" if at.n_rows_read else "a reading"
                    raise StoppedError(f"stopped after {where}; everything is saved.")
            return self._finish(began, options)
        finally:
            with suppress(ViewpassError):
                self._work.close()

    def _finish(self, began: float, options: RunOptions) -> dict[str, Any]:
        """Write the labels, the model and last the report, which marks the run as finished."""
        folder, estimator = self.folder, self._estimator
        sizes = self._work.write_labels(partial(self._watched, options))
        estimator._learnt = self._work.learning
        model = estimator._fitted_model()
        estimator._count_features(model.schema)
        estimator.cluster_names_ = self._work.names
        save(estimator, folder.model, folder.growing)
        warn_of_fit(model, int((sizes > 0).sum()))
        report = {
            **figures(model, sizes),
            **stream_figures(self._work.learning.identities),
            "settings": self.settings,
            "source": self._identity,
            "which_labels": self.which,
            "sessions": self._sessions,
            "seconds": round(self._seconds + time.perf_counter() - began, 3),
        }
        with replacing(folder.report, folder.growing) as file, naming(folder.report):
            file.write((json.dumps(report, indent=2) + "\n").encode())
        self._work.close()
        folder.clear()
        return report

    def _watched(self, options: RunOptions, what: str) -> Watch:
        """What is called while final labels are written: shows progress, and stops if asked to."""
        n_rows = self._source.n_rows

        def watch(row: int, sizes: Integers) -> None:
            options.watch(Progress(0, 1, row, n_rows, None, what, sizes))
            if options.stopping():
                raise StoppedError(f"stopped after {what} row {row:,}; everything is saved.")

        return watch
