"""The parts a fit by Dask workers is made of, measured while both workers are at it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil

ON_ROWS = 6  # parts, before those of asking
ASKED = 16  # times, of which the middle one counts
BYTES = 2_000_000  # told to each worker, and answered by it
MANY = 40  # tasks of an asking


def measure(client: Any, folder: Path, size: int, n_clusters: int) -> list[float]:
    """Seconds, in the order of `cost.Parts`."""
    from viewpass.engine.dask.worker_pool import WorkerPool

    crew = WorkerPool(client)
    workers = crew.workers()
    given = (on_a_worker, str(folder), size, n_clusters)
    asked = [crew.submit(*given, number, worker=worker) for number, worker in enumerate(workers)]
    on_rows = np.max(crew.gather(asked), axis=0)  # a round waits for the slower
    few, busy = asking(crew, workers, len(workers), 0)
    many, _ = asking(crew, workers, MANY, 0)
    loaded, _ = asking(crew, workers, len(workers), BYTES)
    task = max((many - few) / (MANY - len(workers)), 0.0)
    hops = 1 + 2 * len(workers)  # to the scheduler, to each worker, and back
    return [*on_rows, few, task, max(loaded - few, 0.0) / (hops * BYTES), busy]


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def on_a_worker(folder: str, size: int, n_clusters: int, number: int) -> list[float]:
    """Seconds a row of reading, looks and labels; and of an update of the centres."""
    import viewpass as vp
    from viewpass.core.plan import Plan, Rules
    from viewpass.core.step.workspace import Workspace
    from viewpass.core.stream import Stream
    from viewpass.engine.dask.coordinator import advance
    from viewpass.engine.dask.shards import Share
    from viewpass.views.rows import MeasuredRows

    source = vp.scan(folder)
    begun = source.span(number * size, size)
    read, chunk = timed(lambda: source.span((number + 2) * size, size))
    plan = Plan(n_clusters, Rules(0.1, 20, 1e-6, "mean"), "random")
    stream = Stream(plan, np.random.default_rng(0), Workspace(1))
    stream.learn(begun)  # centres as a later round finds them
    alone = Alone(Share(MeasuredRows(chunk)))
    whole, (_, stage) = timed(lambda: advance(alone, stream.model, plan.rules, "x", again=False))
    look, (again, *more) = alone.looking, alone.following
    end, _ = timed(lambda: alone.share.labels(stage).copy())
    update = max(whole - look - sum(alone.following), 0.0) / len(alone.following)
    return [*(np.array([read, look, again, np.mean(more or 0.0), end]) / chunk.n_rows), update]


class Alone:
    """One share that asks itself, with a watch in hand."""

    def __init__(self, share: Any) -> None:
        self.share = share
        self.looking, self.following = 0.0, []

    def look(self, stage: Any) -> Any:
        self.looking, tally = timed(lambda: self.share.look(stage))
        return tally

    def follow(self, before: Any, after: Any) -> Any:
        seconds, tally = timed(lambda: self.share.follow(before, after))
        self.following.append(seconds)
        return tally

    def row_sums(self) -> Any:
        return [self.share.row_sums()]


def nothing(told: Any, n_bytes: int) -> Any:
    return np.zeros(n_bytes // 8)


def asking(crew: Any, workers: list[str], n_tasks: int, n_bytes: int) -> tuple[float, float]:
    """Seconds of an inner iteration in which nobody has anything to do, and those of all processors."""
    from viewpass.engine.dask.round import FEW

    homes = [workers[n % len(workers)] for n in range(n_tasks)]
    ours = [psutil.Process(pid) for pid in (os.getpid(), *crew.client.run(os.getpid).values())]
    took, kept = [], []

    def ask(told: Any) -> None:
        held = told if n_tasks <= FEW else crew.hold(told)
        kept.append(crew.ask(nothing, [(held, n_bytes)] * n_tasks, homes, [(0, 1)] * n_tasks))
        crew.gather(kept[-1])

    before = spent(ours)
    for _ in range(ASKED):
        told = np.zeros(n_bytes // 8)
        took.append(timed(lambda told=told: ask(told))[0])
    return float(np.median(took)), (spent(ours) - before) / ASKED


def spent(processes: list[psutil.Process]) -> float:
    """Processor seconds so far."""
    return sum(sum(one.cpu_times()[:2]) for one in processes)
