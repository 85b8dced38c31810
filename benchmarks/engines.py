"""Default settings on every engine, beside a PyArrow scan of the same files (`python -m benchmarks.engines`).

The rows are made: two views of 96 and 32 columns, 20 clusters that overlap, each view missing in .3 of the
rows. With `--rings` they lie around rings instead of centres, which takes the graph. Each engine runs in a
process of its own, with two workers, after a fit of few rows that loads what a first fit loads. Counted are
processor seconds of all its processes, and their memory (a page that processes share counts once), so that
other work has little effect. `--copies` reads the files several times, as one table.
"""

from __future__ import annotations

import argparse
import json
import pickle
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow.parquet as pq

import viewpass as vp
from benchmarks import files
from viewpass.engines.clusters import connected
from viewpass.engines.interface import Engine

WIDTHS = {"image": 96, "text": 32}
N_CLUSTERS, N_WORKERS = 20, 2
GROUP_ROWS = 131_072
ENGINES = ("scan", "local", "dask", "ray", "spark")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--clusters", type=int, default=N_CLUSTERS)
    parser.add_argument("--rings", action="store_true")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(ENGINES))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--job")
    options = parser.parse_args()
    files.WIDTHS = WIDTHS
    if options.job:
        print(json.dumps(JOBS[options.job](options)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        if options.folder is None:
            options.folder = Path(folder)
            files.write(options.folder, options.rows, "varying", group_rows=GROUP_ROWS, rings=options.rings)
        found = {job: [_run(job, options) for _ in range(options.runs)] for job in options.only}
        print(table(found))
        print(traffic(options))
    return 0


def _run(job: str, options: argparse.Namespace) -> dict[str, Any]:
    """A job in a process of its own."""
    words = ["-m", "benchmarks.engines", "--job", job, "--folder", str(options.folder)]
    words += ["--copies", str(options.copies), "--clusters", str(options.clusters)]
    ended = subprocess.run([sys.executable, *words], check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def source(options: argparse.Namespace) -> Any:
    """The files, each as often as asked: by links, since a file is read once only."""
    paths = sorted(options.folder.glob("*.parquet"))
    if options.copies == 1:
        return vp.scan(paths, views=list(WIDTHS))
    home = options.folder / f"copies-{options.copies}"
    home.mkdir(exist_ok=True)
    return vp.scan(
        [_linked(home, path, n) for n in range(options.copies) for path in paths], views=list(WIDTHS)
    )


def _linked(home: Path, path: Path, number: int) -> Path:
    link = home / f"{number:03}-{path.name}"
    if not link.exists():
        link.hardlink_to(path)
    return link


def model(options: argparse.Namespace) -> Any:
    return vp.ViewPass(options.clusters, random_state=0)


def scan(options: argparse.Namespace) -> dict[str, Any]:
    """PyArrow, file by file."""

    def work() -> int:
        n_rows = 0
        for _ in range(options.copies):
            for path in sorted(options.folder.glob("*.parquet")):
                batches = pq.ParquetFile(path).iter_batches(columns=list(WIDTHS))
                n_rows += sum(batch.num_rows for batch in batches)
        return n_rows

    return measured(work)


def local(options: argparse.Namespace) -> dict[str, Any]:
    fitted, given = model(options).set_params(n_threads=N_WORKERS), source(options)
    vp.ViewPass(2, random_state=0).fit([np.eye(8)])
    return {**measured(lambda: len(fitted.fit(given).labels_)), "bits": bits(fitted)}


def on(engine: str) -> Callable[[argparse.Namespace], dict[str, Any]]:
    """The job of a cluster on this machine."""

    def job(options: argparse.Namespace) -> dict[str, Any]:
        fitted, given = model(options), source(options)
        with connected(engine, None, N_WORKERS) as cluster, tempfile.TemporaryDirectory() as first:
            files.write(Path(first), 30_000, "varying")
            vp.distributed.fit(vp.ViewPass(2, random_state=0), vp.scan(first), cluster.engine)
            found = measured(lambda: len(vp.distributed.fit(fitted, given, cluster.engine).labels_))
        return {**found, "bits": bits(fitted)}

    return job


JOBS = {"scan": scan, "local": local, **{name: on(name) for name in ENGINES[2:]}}


def bits(fitted: Any) -> str:
    """A hash of the labels and the model's sums."""
    return sha256(fitted.labels_.tobytes() + pickle.dumps(fitted.counts_)).hexdigest()[:16]


def measured(work: Callable[[], int]) -> dict[str, Any]:
    """Processor seconds and peak memory of this process and those below it, and seconds.

    The processor seconds of measuring memory are left out.
    """
    peak, watched, over = 0.0, 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak, watched
        while not over.wait(0.5):
            peak, watched = max(peak, memory()), time.thread_time()

    watching = threading.Thread(target=watch, daemon=True)
    began, before = time.perf_counter(), processor_seconds()
    watching.start()
    n_rows = work()
    spent, seconds = processor_seconds() - before, time.perf_counter() - began
    over.set()
    watching.join()
    spent -= watched
    return {"rows": n_rows, "processor": spent, "seconds": seconds, "mb": max(peak, memory()) / 2**20}


def _tree() -> list[psutil.Process]:
    me = psutil.Process()
    return [me, *me.children(recursive=True)]


def processor_seconds() -> float:
    found = 0.0
    for process in _tree():
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        found += times.user + times.system
    return found


def memory() -> float:
    found = 0.0
    for process in _tree():
        try:
            found += process.memory_full_info().pss
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def table(found: dict[str, list[dict[str, Any]]]) -> str:
    """The least processor seconds of each, which other work disturbs least."""
    base = min(run["processor"] for run in found.get("local", next(iter(found.values()))))
    lines = [
        "| engine | processor s | rows per processor second | times local | peak MB |",
        "|---|---|---|---|---|",
    ]
    for job, runs in found.items():
        spent, rows = [run["processor"] for run in runs], runs[0]["rows"]
        least = min(spent)
        lines.append(
            f"| {job} | {least:.1f} to {max(spent):.1f} | {rows / least:,.0f} | {least / base:.2f} | "
            f"{max(run['mb'] for run in runs):.0f} |"
        )
    different = {run["bits"] for runs in found.values() for run in runs if "bits" in run}
    lines.append(f"\n{rows:,} rows; {len(different)} result(s) to the bit.")
    return "\n".join(lines)


class Counted(Engine):
    """Parts one after the other in this process; counts what an engine would send."""

    def __init__(self, given: Any) -> None:
        self.parts = vp.distributed.parts_of(given, N_WORKERS)
        self.n_rows = self.parts[-1].stop
        self.sent = dict[str, int]()

    def each(self, task: Any) -> Iterable[Any]:
        name = task.func.__name__
        self._count(f"{name}, to each worker", task)
        for part in self.parts:
            found = part.run(task)
            self._count(f"{name}, back", found)
            yield found

    def total(self, task: Any, combine: Callable[[Sequence[Any]], Any]) -> Any:
        return combine(list(self.each(task)))

    def _count(self, what: str, value: Any) -> None:
        self.sent[what] = self.sent.get(what, 0) + len(pickle.dumps(value))


def traffic(options: argparse.Namespace) -> str:
    """Bytes that travel in a fit, by what they are."""
    engines = list[Counted]()

    def opened(given: Any) -> Counted:
        engines.append(Counted(given))
        return engines[0]

    vp.distributed.fit(model(options), source(options), opened)
    (engine,) = engines
    lines = [f"\n{len(engine.parts)} partitions, {engine.n_readings} readings; bytes that travel:"]
    lines += [f"  {what}: {n_bytes:,}" for what, n_bytes in engine.sent.items()]
    whole = sum(engine.sent.values())
    return "\n".join([*lines, f"  in all: {whole:,} ({whole / engine.n_rows:.2f} per row)"])


if __name__ == "__main__":
    sys.exit(main())
