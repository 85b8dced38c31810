"""Runs the benchmarks: makes a workload's data, measures every method on it, removes it."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import first, scaling
from benchmarks.child import FailedError, start
from benchmarks.data import Data, save
from benchmarks.ours import METHODS, PUBLISHED
from benchmarks.peers import PEERS, Peer
from benchmarks.real import NoDataError
from benchmarks.workloads import Workload
from viewpass.evaluate import nmi

Row = dict[str, Any]

ONE_PASS = "one distance pass"

THREADED = ("youtube, easy", "many")  # measured on one thread too
SPARE_BYTES = 50 << 20  # part of the memory allowed


@dataclass(frozen=True)
class Effort:
    """How much to measure."""

    share: float
    threads: int
    runs: int

    @property
    def full(self) -> bool:
        return self.share == 1

    @property
    def time_limit(self) -> float:
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
        settings["one_view"] = len(self.about["widths"]) == 1
        job = {"kind": kind, "method": method, "rows": rows, "folder": str(self.folder)}
        return ask({**job, "settings": settings, "time_limit": self.effort.time_limit}, self.effort)


def measure_workload(workload: Workload, effort: Effort) -> tuple[list[Row], list[Row]]:
    """The table rows of one workload, and the gain of a second thread."""
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
    """Import, first fit and later fits in a new process, for each kind of data."""
    jobs = ({"kind": "first", "method": f"first call, {kind}", "data": kind} for kind in first.KINDS)
    return [{"data": job["data"], **ask(job, effort)} for job in jobs]


def ask(job: dict[str, Any], effort: Effort) -> dict[str, Any]:
    """The answer of another process; {"failed": why} if it had none."""
    print(f"  {job['method']}", file=sys.stderr, flush=True)
    try:
        return start({**job, "threads": effort.threads, "runs": effort.runs})
    except FailedError as problem:
        return {"failed": str(problem)}


def _rows(case: Case) -> Iterator[Row]:
    found = case.ask("yardsticks", ONE_PASS)
    if "failed" in found:
        yield {"method": ONE_PASS, **found}
        return
    ours = case.ask("viewpass", "viewpass")
    rounds = [] if "failed" in ours else [each for method in METHODS for each in ours[method]["rounds"]]
    beside = [each[when] for each in rounds for when in ("pass_before", "pass_after")]
    one_pass, read = min(*found["pass_seconds"], *beside), min(found["read_seconds"])
    yield {"method": "read the bytes", "seconds": read, "ratio": read / one_pass}
    yield {"method": ONE_PASS, "seconds": one_pass, "ratio": 1.0, "bytes_above": found["bytes_above"]}
    for method in METHODS:
        yield {"method": method, **(ours if "failed" in ours else _ours(case, method, ours[method]))}
    for peer in (each for each in PEERS.values() if each.name not in case.workload.not_run):
        yield {"method": peer.name, **_peer(case, peer, one_pass)}


def _ours(case: Case, method: str, found: Row) -> Row:
    rounds = found["rounds"]
    seconds = min(each["fit"] for each in rounds)
    passes = [min(each["pass_before"], each["pass_after"]) for each in rounds]
    row = {
        "seconds": seconds,
        # Least over least: on a busy machine, the best ratio within one round is that of the round
        # whose distance passes were disturbed most.
        "ratio": seconds / min(passes),
        "ratios_within_rounds": [each["fit"] / one for each, one in zip(rounds, passes, strict=True)],
        "nmi": nmi(case.classes, found.pop("labels")),
        **found,
    }
    if method == PUBLISHED:
        row["bytes_allowed"] = _allowed(case.about)
    return row


def _allowed(about: Row) -> int:
    """Three chunks, four states, and 50 MB."""
    n_rows = 3 * min(about["chunk_size"], about["rows"])
    state = 8 * about["n_clusters"] * sum(about["widths"])
    return int(n_rows * about["data_bytes"] / about["rows"] + 4 * state + SPARE_BYTES)


def _peer(case: Case, peer: Peer, one_pass: float) -> Row:
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
        "ratio": seconds / one_pass,
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
