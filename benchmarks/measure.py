"""What a measured process does: one function per kind of job; each returns numbers and labels.

Heavy libraries are imported where they are used: a process pays only for what it measures.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import memory
from benchmarks.data import Data, load
from benchmarks.distance_pass import DistancePass, Read

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
        for labels in (False, True):
            ours.fit(*tiny, method, job["threads"], labels=labels)
    for method in ours.METHODS:  # before the timed rounds, which leave the heap fragmented
        before = memory.trimmed()
        model = ours.fit(data.views, settings, method, job["threads"])
        above = memory.peak() - before
        found[method] = {"bytes_above": above, "n_iter": int(model.n_iter_), "rounds": []}
        found[method]["labels"] = model.stream_labels_
        del model
    spent: list[float] = []
    while _again(job, spent):
        for method, numbers in found.items():
            one_round = {"pass_before": _least(distances)}
            for name, labels in (("fit", False), ("fit_with_labels", True)):
                one_round[name] = timed(
                    lambda m=method, w=labels: ours.fit(data.views, settings, m, job["threads"], labels=w)
                )[0]
                one_round.setdefault("pass_after", _least(distances))
            numbers["rounds"].append(one_round)
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
    ours.fit(*_tiny(data, settings), ours.PUBLISHED, several)
    runs: dict[int, list[float]] = {1: [], several: []}
    labels = {}
    for _ in range(job["runs"]):
        for n_threads in runs:
            seconds, model = timed(lambda n=n_threads: ours.fit(data.views, settings, ours.PUBLISHED, n))
            runs[n_threads].append(seconds)
            labels[n_threads] = model.stream_labels_
    same = bool((labels[1] == labels[several]).all())
    gain = min(runs[1]) / min(runs[several])
    return {"one": runs[1], "several": runs[several], "gain": gain, "same_labels": same}


def _again(job: Job, spent: list[float]) -> bool:
    """Whether to run again."""
    return len(spent) < job["runs"] and sum(spent) < job["time_limit"]


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
