"""A fit in a folder: labels on disk, checkpoints on the way, the same files after any crash and resume."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from viewpass.cluster.features import with_features
from viewpass.cluster.notices import warn_of_fit
from viewpass.cluster.opimc import OPIMC
from viewpass.cluster.persistence import completed, pack, unpack
from viewpass.cluster.runs.file_sink import FileSink
from viewpass.cluster.runs.label_file import write_final_labels
from viewpass.cluster.runs.reason_columns import Wanted
from viewpass.cluster.runs.report import figures
from viewpass.cluster.runs.sampled_rows import RowSampler, write_reasons
from viewpass.core.model import Model
from viewpass.core.stream import Stream
from viewpass.engine.run import START, LocalSteps, Position, Progress, Steps, check_passes, progress, run
from viewpass.errors import FileError, SettingError, ViewpassError
from viewpass.kernels.grid import Array, Integers
from viewpass.sources.source import Source
from viewpass.store.checkpoint import check_same, read_checkpoint, write_checkpoint
from viewpass.store.container import body, frame
from viewpass.store.container.fields import Fields
from viewpass.store.container.files import naming, replacing
from viewpass.store.folder import RunFolder
from viewpass.store.labels.formats import FINAL, STREAM
from viewpass.store.labels.parquet import LabelFile
from viewpass.store.labels.staging import LabelSink

LABELLED_ROWS = 8192  # labelled at a time, at least


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
    `stream_labels` and where rows can be read only once, those that the last pass decided.
    """

    def __init__(
        self,
        estimator: OPIMC,
        data: Source,
        folder: RunFolder,
        *,
        stream_labels: bool = False,
        keep: Sequence[str] = (),
        name_by: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        self._estimator, self._source, _ = estimator._prepare(data, None)
        self.which = STREAM if stream_labels or not self._source.rereadable else FINAL
        check_passes(self._source, estimator.n_passes)
        columns, features = with_features(name_by, self._source.schema)
        self._wanted = Wanted(tuple(keep), columns, features=features)
        self._wanted.check(self._source.id_name)
        self._source.keeping(self._wanted.kept)
        if (self._wanted.kept or features) and self.which == STREAM:
            first = [*self._wanted.kept, *features][0]
            raise SettingError(
                f"{first!r} cannot be kept or name clusters: rows are not read again for final labels."
            )
        self.settings = pack(self._estimator, {})["settings"]
        self._identity = json.loads(json.dumps(self._source.identity()))
        self._cuts = self._estimator._cuts()
        self._sampler = self._new_sampler()
        self._sink = self._new_sink()
        self._at = START
        self._seconds = 0.0
        self._sessions = 1

    def _new_sampler(self) -> RowSampler | None:
        """Takes rows for the report, where they are not read once more for their labels."""
        if self.which == FINAL:
            return None
        return RowSampler(self._source.schema.widths, self.stream.plan.most_centres)

    def _new_sink(self) -> Any:
        labels = LabelSink(self.folder.staging, self.stream.plan.most_centres)
        return FileSink(labels, None, self.folder, self._sampler, final=self.which == FINAL)

    def _resumed_sink(self, stored: Fields) -> Any:
        stream = self.stream
        n_centres = stream.learning.n_recorded if stream.started else stream.plan.most_centres
        sink = FileSink.resumed(self.folder, n_centres, stored, self._sampler, final=self.which == FINAL)
        try:
            sink.check_rows(self._at, self.stream.n_rows)
        except FileError:
            sink.close()
            raise
        return sink

    def _also(self) -> dict[str, Any]:
        """What else a checkpoint and the report store."""
        return {"which_labels": self.which}

    def _steps(self) -> Steps:
        return LocalSteps(self.stream, self._source, self._sink, self._cuts)

    @property
    def first_row(self) -> int:
        """The row it begins or resumes at."""
        return self._at.row

    @property
    def stream(self) -> Stream:
        """The stream that learns."""
        return self._estimator._learnt

    def resume(self) -> None:
        """Go on from the checkpoint, after comparing it with the settings and the source of this run."""
        stored = read_checkpoint(self.folder)
        try:
            run = stored.part("run")
            estimator = stored.part("estimator").values
            at = Position(run.number("pass"), run.number("row"))
            seconds, sessions = run.decimal("seconds"), run.number("sessions")
            run.need(at.number + (at.row > 0) <= self._estimator.n_passes, "pass")
            if at != START and self._estimator.chunk_size == "auto":
                self._cuts.row_bytes = run.number("row_bytes", least=1)
            else:
                run.need(run.values.get("row_bytes") is None, "row_bytes")
            labels = run.part("labels")
            run.need(labels.number("pass") == at.number, "pass")
            run.need((labels.get("before") is None) == (at.number == 0), "labels")
        except FileError as problem:
            raise FileError(f"{self.folder.checkpoint} is damaged: {problem}") from problem
        self.check_settings(run.get("settings"))
        check_same(run.get("source"), self._identity, "source", self.folder)
        if "which_labels" not in run.values:  # an older run, whose labels are those of the stream
            self.which = STREAM
        choice = run.values.get("which_labels", STREAM)
        check_same(choice, self.which, "choice of labels (--stream-labels)", self.folder)
        again = unpack(estimator, dict(stored.arrays), self.folder.checkpoint)
        self.check_settings(estimator["settings"])
        self._check_stream(again, at)
        again.set_params(n_threads=self._estimator.n_threads)
        again._learnt.workspace = self.stream.workspace
        self._estimator = again
        self._at, self._seconds, self._sessions = at, seconds, sessions + 1
        begun_before = at != START and "taken" not in run.values  # by a version that took no rows
        self._sampler = None if begun_before else self._new_sampler()
        if self._sampler is not None and at != START:
            n_rows = at.row if at.number == 0 else self.stream.n_rows
            try:
                self._sampler.restore(run.part("taken"), self._source.schema, n_rows)
            except FileError as problem:
                raise FileError(f"{self.folder.checkpoint} is damaged: {problem}") from problem
        self._sink = self._resumed_sink(run)

    def check_settings(self, begun: Any) -> None:
        """Refuse to go on with a run that has other settings."""
        check_same(completed(begun, OPIMC), self.settings, "setting", self.folder)

    def _check_stream(self, again: Any, at: Position) -> None:
        """Refuse a stream that these settings and this source would not have given."""
        mine = self.stream.plan
        # Plans of older runs have no births and no map by default; `check_settings` has compared settings.
        known = {"init": mine.init, "projection": mine.projection, "adaptive": mine.adaptive}
        same = type(again) is OPIMC and replace(again._learnt.plan, **known) == mine
        if same:
            stream: Stream = again._learnt
            n_read = stream.n_rows + sum(chunk.n_rows for chunk in stream.gathered)
            at_row = n_read == at.row if at.number == 0 else stream.started and n_read >= at.row
            same = at_row and again.view_names_in_ == self._estimator.view_names_in_
        if not same:
            raise FileError(
                f"{self.folder.checkpoint} is damaged: its model is not that of these settings and rows. "
                "Start over in a new folder."
            )

    def commit(self, began: float) -> None:
        """Write the checkpoint, after all the data it refers to."""
        self._sink.sync()
        arrays: dict[str, Array] = {}
        estimator = pack(self._estimator, arrays)
        run = {
            "settings": self.settings,
            "source": self._identity,
            "pass": self._at.number,
            "row": self._at.row,
            "seconds": self._seconds + time.perf_counter() - began,
            "sessions": self._sessions,
            "row_bytes": self._cuts.row_bytes,
            **({} if self._sampler is None else {"taken": self._sampler.packed(arrays)}),
            **self._sink.packed(),
            **self._also(),
        }
        write_checkpoint(self.folder, {"run": run, "estimator": estimator}, arrays)

    def go(self, options: RunOptions) -> dict[str, Any]:
        """Read the remaining rows, write the files, and give the report."""
        began, n_passes = time.perf_counter(), self._estimator.n_passes
        try:
            for number, at in enumerate(run(self._steps(), self._sink, n_passes, self._at), 1):
                self._at = at
                stopping = options.stopping() and at.number < n_passes
                if at.row == 0 or number % options.every == 0 or stopping:
                    self.commit(began)
                state = progress(self.stream, at, n_passes, self._source.n_rows)
                options.watch(replace(state, sizes=self._sizes(settled=False)))
                if stopping:
                    where = f"row {at.row:,} of pass {at.number + 1}" if at.row else f"pass {at.number}"
                    raise StoppedError(f"stopped after {where}; everything is saved.")
            return self._finish(began, options)
        finally:
            with suppress(ViewpassError):
                self._sink.close()

    def _finish(self, began: float, options: RunOptions) -> dict[str, Any]:
        """Write the labels, the model and last the report, which marks the run as finished."""
        folder, estimator = self.folder, self._estimator
        estimator._count_features(self.stream.schema)
        sizes = self._write_labels(options)
        if self._sampler is not None:
            found = self._sampler.reasons(self.stream.model, self.stream.workspace)
            write_reasons(found, folder.sample, folder.growing)
        arrays: dict[str, Array] = {}
        meta = pack(estimator, arrays)
        frame.write(folder.model, "model", body.encode(meta, arrays), folder.growing)
        warn_of_fit(self.stream.model, int((sizes > 0).sum()))
        report = {
            **figures(self.stream.model, sizes),
            "settings": self.settings,
            "source": self._identity,
            **self._also(),
            "sessions": self._sessions,
            "seconds": round(self._seconds + time.perf_counter() - began, 3),
        }
        with replacing(folder.report, folder.growing) as file, naming(folder.report):
            file.write((json.dumps(report, indent=2) + "\n").encode())
        self._sink.close()
        folder.clear()
        return report

    def _write_labels(self, options: RunOptions) -> Integers:
        """Write the label file; gives the rows per cluster."""
        if self.which == FINAL:
            given = self._estimator, self._source, self.folder
            watch = self._labelling(options)
            return write_final_labels(*given, LABELLED_ROWS, watch, self._wanted)
        labels, ids = self._sink.labels, self._sink.ids
        path, model = self.folder.labels, self.stream.model
        name = self._source.id_name
        with replacing(path, self.folder.growing) as file, LabelFile(file, path, STREAM, name) as out:
            for block in labels.blocks() if ids is None else ():
                out.add(_clustered(block, model))
            for part in () if ids is None else ids.parts():
                out.add(_clustered(labels.ended(out.n_rows, len(part)), model), part)
        return self._cluster_sizes()

    def _labelling(self, options: RunOptions) -> Callable[[int, Integers], None]:
        """What is called while final labels are written: shows progress, and stops if asked to."""
        n_passes, n_rows = self._estimator.n_passes, self.stream.n_rows

        def watch(row: int, sizes: Integers) -> None:
            options.watch(Progress(n_passes, n_passes, row, n_rows, None, sizes))
            if options.stopping():
                raise StoppedError(f"stopped after labelling row {row:,}; everything is saved.")

        return watch

    def _sizes(self, *, settled: bool = True) -> Integers:
        """Rows per centre so far; of the model that is learning where they need not be `settled`."""
        sizes: Integers = self._sink.sizes
        if not self.stream.started:
            return sizes[:0]
        model = self.stream.model if settled else self.stream.learning
        if model.growth is None:
            return sizes[: model.total.n_clusters]
        sizes = sizes[: model.n_recorded]
        found = np.zeros(model.total.n_clusters, dtype=np.int64)
        np.add.at(found, model.centres_of(np.arange(len(sizes), dtype=np.int32)), sizes)
        return found

    def _cluster_sizes(self) -> Integers:
        """Rows per cluster."""
        model = self.stream.model
        sizes = np.zeros(model.clusters.n_clusters, dtype=np.int64)
        np.add.at(sizes, model.labels_of(np.arange(model.total.n_clusters, dtype=np.int32)), self._sizes())
        return sizes


def _clustered(rows: Array, model: Model) -> Array:
    """Rows of the label file: with their cluster in place of their anchor."""
    if model.cut is None:
        return rows
    rows = rows.copy()
    rows["cluster"] = model.labels_of(model.centres_of(rows["cluster"]))
    return rows
