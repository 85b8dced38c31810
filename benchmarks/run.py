"""Go through the plan: make a workload's data, measure every method on it, remove it."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import anchors, first, scaling
from benchmarks.child import FailedError, start
from benchmarks.data import Data, save
from benchmarks.ours import NOTHING_SET, STARTS, warmup_rows
from benchmarks.peers import PEERS, Peer
from benchmarks.real import NoDataError
from benchmarks.workloads import Workload
from viewpass.evaluate import nmi

Row = dict[str, Any]

THREADED = ("youtube, easy", "many")  # measured on one thread too
SPARE_BYTES = 50 << 20  # of the memory allowed


@dataclass(frozen=True)
class Effort:
    """How much of everything."""

    share: float
    threads: int
    runs: int

    @property
    def full(self) -> bool:
        return self.share == 1

    @property
    def patience(self) -> float:
        """Seconds after which a method is not run again."""
        return 120 if self.full else 3


@dataclass(frozen=True)
class Case:
    """A workload whose data is on disk."""

    workload: Workload
    effort: Effort
    folder: Path
    about: Row
    classes: np.ndarray

    def ask(self, kind: str, method: str, rows: int | None = None) -> dict[str, Any]:
        """Measure in another process."""
        settings = {name: self.about[name] for name in ("n_clusters", "chunk_size", "n_passes")}
        job = {"kind": kind, "method": method, "rows": rows, "folder": str(self.folder)}
        return ask({**job, "settings": settings, "patience": self.effort.patience}, self.effort)


def measure_workload(workload: Workload, effort: Effort) -> tuple[list[Row], list[Row]]:
    """The rows of the table for one workload, and what a second thread brings."""
    print(f"{workload.name}: making the data", file=sys.stderr, flush=True)
    try:
        data = workload.make(workload.rows(effort.share))
    except NoDataError as absent:
        return [{"workload": workload.name, "method": "all", "note": str(absent)}], []
    with tempfile.TemporaryDirectory(prefix="viewpass-bench-") as temporary:
        folder = Path(temporary) / "data"
        save(folder, data)
        case = Case(workload, effort, folder, _about(workload, data), data.classes)
        del data
        rows = [{**case.about, **row} for row in _rows(case)]
        threads = []
        if workload.name in THREADED and effort.threads > 1:
            threads = [{"workload": workload.name, **case.ask("threads", "one thread and several")}]
    return rows, threads


def measure_scaling(effort: Effort) -> dict[str, Any]:
    n_rows = scaling.FULL_ROWS if effort.full else min(scaling.QUICK_ROWS, int(200_000 * effort.share))
    return ask({"kind": "scaling", "method": "scaling", "rows": n_rows}, effort)


def measure_first_call(effort: Effort) -> list[Row]:
    """For each kind of data: a process that must compile everything, then one that need not."""
    rows = []
    for kind in first.KINDS:
        job = {"kind": "first", "method": f"first call, {kind}", "data": kind}
        with tempfile.TemporaryDirectory(prefix="viewpass-bench-") as cache:
            cold, warm = (ask(job, effort, {"NUMBA_CACHE_DIR": cache}) for _ in range(2))
        rows.append({"data": kind, "nothing cached": cold, "cache warm": warm})
    return rows


def measure_anchors(effort: Effort) -> list[Row]:
    """For each number of anchors: one distance pass with so many centres, and fits beside it."""
    rows = []
    for number in anchors.NUMBERS:
        job = {"kind": "anchors", "method": f"{number:,} anchors", "anchors": number}
        found = ask({**job, "rows": round(anchors.ROWS * effort.share)}, effort)
        if "failed" in found:
            rows.append({"anchors": number, **found})
            continue
        for name, numbers in found["found"].items():
            least = min(numbers["fits"])
            row = {"anchors": number, "what": name, "look": found["look"], "seconds": least, **numbers}
            rows.append({**row, "ratio": least / found["look"], "cut_seconds": min(numbers["cuts"])})
    return rows


def ask(job: dict[str, Any], effort: Effort, environment: dict[str, str] | None = None) -> dict[str, Any]:
    """The answer of another process; {"failed": why} if it had none."""
    print(f"  {job['method']}", file=sys.stderr, flush=True)
    try:
        return start({**job, "threads": effort.threads, "runs": effort.runs}, environment)
    except FailedError as problem:
        return {"failed": str(problem)}


def _rows(case: Case) -> Iterator[Row]:
    found = case.ask("yardsticks", "one distance pass")
    if "failed" in found:
        yield {"method": "one distance pass", **found}
        return
    ours = case.ask("viewpass", "viewpass")
    rounds = [] if "failed" in ours else [each for start in STARTS for each in ours[start]["rounds"]]
    beside = [each[when] for each in rounds for when in ("look_before", "look_after")]
    look, read = min(*found["look_seconds"], *beside), min(found["read_seconds"])
    yield {"method": "read the bytes", "seconds": read, "ratio": read / look}
    yield {"method": "one distance pass", "seconds": look, "ratio": 1.0, "bytes_above": found["bytes_above"]}
    for method in STARTS:
        yield {"method": method, **(ours if "failed" in ours else _ours(case, method, ours[method]))}
    for peer in PEERS.values():
        yield {"method": peer.name, **_peer(case, peer, look)}


def _ours(case: Case, method: str, found: Row) -> Row:
    rounds = found["rounds"]
    seconds = min(each["fit"] for each in rounds)
    looks = [min(each["look_before"], each["look_after"]) for each in rounds]
    return {
        "seconds": seconds,
        # Least over least: where others use the machine too, the best ratio within one round is that
        # of the round whose looks were disturbed most.
        "ratio": seconds / min(looks),
        "ratios_within_rounds": [each["fit"] / look for each, look in zip(rounds, looks, strict=True)],
        "labels_seconds": min(each["fit_with_labels"] for each in rounds) - seconds,
        "nmi": nmi(case.classes, found.pop("labels")),
        **_allowed(case, method),
        **found,
    }


def _allowed(case: Case, method: str) -> Row:
    """Bound on memory without anchors: three chunks, the warm-up, four states, and 50 MB."""
    if method == NOTHING_SET:
        return {}
    about, warmup = case.about, warmup_rows(method, case.workload.n_clusters)
    n_rows = 3 * min(about["chunk_size"], about["rows"]) + min(warmup, about["rows"])
    state = 8 * about["n_clusters"] * sum(about["widths"])
    return {"bytes_allowed": int(n_rows * about["data_bytes"] / about["rows"]) + 4 * state + SPARE_BYTES}


def _peer(case: Case, peer: Peer, look: float) -> Row:
    workload, n_rows = case.workload, case.about["rows"]
    if workload.sparse and not peer.takes_sparse:
        return {"note": "takes no sparse data"}
    if peer.name in workload.full_only and not case.effort.full:
        return {"note": "too slow for the quick size"}
    n_read = n_rows
    if peer.slow and workload.slow_chunks is not None:
        n_read = min(n_rows, workload.slow_chunks * workload.chunk_size)
    found = case.ask("peer", peer.name, n_read)
    if "failed" in found:
        return found
    times = n_rows / n_read
    seconds = min(found["runs"]) * times
    row = {
        "seconds": seconds,
        "ratio": seconds / look,
        "prepare_seconds": found["prepare_seconds"] * times,
        "bytes_above": int(found["bytes_above"] * times),
        "nmi": nmi(case.classes[:n_read], found["labels"]),
        "runs": found["runs"],
    }
    return row if n_read == n_rows else {**row, "scaled_from": n_read}


def _about(workload: Workload, data: Data) -> Row:
    return {
        "workload": workload.name,
        "rows": data.n_rows,
        "widths": [int(view.shape[1]) for view in data.views],
        "data_bytes": data.n_bytes,
        "n_clusters": workload.n_clusters,
        "chunk_size": workload.chunk_size,
        "n_passes": workload.n_passes,
    }
