"""The workers of a cluster as the driver sees them: tasks out, results and errors in."""

from __future__ import annotations

import pkgutil
import re
import signal
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from typing import Any
from weakref import WeakSet

import dask
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
from distributed import Client, Future, LocalCluster, wait
from distributed.client import CancelledError
from distributed.comm import CommClosedError, get_address_host
from distributed.scheduler import KilledWorker

from viewpass.engine.dask import tasks
from viewpass.engine.dask.calls import Ask, Caller
from viewpass.engine.dask.scratch import temporary_folder
from viewpass.errors import EngineError, ViewpassError
from viewpass.kernels.threads import available_threads
from viewpass.version import __version__

SETTINGS = {
    # A worker that died is restarted, which on a busy machine takes longer than Dask waits by default.
    "distributed.deploy.lost-worker-timeout": "10 minutes",
    # Keep freed memory as in a local run: by default Dask makes malloc return it at once.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
}


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
                preload=["viewpass.engine.dask.tasks"],  # slow imports, before there are tasks
            )
        with cluster, Client(cluster, direct_to_workers=True) as client:
            yield client


@contextmanager
def _deaf_to_signals() -> Iterator[None]:
    """Threads and processes that are started here, and those that they start, do not hear Ctrl-C and SIGTERM.

    Terminals and service managers send them to every process of a command; the driver decides what they mean.
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


FAN_IN = 8  # reports added up at a time: the driver receives no more than these
RETRIES = 3  # of tasks whose workers died, beyond those of the scheduler
LOST_SECONDS = 120.0  # without any worker, after which a run fails
SCHEDULER_SECONDS = 60.0  # without an answer, after which the scheduler counts as lost
POLL_SECONDS = 5.0  # between checks whether there still is a worker
FRESH_SECONDS = 1.0  # that a list of workers is used for
LARGE = {"distributed.admin.large-graph-warning-threshold": "100 GB"}  # centres are part of the graph


class WorkerPool:
    """Submits tasks to the workers of a client, under names that are unique to a run."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._address = client.scheduler.address
        self._run = uuid.uuid4().hex[:12]
        self._number = 0
        self._submitted: WeakSet[Future[Any]] = WeakSet()
        self._checked: set[str] = set()  # workers whose version is known to be this one
        self._known: tuple[float, list[str]] = -FRESH_SECONDS, []
        self._caller = Caller(client, self._threads)
        self.place: Callable[[int, int], str] = lambda start, stop: f"rows {start} to {stop - 1}"

    def workers(self) -> list[str]:
        """Addresses of the current workers, which must have this version of viewpass."""
        asked, found = self._known
        if time.monotonic() - asked > FRESH_SECONDS:
            found = sorted(self._threads())
            self._check_versions(set(found) - self._checked)
            self._known = time.monotonic(), found
        return found

    def _threads(self) -> dict[str, int]:
        """Threads by worker; asking the scheduler must not take for ever."""
        found: dict[str, int]
        try:
            found = self.client.sync(self.client.scheduler.ncores, callback_timeout=SCHEDULER_SECONDS)
        except (TimeoutError, CommClosedError) as problem:
            raise self._lost(problem) from problem
        return found

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

    def beside(self, worker: str) -> dict[str, int]:
        """The workers on the machine of one of them, itself included, and their threads."""
        host = get_address_host(worker)
        threads = self._threads()
        return {one: number for one, number in threads.items() if get_address_host(one) == host}

    def submit(
        self,
        function: Callable[..., Any],
        *given: Any,
        worker: str | None = None,
        rows: tuple[int, int] | None = None,
        priority: int = 0,
        retries: int = 0,
    ) -> Future[Any]:
        """Submit a task, to that worker as long as it lives; `rows` are those it concerns."""
        key = self._key(function.__name__, rows)
        with dask.config.set(LARGE):
            future = self.client.submit(
                function,
                *given,
                key=key,
                workers=None if worker is None else [worker],
                allow_other_workers=worker is not None,
                priority=priority,
                retries=retries,
                pure=False,
            )
        self._submitted.add(future)
        return future

    def ask(self, asked: Sequence[Ask]) -> list[Any]:
        """The results of tasks for blocks: called where the blocks are, or submitted."""
        blocks = [one.block for one in asked]
        if not were_made(blocks):
            self.wait(blocks)
        found = self._caller.call(asked) if were_made(blocks) else None
        return self.gather(self.submit_each(asked)) if found is None else found

    def submit_each(self, asked: Sequence[Ask]) -> list[Future[Any]]:
        """Submit tasks for blocks, to the workers that hold them as long as they live.

        They are sent as one message: a client waits a hundredth of a second before it sends a second one.
        """
        layers, keys = {}, []
        for one in asked:
            key = self._key(one.function.__name__, one.rows)
            where = {} if one.worker is None else {"workers": [one.worker], "allow_other_workers": True}
            futures = [each for each in one.whole if isinstance(each, Future)]
            task = (tasks.Call(one.function, one.whole), *futures)
            layers[key] = MaterializedLayer({key: task}, annotations=where or None)
            keys.append(key)
        graph = HighLevelGraph(layers, {key: set() for key in keys})
        with dask.config.set(LARGE):
            found: list[Future[Any]] = self.client.get(graph, keys, sync=False, fifo_timeout=0)
        self._submitted.update(found)
        return found

    @contextmanager
    def working(self) -> Iterator[WorkerPool]:
        """Run something with these workers; an error cancels all tasks."""
        try:
            yield self
        except (KeyboardInterrupt, ViewpassError):
            self.drop()
            raise
        except BaseException as problem:
            self.drop()
            if self.client.status != "running" or isinstance(problem, CommClosedError | CancelledError):
                raise self._lost(problem) from problem
            raise

    def _lost(self, problem: BaseException) -> EngineError:
        return EngineError(
            f"the scheduler at {self._address} no longer answers ({type(problem).__name__}). Start it again "
            "and resume from the checkpoint, or start over."
        )

    def drop(self) -> None:
        """Cancel all tasks: rows that kill workers would go on killing them."""
        with suppress(Exception):  # the error that ended the run matters, not this one
            self.client.cancel(list(self._submitted), force=True)

    def compute(self, made: Any, *, worker: str | None, rows: tuple[int, int]) -> Future[Any]:
        """Compute a delayed value, on that worker as long as it lives."""
        name = self._key("block", rows)
        with dask.config.set(LARGE):
            future = self.client.compute(
                dask.delayed(tasks.store, pure=False)(made, dask_key_name=name),
                workers=None if worker is None else [worker],
                allow_other_workers=worker is not None,
                optimize_graph=False,
            )
        self._submitted.add(future)
        return future

    def _key(self, what: str, rows: tuple[int, int] | None) -> str:
        self._number += 1
        about = "" if rows is None else f"-rows-{rows[0]}-{rows[1]}"
        return f"viewpass_{what}-{self._run}-{self._number}{about}"

    def store(self, value: Any) -> Future[Any]:
        """Store a value in the cluster."""
        return self.submit(tasks.store, value)

    def total(self, asked: Sequence[Ask]) -> tasks.Report:
        """The sum of reports: added up on workers where there are many, so that the driver receives few."""
        if len(asked) <= FAN_IN:
            return tasks.combine(self.ask(asked))
        level = self.submit_each(asked)
        while len(level) > FAN_IN:
            level = [
                self.submit(tasks.combine, level[first : first + FAN_IN])
                for first in range(0, len(level), FAN_IN)
            ]
        return tasks.combine(self.gather(level))

    def gather(self, futures: Iterable[Future[Any]], beside: Sequence[Future[Any]] = ()) -> list[Any]:
        """Wait for results; one clear error if there are none (`beside`: tasks that may be the cause)."""
        waiting = list(futures)
        retries_left = RETRIES
        while True:
            self.wait(waiting)
            if any(
                future.status in ("pending", "lost") for future in waiting
            ):  # being computed again elsewhere
                time.sleep(0.05)
                continue
            failed = [future for future in waiting if future.status != "finished"]
            if not failed:
                try:
                    found: list[Any] = self.client.gather(waiting)
                    return found
                except (KilledWorker, OSError, TimeoutError):  # lost between waiting and fetching
                    retries_left -= 1
                    if retries_left < 0:
                        raise
                    continue
            problem = failed[0].exception() if failed[0].status == "error" else None
            if isinstance(problem, KilledWorker) and retries_left:
                retries_left -= 1
                self.client.retry(failed)
                time.sleep(0.1)
                continue
            raise self._error([*failed, *beside], problem)

    def wait(self, futures: Sequence[Future[Any]]) -> None:
        """Wait until all are finished or one has failed."""
        lost: float | None = None
        while True:
            try:
                wait(futures, timeout=POLL_SECONDS)
                return
            except TimeoutError:
                if self.workers():
                    lost = None
                    continue
                lost = lost or time.monotonic()
                if time.monotonic() - lost > LOST_SECONDS:
                    raise EngineError(
                        f"the cluster has had no worker for {LOST_SECONDS:.0f} s. Start workers and resume "
                        "from the checkpoint, or start over."
                    ) from None

    def _places(self, failed: Sequence[Future[Any]]) -> str:
        """The rows whose workers died; where several were being read, any of them may be the cause."""
        found = {}
        for future in failed:
            problem = future.exception() if future.status == "error" else None
            if isinstance(problem, KilledWorker):
                about = re.search(r"-rows-(\d+)-(\d+)", str(problem.task))
                if about:
                    found[int(about[1])] = self.place(int(about[1]), int(about[2]))
        return " or ".join(found[start] for start in sorted(found))

    def _error(self, failed: Sequence[Future[Any]], problem: BaseException | None) -> BaseException:
        if isinstance(problem, KilledWorker):
            where = self._places(failed)
            return EngineError(
                f"{f'{where}: ' if where else ''}every worker that was given these rows died, the last one "
                f"at {problem.last_worker.address}. They may need more memory than a worker has: use a "
                "smaller chunk_size, or workers with more memory; or see the workers' logs."
            )
        if problem is None:
            return EngineError(
                f"the cluster has lost a task ({failed[0].key}, {failed[0].status}): the scheduler was "
                "restarted or the client closed. Resume from the checkpoint, or start over."
            )
        return problem


def were_made(futures: Iterable[Future[Any]]) -> bool:
    """Whether workers hold the results of all of these."""
    return all(future.status == "finished" for future in futures)
