"""`viewpass fit --engine dask`: the same run folder, by the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from distributed import Client

from viewpass.cli.fit import Watch, go
from viewpass.cli.progress import Display
from viewpass.cluster.distributed import DaskRun, pool_of
from viewpass.cluster.opimc import OPIMC
from viewpass.cluster.runs import Progress
from viewpass.errors import SettingError
from viewpass.sources.source import Source
from viewpass.store.folder import RunFolder

PATIENCE = 30.0  # seconds for a scheduler to answer


def run(
    estimator: OPIMC,
    data: Source,
    out: Path,
    *,
    resume: bool,
    every: int,
    as_json: bool,
    scheduler: str | None,
    n_workers: int | None,
) -> None:
    """Fit on a cluster, or go on with a fit there."""
    folder = RunFolder(out)
    fitting = DaskRun(estimator, data, folder)

    @contextmanager
    def helped(shown: Display) -> Iterator[Callable[[Progress], None]]:
        wanted = n_workers or fitting.width or None
        with connected(scheduler) as client, pool_of(client, wanted, fitting.rows) as crew:
            shown.say(f"Dask dashboard: {crew.client.dashboard_link}")
            fitting.use(crew, n_workers)
            shown.say(f"rounds of {fitting.width} chunks of {estimator.chunk_size:,} rows")
            watch = Watch(shown)

            def told(progress: Progress) -> None:
                shown.workers(fitting.rates.told())
                watch(progress)

            yield told

    go(fitting, folder, resume=resume, every=every, as_json=as_json, helped=helped)


@contextmanager
def connected(scheduler: str | None) -> Iterator[Client | None]:
    """A client of the cluster whose scheduler is there; None if none was named."""
    if scheduler is None:
        yield None
        return
    try:
        client = Client(scheduler, timeout=PATIENCE)
    except (OSError, ValueError) as problem:
        told = " ".join(str(problem).split())
        raise SettingError(f"--scheduler {scheduler}: no scheduler answers there ({told}).") from problem
    with client:
        yield client
