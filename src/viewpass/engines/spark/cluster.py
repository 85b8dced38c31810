"""Spark sessions: one on this machine for the time of a fit, or one that is running."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from viewpass.engines.clusters import Cluster, check_workers
from viewpass.engines.scratch import temporary_folder
from viewpass.engines.spark.engine import SparkEngine
from viewpass.errors import EngineError
from viewpass.kernels.threads import available_threads

TRIES = 4  # of a task, as on a cluster
LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "8192",
}


@contextmanager
def connected(address: str | None, n_workers: int | None) -> Iterator[Cluster]:
    """The session of this process, one at a master, or one on this machine for the time being."""
    check_workers(n_workers)
    running = _running()
    if running is not None:
        yield Cluster(partial(SparkEngine, running))
        return
    with temporary_folder() as folder, _session(address, n_workers, folder) as session:
        yield Cluster(partial(SparkEngine, session))


def _running() -> Any:
    """The session that is active in this thread, or the one that another thread has started."""
    try:
        return SparkSession.active()
    except PySparkException:
        return None


@contextmanager
def _session(address: str | None, n_workers: int | None, folder: str) -> Iterator[Any]:
    """A session that ends with the block, its Java process with it."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if address is None:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName("viewpass").config("spark.log.level", "ERROR")
    builder = builder.config("spark.local.dir", folder).config(
        "spark.sql.warehouse.dir", f"{folder}/warehouse"
    )
    if address is None:
        builder = builder.master(f"local[{n_workers or available_threads()},{TRIES}]")
        builder = builder.config("spark.driver.extraJavaOptions", f"-Djava.io.tmpdir={folder}")
        for name, value in LOCAL.items():
            builder = builder.config(name, value)
    else:
        builder = builder.master(address)
    try:
        session = builder.getOrCreate()
    except (PySparkException, RuntimeError, OSError) as problem:
        reason = " ".join(str(problem).split())
        raise EngineError(f"Spark could not be started ({reason}). It needs Java 17 or newer.") from problem
    gateway = SparkContext._gateway
    try:
        yield session
    finally:
        session.stop()
        _end(gateway)


def _end(gateway: Any) -> None:
    """End the Java process, which Spark would keep as long as this one lives."""
    gateway.shutdown()
    process = getattr(gateway, "proc", None)
    if process is not None:
        process.stdin.close()
        process.wait()
    SparkContext._gateway = SparkContext._jvm = None
