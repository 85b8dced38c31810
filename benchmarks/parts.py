"""Measures the parts of a fit by Dask workers, while both workers are busy."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.measure import timed

ON_ROWS = 6  # parts that are per row or update, before those of requests
REQUESTS = 16  # of which the median counts
BYTES = 2_000_000  # sent to each worker, and back
MANY = 40  # tasks of a request


def measure(client: Any, folder: Path, size: int, n_clusters: int) -> list[float]:
    """Seconds, in the order of `cost.Parts`."""
    from viewpass.engine.dask.worker_pool import WorkerPool

    pool = WorkerPool(client)
    workers = pool.workers()
    given = (on_a_worker, str(folder), size, n_clusters)
    jobs = [pool.submit(*given, number, worker=worker) for number, worker in enumerate(workers)]
    on_rows = np.max(pool.gather(jobs), axis=0)  # a round waits for the slower one
    few, busy = request_seconds(pool, workers, len(workers), 0)
    many, _ = request_seconds(pool, workers, MANY, 0)
    loaded, _ = request_seconds(pool, workers, len(workers), BYTES)
    task = max((many - few) / (MANY - len(workers)), 0.0)
    hops = 1 + 2 * len(workers)  # to the scheduler, to each worker, and back
    return [*on_rows, few, task, max(loaded - few, 0.0) / (hops * BYTES), busy]


def on_a_worker(folder: str, size: int, n_clusters: int, number: int) -> list[float]:
    """Seconds per row of reading, distance passes and labels; and of an update of the centres."""
    import viewpass as vp
    from viewpass.core.plan import Plan, Rules
    from viewpass.core.step.workspace import Workspace
    from viewpass.core.stream import Stream
    from viewpass.engine.dask.coordinator import advance
    from viewpass.engine.dask.shards import Shard
    from viewpass.views.rows import MeasuredRows

    source = vp.scan(folder)
    begun = source.span(number * size, size)
    read, chunk = timed(lambda: source.span((number + 2) * size, size))
    plan = Plan(n_clusters, Rules(0.1, 20, 1e-6, "mean"), "random")
    stream = Stream(plan, np.random.default_rng(0), Workspace(1))
    stream.learn(begun)  # centres as a later round finds them
    alone = Alone(Shard(MeasuredRows(chunk)))
    whole, (_, stage) = timed(lambda: advance(alone, stream.model, plan.rules, "x", again=False))
    distances, (again, *more) = alone.assigning, alone.following
    end, _ = timed(lambda: alone.shard.labels(stage).copy())
    update = max(whole - distances - sum(alone.following), 0.0) / len(alone.following)
    return [*(np.array([read, distances, again, np.mean(more or 0.0), end]) / chunk.n_rows), update]


class Alone:
    """The workers of a round, as one shard in this process; measures its steps."""

    def __init__(self, shard: Any) -> None:
        self.shard = shard
        self.assigning, self.following = 0.0, []

    def assign(self, stage: Any) -> Any:
        self.assigning, tally = timed(lambda: self.shard.assign(stage))
        return tally

    def follow(self, before: Any, after: Any) -> Any:
        seconds, tally = timed(lambda: self.shard.follow(before, after))
        self.following.append(seconds)
        return tally

    def row_sums(self) -> Any:
        return [self.shard.row_sums()]


def nothing(sent: Any, n_bytes: int) -> Any:
    return np.zeros(n_bytes // 8)


def request_seconds(pool: Any, workers: list[str], n_tasks: int, n_bytes: int) -> tuple[float, float]:
    """Seconds of an inner iteration without work, and its processor time over all processes."""
    from viewpass.engine.dask.round import FEW_BLOCKS

    homes = [workers[n % len(workers)] for n in range(n_tasks)]
    ours = [psutil.Process(pid) for pid in (os.getpid(), *pool.client.run(os.getpid).values())]
    took, kept = [], []

    def ask(sent: Any) -> None:
        held = sent if n_tasks <= FEW_BLOCKS else pool.store(sent)
        kept.append(pool.submit_each(nothing, [(held, n_bytes)] * n_tasks, homes, [(0, 1)] * n_tasks))
        pool.gather(kept[-1])

    before = spent(ours)
    for _ in range(REQUESTS):
        sent = np.zeros(n_bytes // 8)
        took.append(timed(lambda sent=sent: ask(sent))[0])
    return float(np.median(took)), (spent(ours) - before) / REQUESTS


def spent(processes: list[psutil.Process]) -> float:
    """Processor seconds so far."""
    return sum(sum(one.cpu_times()[:2]) for one in processes)
