"""`viewpass fit --engine dask|ray|spark`: the same run folder, written by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from viewpass.cli.fit import ShowProgress, go
from viewpass.cli.progress import Display
from viewpass.engines.clusters import connected
from viewpass.engines.progress import Progress
from viewpass.estimators.viewpass import ViewPass
from viewpass.runs.distributed import DistributedRun
from viewpass.runs.folder import RunFolder
from viewpass.runs.run import Run
from viewpass.sources.source import Source


class Where(NamedTuple):
    """The cluster that was asked for."""

    name: str
    address: str | None
    n_workers: int | None


def run(
    estimator: ViewPass,
    data: Source,
    out: Path,
    about: Mapping[str, Any],
    how: Mapping[str, Any],
    where: Where,
) -> None:
    """Fit on a cluster, or go on with a fit there."""
    folder = RunFolder(out)
    fitting = DistributedRun(estimator, data, folder, **about)

    @contextmanager
    def helped(shown: Display, _: Run) -> Iterator[Callable[[Progress], None]]:
        watch = ShowProgress(shown, 0)
        with connected(*where) as cluster:
            if cluster.about:
                shown.say(cluster.about)
            fitting.use(cluster.engine, watch)
            yield watch

    go(fitting, folder, helped=helped, **how)
