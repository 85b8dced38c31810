"""A cluster of processes on this machine, for those who bring none."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import dask
from distributed import Client, LocalCluster

from viewpass.kernels.threads import available_threads

# A worker that died is started again, which on a busy machine takes longer than a cluster waits by itself.
PATIENT = {"distributed.deploy.lost-worker-timeout": "10 minutes"}


@contextmanager
def local_client(n_workers: int | None = None) -> Iterator[Client]:
    """Workers of one thread each, on loopback; nothing of them is left afterwards."""
    with (
        tempfile.TemporaryDirectory(prefix="viewpass-dask-") as folder,
        dask.config.set({"temporary-directory": folder, **PATIENT}),
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
        Client(cluster) as client,
    ):
        yield client
