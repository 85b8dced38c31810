"""`viewpass fit --engine dask`: the same run folder, written by the workers of a Dask cluster."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from distributed import Client

from viewpass.cli.fit import ShowProgress, go
from viewpass.cli.progress import Display
from viewpass.cluster.distributed import DaskRun, pool_of
from viewpass.cluster.opimc import OPIMC
from viewpass.cluster.runs.run import Run
from viewpass.engine.run import Progress
from viewpass.errors import SettingError
from viewpass.sources.source import Source
from viewpass.store.folder import RunFolder

CONNECT_SECONDS = 30.0


def run(
    estimator: OPIMC,
    data: Source,
    out: Path,
    *,
    resume: bool,
    every: int,
    as_json: bool,
    stream_labels: bool,
    keep: Sequence[str],
    name_by: Sequence[str],
    scheduler: str | None,
    n_workers: int | None,
    report: bool,
) -> None:
    """Fit on a cluster, or go on with a fit there."""
    _silence()
    folder = RunFolder(out)
    options = {"stream_labels": stream_labels, "keep": keep, "name_by": name_by}
    fitting = DaskRun(estimator, data, folder, **options)

    @contextmanager
    def helped(shown: Display, _: Run) -> Iterator[Callable[[Progress], None]]:
        wanted = n_workers or fitting.width or None
        with connected(scheduler) as client, pool_of(client, wanted, fitting.rows) as pool:
            shown.say(f"Dask dashboard: {pool.client.dashboard_link}")
            fitting.use(pool, n_workers)
            shown.say(f"chunks in {fitting.width} blocks")
            watch = ShowProgress(shown, fitting.first_row)

            def show(progress: Progress) -> None:
                shown.workers(fitting.rates.by_worker())
                watch(progress)

            yield show

    go(fitting, folder, resume=resume, every=every, as_json=as_json, helped=helped, report=report)


@contextmanager
def connected(scheduler: str | None) -> Iterator[Client | None]:
    """A client of the cluster with this scheduler; None if none was named."""
    if scheduler is None:
        yield None
        return
    try:
        client = Client(scheduler, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as problem:
        reason = " ".join(str(problem).split())
        raise SettingError(f"--scheduler {scheduler}: no scheduler answers there ({reason}).") from problem
    with client:
        yield client


def _silence() -> None:
    """Errors are reported once, in one line; Dask logs the traceback of every connection that it loses."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
