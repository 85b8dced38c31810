"""The workers of a cluster as this process sees them: graphs out, results and errors in."""

from __future__ import annotations

import pkgutil
import re
import signal
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from typing import Any

import dask
from distributed import Client, Future, LocalCluster, wait
from distributed.client import CancelledError
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker

from viewpass.engines.scratch import temporary_folder
from viewpass.errors import EngineError, SettingError, ViewpassError
from viewpass.kernels.threads import available_threads
from viewpass.version import __version__

SETTINGS = {
    # A worker that died is restarted, which on a busy machine takes longer than Dask waits by default.
    "distributed.deploy.lost-worker-timeout": "10 minutes",
    # Keep freed memory as in a local run: by default Dask makes malloc return it at once.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
    # A cluster that only waits would otherwise use a tenth of a processor: to look at itself.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.memory.monitor-interval": "2s",
    "distributed.scheduler.active-memory-manager.interval": "10s",
}
LARGE = {"distributed.admin.large-graph-warning-threshold": "100 GB"}  # centres are part of the graph

RETRIES = 3  # of tasks whose workers died, beyond those of the scheduler
LOST_SECONDS = 120.0  # without any worker, after which a fit fails
SCHEDULER_SECONDS = 60.0  # without an answer, after which the scheduler counts as lost
POLL_SECONDS = 1.0  # between checks whether there still is a worker


@contextmanager
def local_client(n_workers: int | None = None) -> Iterator[Client]:
    """A client of a cluster on this machine: one-thread workers on loopback, removed afterwards."""
    with temporary_folder() as folder, dask.config.set({"temporary-directory": folder, **SETTINGS}):
        with _deaf_to_signals():
            cluster = LocalCluster(
                n_workers=n_workers or available_threads(),
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                worker_dashboard_address=None,
                local_directory=folder,
                preload=["viewpass.engines.dask.engine"],  # slow imports, before there are tasks
            )
        with cluster, Client(cluster, direct_to_workers=True) as client:
            yield client


