"""A cluster of processes on this machine, for those who bring none."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import dask
from distributed import Client, LocalCluster

from viewpass.kernels.threads import available_threads

SETTINGS = {
    # A worker that died is started again, on a busy machine later than a cluster waits by itself.
    "distributed.deploy.lost-worker-timeout": "10 minutes",
    # Memory is worked in as locally: Dask would have all of it given back at once, to be asked for again.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
}


@contextmanager
def local_client(n_workers: int | None = None) -> Iterator[Client]:
    """Workers of one thread each, on loopback; nothing of them is left afterwards."""
    with (
        tempfile.TemporaryDirectory(prefix="viewpass-dask-") as folder,
        dask.config.set({"temporary-directory": folder, **SETTINGS}),
        LocalCluster(
            n_workers=n_workers or available_threads(),
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address=None,
            local_directory=folder,
            preload=["viewpass.engine.dask.tasks"],  # what takes long to import, before there is work
        ) as cluster,
        Client(cluster, direct_to_workers=True) as client,
    ):
        yield client
