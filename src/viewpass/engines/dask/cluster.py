"""Dask clusters: one on this machine for the time of a fit, or that of a scheduler or client."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from distributed import Client

from viewpass.engines.clusters import Cluster, check_workers
from viewpass.engines.dask.engine import DaskEngine
from viewpass.engines.dask.workers import Workers, local_client
from viewpass.errors import SettingError

logger = logging.getLogger("viewpass")

CONNECT_SECONDS = 30.0


@contextmanager
def connected(address: str | None, n_workers: int | None) -> Iterator[Cluster]:
    """The cluster with this scheduler; one on this machine for the time being if none was named."""
    _silence()
    with _client(address) as client, workers_of(client, n_workers) as workers:
        yield Cluster(partial(DaskEngine, workers), f"Dask dashboard: {workers.client.dashboard_link}")


@contextmanager
def workers_of(client: Any, n_workers: int | None = None) -> Iterator[Workers]:
    """The workers of a client, or of a cluster on this machine for the time being."""
    check_workers(n_workers)
    if client is None:
        with local_client(n_workers) as own, workers_of(own) as workers:
            yield workers
        return
    logger.info("the Dask dashboard is at %s", client.dashboard_link)
    yield Workers(client)


@contextmanager
def _client(address: str | None) -> Iterator[Client | None]:
    if address is None:
        yield None
        return
    try:
        client = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as problem:
        reason = " ".join(str(problem).split())
        raise SettingError(f"--scheduler {address}: no scheduler answers there ({reason}).") from problem
    with client:
        yield client


def _silence() -> None:
    """Errors are reported once, in one line; Dask logs the traceback of every connection that it loses."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
