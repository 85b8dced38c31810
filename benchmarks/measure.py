"""What a measured process does: one function a kind of job, each gives numbers and labels.

Heavy libraries are imported where they are used: a process pays only for what it measures.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import memory
from benchmarks.data import Data, load
from benchmarks.look import Look, Read

Job = dict[str, Any]
Numbers = dict[str, Any]


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def yardsticks(job: Job) -> Numbers:
    """One distance pass, and reading the bytes."""
    data, settings = load(Path(job["folder"])), job["settings"]
    look = _look(data, settings)
    read = Read(data.views, settings["n_passes"], job["threads"])
    before = memory.settled()
    looks = [_least(look) for _ in range(job["runs"])]
    above = memory.peak() - before
    reads = [_least(read) for _ in range(job["runs"])]
    return {"look_seconds": looks, "read_seconds": reads, "bytes_above": above}


def viewpass(job: Job) -> Numbers:
    """Ours, all settings in turn, a distance pass around each fit: the machine's speed varies."""
    from benchmarks import ours

    data, settings = load(Path(job["folder"])), job["settings"]
    look = _look(data, settings)
    tiny = _tiny(data, settings)
    found: dict[str, Numbers] = {}
    for start in ours.STARTS:
        for labels in (False, True):
            ours.fit(*tiny, start, job["threads"], labels=labels)
    for start in ours.STARTS:  # not in the timed rounds: their traces in the heap would blur it
        before = memory.settled()
        model = ours.fit(data.views, settings, start, job["threads"])
        above = memory.peak() - before
        found[start] = {"bytes_above": above, "n_iter": int(model.n_iter_), "rounds": []}
        found[start]["labels"] = model.stream_labels_
        del model
    spent: list[float] = []
    while _go_on(job, spent):
        for start, numbers in found.items():
            one_round = {"look_before": _least(look)}
            for name, labels in (("fit", False), ("fit_with_labels", True)):
                one_round[name] = timed(
                    lambda s=start, w=labels: ours.fit(data.views, settings, s, job["threads"], labels=w)
                )[0]
                one_round.setdefault("look_after", _least(look))
            numbers["rounds"].append(one_round)
        spent.append(sum(numbers["rounds"][-1]["fit"] for numbers in found.values()))
    return found


def peer(job: Job) -> Numbers:
    """A peer: prepare, then fit several times (once, where once takes longer than our patience)."""
    from benchmarks.peers import PEERS

    data, settings, method = load(Path(job["folder"]), job["rows"]), job["settings"], PEERS[job["method"]]
    few = method.prepare(_tiny(data, settings)[0])
    method.fit(few, {**settings, "n_clusters": 2}, job["threads"])
    before = memory.settled()
    preparing, prepared = timed(lambda: method.prepare(data.views))
    runs: list[float] = []
    while _go_on(job, runs):
        seconds, fitted = timed(lambda: method.fit(prepared, settings, job["threads"]))
        runs.append(seconds)
    above = memory.peak() - before
    labels = method.labels(fitted, prepared)
    return {"runs": runs, "prepare_seconds": preparing, "bytes_above": above, "labels": labels}


def threads(job: Job) -> Numbers:
    """Ours on one thread and on several, in turn."""
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


def _go_on(job: Job, spent: list[float]) -> bool:
    """Whether to run again."""
    return len(spent) < job["runs"] and sum(spent) < job["patience"]


def _least(look: Look | Read) -> float:
    """A look is short: one alone might be a disturbed one, and flatter what it is compared with."""
    return min(timed(look)[0] for _ in range(3))


def _look(data: Data, settings: dict[str, Any]) -> Look:
    return Look(data.views, settings["n_clusters"], settings["chunk_size"], settings["n_passes"])


def _tiny(data: Data, settings: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """A few rows, in three chunks: enough to compile or load all that a fit calls."""
    size = max(100, settings["n_clusters"])
    head = data.head(3 * size)
    return head.views, {**settings, "chunk_size": size}
