"""`viewpass fit --engine dask`: the same run folder, written by the workers of a Dask cluster."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from distributed import Client

from viewpass.cli.fit import ShowProgress, go
from viewpass.cli.progress import Display
from viewpass.engines.progress import Progress
from viewpass.errors import SettingError
from viewpass.estimators.dask import workers_of
from viewpass.estimators.viewpass import ViewPass
from viewpass.runs.dask import DaskRun
from viewpass.runs.folder import RunFolder
from viewpass.runs.run import Run
from viewpass.sources.source import Source

CONNECT_SECONDS = 30.0


def run(
    estimator: ViewPass,
    data: Source,
    out: Path,
    about: Mapping[str, Any],
    how: Mapping[str, Any],
    scheduler: str | None,
    n_workers: int | None,
) -> None:
    """Fit on a cluster, or go on with a fit there."""
    _silence()
    folder = RunFolder(out)
    fitting = DaskRun(estimator, data, folder, **about)

    @contextmanager
    def helped(shown: Display, _: Run) -> Iterator[Callable[[Progress], None]]:
        watch = ShowProgress(shown, 0)
        with connected(scheduler) as client, workers_of(client, n_workers) as workers:
            shown.say(f"Dask dashboard: {workers.client.dashboard_link}")
            fitting.use(workers, watch)
            yield watch

    go(fitting, folder, helped=helped, **how)


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
