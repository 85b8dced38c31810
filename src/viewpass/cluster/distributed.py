"""`vp.dask`: fit and predict on a Dask cluster, with the same result as on one machine."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from viewpass.cluster.base import logging_progress
from viewpass.cluster.notices import warn_of_fit
from viewpass.cluster.opimc import OPIMC
from viewpass.cluster.runs.reason_columns import completed, confidence_columns, staged_columns
from viewpass.cluster.runs.run import Run, RunOptions
from viewpass.cluster.runs.sampled_rows import RowSampler, below, write_reasons
from viewpass.core.model import Model
from viewpass.core.reasons.gathering import Gathered, needed, recalibrate
from viewpass.core.stream import Stream
from viewpass.engine.run import Callback, check_passes, run_to_end
from viewpass.errors import SettingError, missing_extra
from viewpass.kernels.grid import Integers, Labels
from viewpass.sources.source import Source
from viewpass.store.container.fields import Fields
from viewpass.store.container.files import naming
from viewpass.store.folder import RunFolder

try:
    import distributed  # noqa: F401
except ImportError:
    raise missing_extra("distributed", "dask", "vp.dask") from None

from viewpass.engine.dask import tasks
from viewpass.engine.dask.collections import source_of
from viewpass.engine.dask.driver import DaskSteps, MemorySink
from viewpass.engine.dask.predict import label_blocks
from viewpass.engine.dask.rows import WorkerRows, rows_of
from viewpass.engine.dask.worker_pool import WorkerPool, local_client

logger = logging.getLogger("viewpass")

__all__ = ["fit", "predict"]


def fit(
    model: OPIMC,
    data: Any,
    client: Any = None,
    *,
    n_workers: int | None = None,
    observed: Any = None,
    views: Any = None,
    id: str | None = None,
    out: Any = None,
    resume: bool = False,
    checkpoint_every: int = 10,
    callback: Callback | None = None,
    stream_labels: bool = False,
    keep: Sequence[str] = (),
    name_by: Sequence[str] = (),
) -> OPIMC:
    """Fit a model on the workers of a Dask cluster.

    Every chunk is divided among `n_workers` workers. The result is that of `model.fit` with the same
    settings, to the bit, whatever the workers do and however many there are.

    Parameters
    ----------
    model : OPIMC
        Its settings; it becomes the fitted model. Larger chunks ask the workers less often.
    data : source, list or dict of Dask arrays, Dask DataFrame, or as for `OPIMC.fit`
        Files of `vp.scan` are read by the workers, which must see them under the same names. Arrays
        in this process's memory are sent to the workers.
    client : distributed.Client, optional
        By default a cluster of processes is started on this machine for the time of the fit.
    n_workers : int, optional
        Blocks that a chunk is divided into, and processes of that cluster. By default as many as the
        cluster has workers when the fit begins. Workers that come or go do not change it.
    observed : (n, n_views) array of bool, optional
        With arrays: which views a row has.
    views, id : optional
        With a Dask DataFrame: as for `vp.scan`.
    out : path, optional
        A folder that every worker can write to. It gets model.viewpass, labels (Parquet parts and
        their manifest) and run.json as `viewpass fit` writes them, and no label travels. Without it
        `stream_labels_` (and `labels_`) are brought here, four bytes per row.
    resume : bool, default=False
        Go on with the run in `out`, if there is one.
    checkpoint_every : int, default=10
        Chunks between checkpoints in `out`.
    callback : callable, optional
        Called with the progress after every chunk, as in `OPIMC.fit`; without `out`.
    stream_labels : bool, default=False
        With `out`: write the labels as the stream decided them (`stream_labels_`), not the final ones
        (`labels_`), for which the rows are read once more.

    keep, name_by : list of str, optional
        With `out`: columns of the table to have beside the labels, and columns (or views whose columns have
        names) to name clusters by.

    Returns
    -------
    OPIMC
        The model.

    Examples
    --------
    >>> import viewpass as vp                                            # doctest: +SKIP
    >>> items = vp.scan("items/*.parquet", id="item_id")                 # doctest: +SKIP
    >>> model = vp.OPIMC(n_clusters=10)                                  # doctest: +SKIP
    >>> vp.dask.fit(model, items, n_workers=4, out="run")                # doctest: +SKIP
    """
    _check_count(n_workers)
    source = source_of(data, observed, views, id)
    if source is not data:
        observed = None
    if out is not None:
        if observed is not None or not isinstance(source, Source):
            raise SettingError("out= needs files or Dask collections: give vp.scan(...) or Dask arrays.")
        if callback is not None:
            raise SettingError(
                "callback= does not work with out=: stop such a run with Ctrl-C and resume it."
            )
        options = {"stream_labels": stream_labels, "keep": keep, "name_by": name_by}
        run = DaskRun(model, source, RunFolder(Path(out)), **options)
        return _fit_into(run, model, client, n_workers, resume, checkpoint_every)
    if stream_labels:
        raise SettingError("stream_labels= needs out=: without a folder, both kinds are attributes.")
    if keep or name_by:
        raise SettingError("keep= and name_by= need out=: without a folder, use labels_frame.")
    fresh, source, _ = model._prepare(source, observed)
    check_passes(source, model.n_passes)
    stream, rows = fresh._learnt, rows_of(source)
    _check_plan(stream)
    with logging_progress(model.verbose), pool_of(client, n_workers, rows) as pool:
        sink = MemorySink(rows.n_rows)
        width = n_workers or width_of(pool)
        cuts = fresh._cuts()
        steps = DaskSteps(pool, rows, source.schema, stream, sink, cuts, width, model.n_passes)
        run_to_end(steps, sink, model.n_passes, n_rows=rows.n_rows, callback=callback)
        fresh._take_centres_of_rows(stream.model.centres_of(sink.labels[: stream.n_rows]))
        if model.compute_labels:
            sample = list[Gathered]() if needed(stream.model) else None
            fresh.labels_ = _labels(pool, rows, fresh, -(-cuts.largest // width), sample)[: stream.n_rows]
            recalibrate(stream.model, sample or (), fresh._workspace())
    fresh._count_features(stream.schema)
    ids = source.row_ids if sink.row_ids is None else sink.row_ids
    if ids is not None:
        fresh.row_ids_ = ids[: stream.n_rows]
    warn_of_fit(stream.model, fresh._n_found())
    model._become(fresh)
    return model


def predict(
    model: Any,
    data: Any,
    client: Any = None,
    *,
    n_workers: int | None = None,
    observed: Any = None,
    views: Any = None,
    id: str | None = None,
    chunk_size: int = 50_000,
    out: Any = None,
) -> Labels | None:
    """Label rows on the workers of a Dask cluster; the labels are those of `model.predict`.

    Parameters
    ----------
    model : a fitted OPIMC or IMC
    data, client, n_workers, observed, views, id
        As for `fit`.
    chunk_size : int, default=50000
        Rows of a task.
    out : path, optional
        A new folder that every worker can write to: it gets the labels as Parquet parts, and their
        manifest when all are written. No label travels.

    Returns
    -------
    labels : (n,) array of int32, or None with `out`
    """
    check_is_fitted(model)
    _check_count(n_workers)
    source = source_of(data, observed, views, id)
    source = model._read(source, None if source is not data else observed, reset=False)
    rows = rows_of(source)
    with pool_of(client, n_workers, rows) as pool:
        if out is None:
            return _labels(pool, rows, model, chunk_size)
        from viewpass.store.labels.formats import FINAL
        from viewpass.store.labels.parts import write_manifest

        home = Path(out).absolute()
        if home.exists() and any(home.iterdir()):
            raise SettingError(f"out={str(out)!r}: the folder is not empty. Name another one.")
        home.mkdir(parents=True, exist_ok=True)
        learnt = model._fitted_model()
        order = tasks.PartOrder(str(home), source.id_name, confidence_columns)
        blocks = label_blocks(pool, rows, learnt, chunk_size, tasks.write_clusters, order)
        write_manifest(home, [part for _, part in blocks], FINAL)
    return None


def _labels(
    pool: WorkerPool, rows: WorkerRows, model: Any, size: int, sample: list[Gathered] | None = None
) -> Labels:
    blocks = _sampled(pool, rows, model._fitted_model(), size, tasks.Job(tasks.label_block, None), sample)
    return np.concatenate([np.empty(0, dtype=np.int32), *(found for _, found in blocks)])


def _sampled(
    pool: WorkerPool,
    rows: WorkerRows,
    model: Model,
    size: int,
    order: tasks.Job,
    sample: list[Gathered] | None,
) -> Iterator[tuple[int, Any]]:
    """Run a task for every block; `sample` gets what sampled rows show."""
    if sample is None:
        yield from label_blocks(pool, rows, model, size, order.task, order.own)
        return
    for start, (found, part) in label_blocks(pool, rows, model, size, tasks.with_sample, order):
        sample.append(part)
        yield start, found


def _check_count(n_workers: Any) -> None:
    if n_workers is not None and (
        isinstance(n_workers, bool) or not isinstance(n_workers, int) or n_workers < 1
    ):
        raise SettingError(f"n_workers={n_workers!r}: a number of at least 1 was expected.")


def _check_plan(stream: Stream) -> None:
    """Refuse what needs rows of other chunks at hand, before anything starts."""
    if stream.plan.weights is not None or stream.plan.reservoir:
        what = "view_weights" if stream.plan.weights is not None else "reservoir"
        raise SettingError(f"{what}= is not for a cluster: leave it out, or fit on one machine.")


@contextmanager
def pool_of(client: Any, n_workers: int | None, rows: WorkerRows) -> Iterator[WorkerPool]:
    """The workers of a client, or of a cluster on this machine for the time being."""
    if client is None:
        with local_client(n_workers) as own, pool_of(own, n_workers, rows) as pool:
            yield pool
        return
    pool = WorkerPool(client)
    pool.place = rows.place
    logger.info("the Dask dashboard is at %s", client.dashboard_link)
    with pool.working():
        yield pool


def width_of(pool: WorkerPool) -> int:
    """Chunks per round by default: one for each current worker."""
    width = len(pool.workers())
    if not width:
        raise SettingError("the cluster has no worker yet: start some, or say how many with n_workers=.")
    return width


class Rates:
    """Rows per second of each worker."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._seconds: dict[str, float] = {}

    def __call__(self, worked: Sequence[tasks.Worked]) -> None:
        """Add what workers have done."""
        for one in worked:
            self._rows[one.worker] = self._rows.get(one.worker, 0) + one.n_rows
            self._seconds[one.worker] = self._seconds.get(one.worker, 0.0) + one.seconds

    def by_worker(self) -> dict[str, float]:
        """By address; rows count each time they are assigned."""
        return {
            worker: self._rows[worker] / max(self._seconds[worker], 1e-9) for worker in sorted(self._rows)
        }


