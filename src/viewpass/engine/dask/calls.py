"""Calls on blocks that workers hold, without a task for each.

A round waits for its workers several times, and the life of a task (scheduled, run, kept, fetched, released)
takes longer than the work of most of them. A call is one message there and one back. It is an attempt: what
cannot be called (a block that is elsewhere, a worker that is gone, an error) is run as a task, which the
scheduler sees through; tasks give the same each time they are run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, NamedTuple

from distributed import Client, Future, Worker

from viewpass.engine.dask.tasks import Call, running_on

MOST_CALLED = 8  # workers: the results of more are added up by workers
CHECK_SECONDS = 1.0  # between checks whether the workers of a call are still there


class Ask(NamedTuple):
    """A task for a block, the worker that should hold it, and its rows."""

    function: Callable[..., Any]
    block: Future[Any]
    given: tuple[Any, ...]
    worker: str | None
    rows: tuple[int, int]

    @property
    def whole(self) -> tuple[Any, ...]:
        """All arguments."""
        return self.block, *self.given


class Caller:
    """Calls workers from a thread of its own, so that a worker that is gone is not waited for."""

    def __init__(self, client: Client, workers: Callable[[], Collection[str]]) -> None:
        self._client, self._workers = client, workers
        self._gone: set[str] = set()
        self._thread = ThreadPoolExecutor(1)

    def call(self, asked: Sequence[Ask]) -> list[Any] | None:
        """The results, in order; None if they cannot be had this way."""
        jobs: dict[str, list[tuple[str, Call]]] = {}
        for one in asked:
            if one.worker is None or any(isinstance(each, Future) for each in one.given):
                return None
            jobs.setdefault(one.worker, []).append((one.block.key, Call(one.function, one.whole)))
        if len(jobs) > MOST_CALLED or self._gone & set(jobs):
            return None
        answers = self._answers(jobs)
        if answers is None or not all(isinstance(answers.get(worker), list) for worker in jobs):
            return None
        found = {worker: iter(answers[worker]) for worker in jobs}
        return [next(found[str(one.worker)]) for one in asked]

    def _answers(self, jobs: dict[str, list[tuple[str, Call]]]) -> dict[str, Any] | None:
        asking = self._thread.submit(self._client.run, run_here, jobs, workers=[*jobs], on_error="return")
        while not wait([asking], timeout=CHECK_SECONDS).done:
            gone = set(jobs) - set(self._workers())
            if gone:  # Dask would try for half a minute to reach them
                self._gone |= gone
                self._thread = ThreadPoolExecutor(1)
                return None
        found: dict[str, Any] = asking.result()
        return found


async def run_here(jobs: dict[str, list[tuple[str, Call]]], dask_worker: Worker) -> list[Any] | None:
    """Run the jobs of this worker on blocks it holds, beside its event loop; None if it cannot."""
    try:
        mine = [(dask_worker.data[key], job) for key, job in jobs[dask_worker.address]]
        with running_on(dask_worker):
            return await asyncio.to_thread(lambda: [job(block) for block, job in mine])
    except Exception:  # the task that follows says what it was
        return None
