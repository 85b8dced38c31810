"""Ray clusters: one on this machine for the time of a fit, or one that is running."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

import ray
from ray._private import ray_constants

from viewpass.engines.clusters import Cluster, check_workers
from viewpass.engines.ray.engine import RayEngine
from viewpass.engines.scratch import temporary_folder
from viewpass.errors import SettingError
from viewpass.kernels.threads import available_threads

QUIET = {"logging_level": logging.ERROR, "log_to_driver": False}
STORE_BYTES = 2**28  # of results; what does not fit goes to the temporary folder


@contextmanager
def connected(address: str | None, n_workers: int | None) -> Iterator[Cluster]:
    """The cluster this process is connected to, that of an address, or one for the time being."""
    check_workers(n_workers)
    if ray.is_initialized():
        yield Cluster(RayEngine)
        return
    if address is not None:
        try:
            ray.init(address=address, **QUIET)
        except (ConnectionError, ValueError, RuntimeError) as problem:
            reason = " ".join(str(problem).split())
            raise SettingError(
                f"--scheduler {address}: no Ray cluster answers there ({reason})."
            ) from problem
        try:
            yield Cluster(RayEngine)
        finally:
            ray.shutdown()
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing leaves this machine
    with temporary_folder() as folder, _loopback():
        ray.init(
            num_cpus=n_workers or available_threads(),
            include_dashboard=False,
            object_store_memory=STORE_BYTES,
            _node_ip_address="127.0.0.1",
            _temp_dir=folder,
            **QUIET,
        )
        try:
            yield Cluster(RayEngine)
        finally:
            ray.shutdown()


@contextmanager
def _loopback() -> Iterator[None]:
    """Ray's processes listen on 127.0.0.1 only.

    On Linux, Ray replaces that address by the machine's own, and with any other, 127.0.0.2 too, it listens
    everywhere. It does not on systems where it supports no clusters of machines; so it and the processes it
    starts are told that this is one: by a documented variable, and what Ray read of it when it was imported.
    """
    name = ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR
    before, enabled = os.environ.get(name), ray_constants.ENABLE_RAY_CLUSTER
    os.environ[name], ray_constants.ENABLE_RAY_CLUSTER = "0", False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = enabled
        del os.environ[name]
        if before is not None:
            os.environ[name] = before