MOST_WORKERS = 10**6  # that a checkpoint may name


class DaskRun(Run):
    """A run in a folder whose rows are read, and whose labels are written, by workers."""

    pool: WorkerPool | None = None
    width = 0

    def __init__(self, estimator: OPIMC, data: Source, folder: RunFolder, **options: Any) -> None:
        super().__init__(estimator, data, folder, **options)
        _check_plan(self.stream)
        self.rows = rows_of(self._source)
        self.rates = Rates()

    def use(self, pool: WorkerPool, n_workers: int | None) -> None:
        """Work with these workers; a run that goes on keeps the width it was begun with."""
        self.pool = pool
        pool.place = self.rows.place
        self.width = self.width or n_workers or width_of(pool)

    def _new_sink(self) -> Any:
        return self._said(self._sink_class()(self.folder, *self._sink_sizes(), staged=self._staged))

    def _resumed_sink(self, stored: Fields) -> Any:
        self.width = stored.number("width", least=1, most=MOST_WORKERS)
        given = self.folder, *self._sink_sizes(), stored.part("labels")
        return self._said(self._sink_class().resumed(*given, staged=self._staged))

    def _sink_class(self) -> Any:
        from viewpass.engine.dask.part_sink import SamplingPartSink, WorkerPartSink

        return WorkerPartSink if self._sampler is None else SamplingPartSink

    def _said(self, sink: Any) -> Any:
        sink.with_distances, sink.id_name = self.which == "stream", self._source.id_name
        if self._sampler is not None:
            limit = self._sampler.limit(rows_of(self._source).n_rows)
            sink.numbers, sink.keep = partial(below, limit=limit), self._sampler.put
        return sink

    def _sink_sizes(self) -> tuple[int, int]:
        n_recorded = self.stream.learning.n_recorded if self.stream.started else 0
        return max(self.stream.plan.most_centres, n_recorded), self._estimator.n_passes

    @property
    def _staged(self) -> bool:
        return self.which == "final" or self.stream.plan.consensus != "plain"

    def _also(self) -> dict[str, Any]:
        return {**super()._also(), "width": self.width}

    def _steps(self) -> DaskSteps:
        assert self.pool is not None
        settings = self._estimator
        return DaskSteps(
            *(self.pool, self.rows, self._source.schema, self.stream, self._sink),
            *(self._cuts, self.width, settings.n_passes, self.rates),
        )

    def _write_labels(self, options: RunOptions) -> Integers:
        if not self._staged:
            self._sink.commit()
            return self._cluster_sizes()
        assert self.pool is not None
        model, home = self.stream.model, self.folder.parts
        with naming(home):
            home.mkdir(exist_ok=True)
        if self.which == "final":
            return self._write_final(options)
        clusters = model.labels_of(model.centres_of(np.arange(model.n_recorded, dtype=np.int32)))
        given = (str(home.absolute()), clusters, model.clusters.n_clusters)
        asked = [self.pool.submit(tasks.cluster_part, part, *given) for part in self._sink.ended()]
        self._sink.commit(self.pool.gather(asked))
        return self._cluster_sizes()

    def _write_final(self, options: RunOptions) -> Integers:
        """Let the workers read the rows once more and write their labels under the model."""
        from viewpass.store.labels.parts import PartLabels, write_manifest

        assert self.pool is not None
        model, watch, home = self.stream.model, self._labelling(options), self.folder.parts
        n_clusters, size = model.clusters.n_clusters, -(-self._cuts.largest // self.width)
        parts, sizes = [], np.zeros(n_clusters, dtype=np.int64)
        wanted, sample = self._wanted, list[Gathered]() if needed(model) else None
        staged = sample is not None or wanted.named
        if staged:  # how sure labels are, and names, are known when all rows have been read
            home = self.folder.staging / "final"
            with naming(home):
                home.mkdir(exist_ok=True)
        columns = staged_columns if staged else confidence_columns
        order = tasks.PartOrder(str(home.absolute()), self._source.id_name, columns)
        sampler = RowSampler.of(model)
        chosen = partial(below, limit=sampler.limit(self.stream.n_rows))
        given = tasks.Job(tasks.with_rows, tasks.Job(tasks.write_clusters, order, chosen)), sample
        wanted.check(self._source.id_name, model)
        rows = rows_of(self._source.keeping(wanted.kept)) if wanted.kept else self.rows
        for _, (part, taken) in _sampled(self.pool, rows, model, size, *given):
            parts.append(part)
            if taken is not None:
                sampler.put(*taken)
            sizes += np.array(part.clusters)
            watch(part.start + part.n_rows, sizes)
        workspace = self._estimator._workspace()
        if staged:
            recalibrate(model, sample or (), workspace)
        write_reasons(sampler.reasons(model, workspace), self.folder.sample, self.folder.growing)
        if staged:
            labels = [PartLabels(str(home.absolute()), part) for part in parts]
            names = None
            if wanted.named:
                names = wanted.names(model, (one.columns(["cluster", *wanted.name_by]) for one in labels))
            learnt, views = model.calibration, model.schema.names
            change = partial(completed, n_clusters=n_clusters, learnt=learnt, names=names, views=views)
            into = str(self.folder.parts.absolute())
            asked = [self.pool.submit(tasks.change_part, one, into, change) for one in labels]
            parts = self.pool.gather(asked)
        write_manifest(self.folder.parts, parts, self.which, self.folder.growing)
        return sizes

    @property
    def estimator(self) -> OPIMC:
        """The model."""
        return self._estimator


def _fit_into(
    run: DaskRun, model: OPIMC, client: Any, n_workers: int | None, resume: bool, every: int
) -> OPIMC:
    folder = run.folder
    folder.open(resume=resume)
    try:
        if folder.finished:
            raise SettingError(
                f"out={str(folder.path)!r}: the run is finished already. vp.load reads its model."
            )
        if folder.begun:
            run.resume()
        with (
            logging_progress(model.verbose),
            pool_of(client, n_workers or run.width or None, run.rows) as pool,
        ):
            run.use(pool, n_workers)
            run.go(RunOptions(every))
    finally:
        folder.close()
    fresh = run.estimator
    model._become(fresh)
    return model