@contextmanager
def _deaf_to_signals() -> Iterator[None]:
    """Threads and processes that are started here, and those that they start, do not hear Ctrl-C and SIGTERM.

    Terminals and service managers send them to every process of a command; this one decides what they mean.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # it would end the blocking when the first process is started
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Workers:
    """Computes delayed values on the workers of a client."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.place: Callable[[int, int], str] = lambda start, stop: f"rows {start} to {stop - 1}"
        self._address = client.scheduler.address
        self._run, self._number = uuid.uuid4().hex[:12], 0
        self._checked: set[str] = set()  # workers whose version is known to be this one

    def key(self, what: str, rows: tuple[int, int]) -> str:
        """The name of a task about these rows, which no other task has."""
        self._number += 1
        return f"viewpass_{what}-{self._run}-{self._number}-rows-{rows[0]}-{rows[1]}"

    def current(self) -> list[str]:
        """Addresses of the present workers, which must have this version of viewpass."""
        try:  # asking the scheduler must not take for ever
            found = sorted(self.client.sync(self.client.scheduler.ncores, callback_timeout=SCHEDULER_SECONDS))
        except (TimeoutError, CommClosedError) as problem:
            raise self._lost(problem) from problem
        self._check_versions(set(found) - self._checked)
        return found

    def number(self) -> int:
        """How many there are now; there must be one."""
        n_workers = len(self.current())
        if not n_workers:
            raise SettingError("the cluster has no worker yet: start some.")
        return n_workers

    def _check_versions(self, workers: set[str]) -> None:
        """Refuse workers of another version: the same task could give other sums there."""
        if not workers:
            return
        # A function that every Python has: other versions of viewpass may lack any of ours.
        given = (pkgutil.resolve_name, "viewpass.version:__version__")
        answers = self.client.run(*given, workers=sorted(workers), on_error="return")
        self._checked |= {worker for worker, found in answers.items() if found == __version__}
        others = {
            worker: f"has viewpass {found}"
            if isinstance(found, str)
            else "has no viewpass that can be imported"
            for worker, found in answers.items()
            if isinstance(found, str | ImportError | AttributeError) and worker not in self._checked
        }
        if others:
            named = ", ".join(f"worker {worker} {what}" for worker, what in list(others.items())[:5])
            raise EngineError(
                f"{named}{' ...' if len(others) > 5 else ''}; this process has {__version__}. Install the "
                "same version everywhere and restart the workers."
            )

    def compute(
        self,
        wanted: Sequence[Any],
        signs: Sequence[Any] = (),
        watch: Callable[[Sequence[Any]], None] = lambda done: None,
    ) -> list[Any]:
        """The values; meanwhile `watch` is called with those of `signs` that are known."""
        futures = list[Future[Any]]()
        try:
            self.current()
            with dask.config.set(LARGE):
                futures = self.client.compute([*wanted, *signs], optimize_graph=False)
            return self._gather(futures[: len(wanted)], futures[len(wanted) :], watch)
        except BaseException as problem:
            with suppress(Exception):  # rows that kill workers would go on killing them
                self.client.cancel(futures, force=True)
            gone = self.client.status != "running" or isinstance(problem, CommClosedError | CancelledError)
            if gone and not isinstance(problem, KeyboardInterrupt | ViewpassError):
                raise self._lost(problem) from problem
            raise

    def _lost(self, problem: BaseException) -> EngineError:
        return EngineError(
            f"the scheduler at {self._address} no longer answers ({type(problem).__name__}). Start it again "
            "and start over."
        )

    def _gather(
        self, wanted: list[Future[Any]], signs: list[Future[Any]], watch: Callable[[Sequence[Any]], None]
    ) -> list[Any]:
        """Wait for results; one clear error if there are none. Tasks whose workers died are tried again."""
        retries_left = RETRIES
        while True:
            self._wait(wanted, signs, watch)
            if any(future.status in ("pending", "lost") for future in wanted):  # computed again elsewhere
                time.sleep(0.05)
                continue
            failed = [future for future in wanted if future.status != "finished"]
            if not failed:
                try:
                    found: list[Any] = self.client.gather(wanted)
                    return found
                except (KilledWorker, OSError, TimeoutError):  # lost between waiting and fetching
                    retries_left -= 1
                    if retries_left < 0:
                        raise
                    continue
            problem = failed[0].exception() if failed[0].status == "error" else None
            if isinstance(problem, KilledWorker) and retries_left:
                retries_left -= 1
                self.client.retry([*failed, *(sign for sign in signs if sign.status == "error")])
                time.sleep(0.1)
                continue
            raise self._error(failed, problem)

    def _wait(
        self, wanted: list[Future[Any]], signs: list[Future[Any]], watch: Callable[[Sequence[Any]], None]
    ) -> None:
        """Wait until all are finished or one has failed."""
        lost, n_done = None, 0
        while True:
            try:
                wait(wanted, timeout=POLL_SECONDS)
            except TimeoutError:
                if self.current():
                    lost = None
                else:
                    lost = lost or time.monotonic()
                    if time.monotonic() - lost > LOST_SECONDS:
                        raise EngineError(
                            f"the cluster has had no worker for {LOST_SECONDS:.0f} s. Start workers, and "
                            "start over."
                        ) from None
                done = [sign for sign in signs if sign.status == "finished"]
                if len(done) > n_done:
                    n_done = len(done)
                    with suppress(KilledWorker, OSError, TimeoutError):
                        watch(self.client.gather(done))
                continue
            if signs and all(future.status == "finished" for future in wanted):
                with suppress(KilledWorker, OSError, TimeoutError):
                    watch(self.client.gather(signs))
            return

    def _error(self, failed: Sequence[Future[Any]], problem: BaseException | None) -> BaseException:
        if isinstance(problem, KilledWorker):
            about = re.search(r"-rows-(\d+)-(\d+)", str(problem.task))
            where = f"{self.place(int(about[1]), int(about[2]))}: " if about else ""
            return EngineError(
                f"{where}every worker that was given these rows died, the last one at "
                f"{problem.last_worker.address}. They may need more memory than a worker has: use smaller "
                "partitions, or workers with more memory; or see the workers' logs."
            )
        if problem is None:
            return EngineError(
                f"the cluster has lost a task ({failed[0].key}, {failed[0].status}): the scheduler was "
                "restarted or the client closed. Start over."
            )
        return problem
