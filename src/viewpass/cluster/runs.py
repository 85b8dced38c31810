"""A fit in a folder: labels on disk, checkpoints on the way, the same files after any crash."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from viewpass.cluster.figures import figures
from viewpass.cluster.opimc import OPIMC
from viewpass.cluster.persistence import pack, unpack
from viewpass.cluster.validation import check_whole
from viewpass.core.model import Model
from viewpass.core.stream import Stream
from viewpass.engine.local import too_few
from viewpass.engine.resumable import Position, advance
from viewpass.errors import DataError, FileError, ViewpassError
from viewpass.kernels.grid import Array, Integers
from viewpass.sources.source import Source
from viewpass.store.checkpoint import check_same, read_checkpoint, write_checkpoint
from viewpass.store.container import body, frame
from viewpass.store.container.fields import Fields
from viewpass.store.container.files import naming, replacing
from viewpass.store.folder import RunFolder
from viewpass.store.labels.appended import Extent
from viewpass.store.labels.parquet import IdSink, LabelFile
from viewpass.store.labels.staging import LabelSink


class StoppedError(ViewpassError):
    """A run was asked to stop; everything up to here is saved."""


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    at: Position
    n_passes: int
    n_rows: int | None  # of the data, where known
    loss: float | None
    sizes: Integers
    began: Position


@dataclass(frozen=True)
class RunOptions:
    """What whoever runs it wants besides the result."""

    every: int = 50
    watch: Callable[[Progress], None] = lambda progress: None
    stopping: Callable[[], bool] = lambda: False


class Staging:
    """Labels and ids of a run until it ends: the sink of its engine."""

    def __init__(self, labels: LabelSink, ids: IdSink | None, folder: RunFolder) -> None:
        self.labels, self.ids, self._folder = labels, ids, folder
        self.begin, self.end = labels.begin, labels.end
        self.put, self.last = labels.put, labels.last

    def put_ids(self, ids: Array | None) -> None:
        """Keep the ids of the next rows."""
        if ids is None:
            return
        if self.ids is None:
            self.ids = IdSink(self._folder.ids)
        self.ids.put(ids)

    def sync(self) -> None:
        """Have all of it on the disk."""
        self.labels.sync()
        if self.ids is not None:
            self.ids.sync()

    def close(self) -> None:
        """Let go of the files."""
        self.labels.close()
        if self.ids is not None:
            self.ids.close()

    def packed(self) -> dict[str, Any]:
        """What a checkpoint must know."""
        return {"labels": self.labels.packed(), "ids": self.ids and self.ids.extent.packed()}

    @classmethod
    def resumed(cls, folder: RunFolder, n_clusters: int, stored: Fields) -> Staging:
        """As the checkpoint says it was."""
        labels = LabelSink.resumed(folder.staging, n_clusters, stored.part("labels"))
        ids = None
        try:
            if stored.get("ids") is not None:
                ids = IdSink(folder.ids, Extent.unpacked(stored.part("ids")))
        except FileError:
            labels.close()
            raise
        return cls(labels, ids, folder)


class Run:
    """One estimator over one source, in one folder."""

    def __init__(self, estimator: OPIMC, data: Source, folder: RunFolder) -> None:
        estimator._validate_params()
        check_whole(estimator.n_clusters, "n_clusters")
        self.folder = folder
        self._estimator = estimator._blank()
        self._source = self._estimator._read(data, None, reset=True)
        stream = self._estimator._learnt = self._estimator._new_stream(self._source)
        least = stream.plan.n_clusters or 1
        if self._source.n_rows is not None and self._source.n_rows < least:
            raise DataError(too_few(self._source.n_rows, least))
        self.settings = pack(self._estimator, {})["settings"]
        self._identity = json.loads(json.dumps(self._source.identity()))
        self._staging = self._new_staging()
        self._at = Position()
        self._seconds = 0.0
        self._sessions = 1

    def _new_staging(self) -> Any:
        labels = LabelSink(self.folder.staging, self.stream.plan.most_centres)
        return Staging(labels, None, self.folder)

    def _staging_again(self, stored: Fields) -> Any:
        return Staging.resumed(self.folder, self.stream.plan.most_centres, stored)

    def _also(self) -> dict[str, Any]:
        """What else a checkpoint and the report must know."""
        return {}

    def _steps(self) -> Iterator[Position]:
        settings = self._estimator
        return advance(
            *(self.stream, self._source, self._staging),
            chunk_size=settings.chunk_size,
            n_passes=settings.n_passes,
            at=self._at,
        )

    @property
    def stream(self) -> Stream:
        """What learns."""
        return self._estimator._learnt

    def resume(self) -> None:
        """Go on from the checkpoint, after it was compared with what this run was given."""
        stored = read_checkpoint(self.folder)
        try:
            run = stored.part("run")
            estimator = stored.part("estimator").values
            at = Position(run.number("pass"), run.number("row"))
            seconds, sessions = run.decimal("seconds"), run.number("sessions")
            run.need(at.number + (at.row > 0) <= self._estimator.n_passes, "pass")
            labels = run.part("labels")
            run.need(labels.number("pass") == at.number, "pass")
            run.need((labels.get("before") is None) == (at.number == 0), "labels")
        except FileError as problem:
            raise FileError(f"{self.folder.checkpoint} is damaged: {problem}") from problem
        check_same(run.get("settings"), self.settings, "setting", self.folder)
        check_same(run.get("source"), self._identity, "source", self.folder)
        again = unpack(estimator, dict(stored.arrays), self.folder.checkpoint)
        again.set_params(n_threads=self._estimator.n_threads)
        again._learnt.workspace = self.stream.workspace
        self._estimator = again
        self._at, self._seconds, self._sessions = at, seconds, sessions + 1
        self._staging = self._staging_again(run)

    def commit(self, began: float) -> None:
        """Write the checkpoint, after all that it vouches for."""
        self._staging.sync()
        arrays: dict[str, Array] = {}
        estimator = pack(self._estimator, arrays)
        run = {
            "settings": self.settings,
            "source": self._identity,
            "pass": self._at.number,
            "row": self._at.row,
            "seconds": self._seconds + time.perf_counter() - began,
            "sessions": self._sessions,
            **self._staging.packed(),
            **self._also(),
        }
        write_checkpoint(self.folder, {"run": run, "estimator": estimator}, arrays)

    def go(self, orders: RunOptions) -> dict[str, Any]:
        """Read what is left, write what is asked for, and give the report."""
        began, first = time.perf_counter(), self._at
        settings = self._estimator
        try:
            for number, at in enumerate(self._steps(), 1):
                self._at = at
                stopping = orders.stopping() and at.number < settings.n_passes
                if at.row == 0 or number % orders.every == 0 or stopping:
                    self.commit(began)
                orders.watch(self._progress(first))
                if stopping:
                    raise StoppedError(f"stopped after {self._told(at)}; everything is saved.")
            return self._finish(began)
        finally:
            with suppress(ViewpassError):
                self._staging.close()

    def _told(self, at: Position) -> str:
        if at.row:
            return f"row {at.row:,} of pass {at.number + 1}"
        return f"pass {at.number}"

    def _progress(self, began: Position) -> Progress:
        stream = self.stream
        curve = stream.model.loss_curve if stream.started else []
        n_rows = self._source.n_rows if self._at.number == 0 else stream.n_rows
        return Progress(
            self._at,
            self._estimator.n_passes,
            n_rows,
            curve[-1] if curve else None,
            self._sizes(),
            began,
        )

    def _finish(self, began: float) -> dict[str, Any]:
        """Write the labels, the model, and last the report: with it the run is finished."""
        folder, estimator = self.folder, self._estimator
        estimator.n_features_in_ = sum(width or 0 for width in self.stream.schema.widths)
        self._write_labels()
        arrays: dict[str, Array] = {}
        meta = pack(estimator, arrays)
        frame.write(folder.model, "model", body.encode(meta, arrays), folder.growing)
        report = {
            **figures(self.stream.model, self._cluster_sizes()),
            "settings": self.settings,
            "source": self._identity,
            **self._also(),
            "sessions": self._sessions,
            "seconds": round(self._seconds + time.perf_counter() - began, 3),
        }
        with replacing(folder.report, folder.growing) as file, naming(folder.report):
            file.write((json.dumps(report, indent=2) + "\n").encode())
        self._staging.close()
        folder.clear()
        return report

    def _write_labels(self) -> None:
        labels, ids = self._staging.labels, self._staging.ids
        path, model = self.folder.labels, self.stream.model
        with replacing(path, self.folder.growing) as file, LabelFile(file, path) as out:
            if ids is None:
                for block in labels.blocks():
                    out.add(_clustered(block, model))
                return
            for part in ids.parts():
                out.add(_clustered(labels.ended(out.n_rows, len(part)), model), part)

    def _sizes(self) -> Integers:
        """Rows of each centre so far."""
        sizes: Integers = self._staging.labels.sizes
        return sizes[: self.stream.model.total.n_clusters] if self.stream.started else sizes[:0]

    def _cluster_sizes(self) -> Integers:
        """Rows of each cluster."""
        model = self.stream.model
        sizes = np.zeros(model.clusters.n_clusters, dtype=np.int64)
        np.add.at(sizes, model.labels_of(np.arange(model.total.n_clusters, dtype=np.int32)), self._sizes())
        return sizes


def _clustered(rows: Array, model: Model) -> Array:
    """Rows as the label file has them: with their cluster where they were kept with their anchor."""
    if model.cut is None:
        return rows
    rows = rows.copy()
    rows["cluster"] = model.labels_of(rows["cluster"])
    return rows
