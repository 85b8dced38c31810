"""What a measured process does: one function per kind of job; each returns numbers and labels.

Heavy libraries are imported where they are used: a process pays only for what it measures.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.data import Data, load
from benchmarks.distance_pass import DistancePass, Read
from viewpass.evaluate.harness import memory

Job = dict[str, Any]
Numbers = dict[str, Any]


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def yardsticks(job: Job) -> Numbers:
    """One distance pass, and one read of all bytes."""
    data, settings = load(Path(job["folder"])), job["settings"]
    distances = _distance_pass(data, settings)
    read = Read(data.views, settings["n_passes"], job["threads"])
    before = memory.trimmed()
    passes = [_least(distances) for _ in range(job["runs"])]
    above = memory.peak() - before
    reads = [_least(read) for _ in range(job["runs"])]
    return {"pass_seconds": passes, "read_seconds": reads, "bytes_above": above}


def viewpass(job: Job) -> Numbers:
    """viewpass, its methods in turn, with distance passes around each fit: the speed of a machine varies."""
    from benchmarks import ours

    data, settings = load(Path(job["folder"])), job["settings"]
    distances = _distance_pass(data, settings)
    tiny = _tiny(data, settings)
    found: dict[str, Numbers] = {}
    for method in ours.METHODS:
        ours.fit(*tiny, method, job["threads"])
    for method in ours.METHODS:  # before the timed rounds, which leave the heap fragmented
        before = memory.trimmed()
        labels = ours.fit(data.views, settings, method, job["threads"])
        found[method] = {"bytes_above": memory.peak() - before, "rounds": [], "labels": labels}
    spent: list[float] = []
    while _again(job, spent):
        for method, numbers in found.items():
            one = _least(distances)
            seconds, _ = timed(partial(ours.fit, data.views, settings, method, job["threads"]))
            numbers["rounds"].append({"pass_before": one, "fit": seconds, "pass_after": _least(distances)})
        spent.append(sum(numbers["rounds"][-1]["fit"] for numbers in found.values()))
    return found


def peer(job: Job) -> Numbers:
    """A peer: prepare, then fit several times (once where that takes longer than the time limit)."""
    from benchmarks.peers import PEERS

    data, settings, method = load(Path(job["folder"]), job["rows"]), job["settings"], PEERS[job["method"]]
    few = method.prepare(_tiny(data, settings)[0])
    method.fit(few, {**settings, "n_clusters": 2}, job["threads"])
    before = memory.trimmed()
    preparing, prepared = timed(lambda: method.prepare(data.views))
    runs: list[float] = []
    while _again(job, runs):
        seconds, fitted = timed(lambda: method.fit(prepared, settings, job["threads"]))
        runs.append(seconds)
    above = memory.peak() - before
    labels = method.labels(fitted, prepared)
    return {"runs": runs, "prepare_seconds": preparing, "bytes_above": above, "labels": labels}


def threads(job: Job) -> Numbers:
    """viewpass on one thread and on several, in turn."""
    from benchmarks import ours

    data, settings, several = load(Path(job["folder"])), job["settings"], job["threads"]
    ours.fit(*_tiny(data, settings), ours.DEFAULT, several)
    runs: dict[int, list[float]] = {1: [], several: []}
    labels = {}
    for _ in range(job["runs"]):
        for n_threads in runs:
            fit = partial(ours.fit, data.views, settings, ours.DEFAULT, n_threads)
            seconds, labels[n_threads] = timed(fit)
            runs[n_threads].append(seconds)
    same = bool((labels[1] == labels[several]).all())
    gain = min(runs[1]) / min(runs[several])
    return {"one": runs[1], "several": runs[several], "gain": gain, "same_labels": same}


def _again(job: Job, spent: list[float]) -> bool:
    """Whether to run again."""
    return bool(len(spent) < job["runs"] and sum(spent) < job["time_limit"])


def _least(work: DistancePass | Read) -> float:
    """The least of three: a single short pass might be disturbed, and flatter what is compared with it."""
    return min(timed(work)[0] for _ in range(3))


def _distance_pass(data: Data, settings: dict[str, Any]) -> DistancePass:
    return DistancePass(data.views, settings["n_clusters"], settings["chunk_size"], settings["n_passes"])


def _tiny(data: Data, settings: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """A few rows, in three chunks: enough to load all that a fit calls."""
    size = max(100, settings["n_clusters"])
    head = data.head(3 * size)
    return head.views, {**settings, "chunk_size": size}
