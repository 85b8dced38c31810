"""`python -m benchmarks.files`: reads, clusters and labels a table larger than memory from Parquet files.

Writes the files to a temporary folder, then runs each job in a process of its own, in turn. PyArrow
alone reads the same columns into record batches (file by file, and as a data set). viewpass does `fit`
and `predict`, and the same two as the commands do them, into files.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine
from viewpass.evaluate.harness import memory

ROOT = Path(__file__).parents[1]
WIDTHS = {"image": 64, "text": 32}
MISSING = 0.3
FILE_ROWS, PART_ROWS = 1_000_000, 100_000
N_CLUSTERS, CHUNK_SIZE = 20, 8192
FULL, QUICK = 20_000_000, 1_000_000
BARS = {
    "fit": 3.0,
    "fit, default settings": 6.0,
    "predict": 1.3,
    "viewpass predict": 1.3,
}  # times the seconds of the faster plain scan, at most
MOST_MB = 700


def main() -> int:
    options = _options()
    if options.job:
        print(json.dumps(JOBS[options.job](options.folder)))
        return 0
    with tempfile.TemporaryDirectory(prefix="viewpass-files-") as kept:
        folder = options.folder or Path(kept)
        if not options.folder:
            write(folder, options.rows, options.kind)
        runs = [{job: _run(job, folder) for job in JOBS} for _ in range(options.runs)]
        n_bytes = sum(path.stat().st_size for path in folder.glob("*.parquet"))
    found = summary(runs, n_bytes, options.kind)
    print(text(found))
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "files.json").write_text(json.dumps(found, indent=1) + "\n")
        (options.out / "files.md").write_text(text(found))
    return 0


def write(
    folder: Path,
    n_rows: int,
    kind: str,
    seed: int = 0,
    group_rows: int | None = None,
    *,
    rings: bool = False,
) -> None:
    """Rows around 20 centres, or 20 rings, with 30 % of the lists of each view null."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    axes = 2 if rings else 1
    centres = {name: rng.standard_normal((axes, N_CLUSTERS, width)) for name, width in WIDTHS.items()}
    fields = [
        (name, pa.list_(pa.float32(), width if kind == "fixed" else -1)) for name, width in WIDTHS.items()
    ]
    schema = pa.schema([("item", pa.int64()), *fields])
    for number, first in enumerate(range(0, n_rows, FILE_ROWS)):
        with pq.ParquetWriter(folder / f"part-{number:03}.parquet", schema) as writer:
            parts = []
            for start in range(first, min(first + FILE_ROWS, n_rows), PART_ROWS):
                parts.append(_made(start, min(PART_ROWS, n_rows - start), centres, kind, rng))
            writer.write_table(pa.concat_tables(parts).cast(schema), group_rows)


def _made(start: int, n_rows: int, centres: dict[str, Any], kind: str, rng: np.random.Generator) -> Any:
    import pyarrow as pa

    cluster = rng.integers(N_CLUSTERS, size=n_rows)
    angle = 2 * np.pi * rng.random((n_rows, 1), dtype=np.float32)
    columns: dict[str, Any] = {"item": pa.array(np.arange(start, start + n_rows))}
    for name, width in WIDTHS.items():
        values = rng.standard_normal((n_rows, width), dtype=np.float32)
        axes = centres[name].astype(np.float32)
        if len(axes) == 1:
            values += axes[0][cluster]
        else:
            values += np.cos(angle) * axes[0][cluster] + np.sin(angle) * axes[1][cluster]
        absent = rng.random(n_rows) < MISSING
        mask = pa.array(absent)
        if kind == "fixed":
            columns[name] = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), width, mask=mask)
        else:
            offsets = np.concatenate([[0], np.cumsum(np.where(absent, 0, width))]).astype(np.int32)
            columns[name] = pa.ListArray.from_arrays(offsets, pa.array(values[~absent].ravel()), mask=mask)
    return pa.table(columns)


# ---- jobs


def scan_files(folder: Path) -> dict[str, Any]:
    """PyArrow, file by file, with its defaults."""
    import pyarrow.parquet as pq

    def work() -> int:
        n_rows = 0
        for path in sorted(folder.glob("*.parquet")):
            for batch in pq.ParquetFile(path).iter_batches(columns=list(WIDTHS)):
                n_rows += batch.num_rows
        return n_rows

    return _measured(work)


def scan_dataset(folder: Path) -> dict[str, Any]:
    """PyArrow, as a data set."""
    import pyarrow.dataset as ds

    def work() -> int:
        return sum(batch.num_rows for batch in ds.dataset(folder).to_batches(columns=list(WIDTHS)))

    return _measured(work)


def fit(folder: Path, **settings: Any) -> dict[str, Any]:
    """Cluster the table and label its rows."""
    import viewpass as vp

    _tiny(folder)
    model = _model().set_params(**settings)
    return _measured(lambda: len(model.fit_predict(vp.scan(folder))))


def predict(folder: Path) -> dict[str, Any]:
    """Label the table with a model of its first file."""
    import viewpass as vp

    _tiny(folder)
    model = _model().fit(vp.scan(min(folder.glob("*.parquet"))))
    return _measured(lambda: len(model.predict(vp.scan(folder))))


def fit_run(folder: Path, *, stream_labels: bool = False) -> dict[str, Any]:
    """The same into a run folder, as the command `viewpass fit` does: labels, checkpoints and all."""
    import viewpass as vp
    from viewpass.runs.folder import RunFolder
    from viewpass.runs.run import Run, RunOptions

    _tiny(folder)
    with tempfile.TemporaryDirectory(prefix="viewpass-run-") as out:
        place = RunFolder(Path(out) / "run")
        place.open(resume=False)
        run = Run(_model(), vp.scan(folder), place, stream_labels=stream_labels)
        return _measured(lambda: int(run.go(RunOptions())["rows"]))


def predict_file(folder: Path) -> dict[str, Any]:
    """The same into a label file, as the command `viewpass predict` does."""
    import viewpass as vp
    from viewpass.labels.writing import write_labels

    _tiny(folder)
    model = _model().fit(vp.scan(min(folder.glob("*.parquet"))))
    with tempfile.TemporaryDirectory(prefix="viewpass-run-") as out:
        path = Path(out) / "labels.parquet"

        def work() -> int:
            return write_labels(model, vp.scan(folder), path, watch=_unwatched)[0]

        return _measured(work)


def _unwatched(*progress: Any) -> None:
    pass


JOBS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "scan, file by file": scan_files,
    "scan, data set": scan_dataset,
    "fit": fit,
    "fit, one read": lambda folder: fit(folder, compute_labels=False),
    "fit, default settings": lambda folder: fit(folder, scale="auto", consensus="auto"),
    "viewpass fit": fit_run,
    "viewpass fit --stream-labels": lambda folder: fit_run(folder, stream_labels=True),
    "predict": predict,
    "viewpass predict": predict_file,
}


def _model() -> Any:
    import viewpass as vp

    return vp.ViewPass(N_CLUSTERS, scale="unit", consensus="plain", random_state=0)


def _tiny(folder: Path) -> None:
    """Load what a first call loads."""
    import pyarrow.parquet as pq

    import viewpass as vp

    opened = pq.ParquetFile(min(folder.glob("*.parquet")), pre_buffer=False, buffer_size=2**20)
    few = next(opened.iter_batches(batch_size=2 * CHUNK_SIZE, columns=list(WIDTHS)))
    _model().fit(vp.scan(few)).predict(vp.scan(few))
    vp.scan(min(folder.glob("*.parquet")), views=list(WIDTHS))  # reads the footer alone


def _measured(work: Callable[[], int]) -> dict[str, Any]:
    """Seconds, peak memory, and the growth of memory after the first tenth of the time."""
    held: list[tuple[float, int]] = []
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.05):
            held.append((time.perf_counter(), memory.held()))

    watcher = threading.Thread(target=watch)
    began, used = time.perf_counter(), time.process_time()
    watcher.start()
    n_rows = work()
    seconds, used = time.perf_counter() - began, time.process_time() - used
    ended.set()
    watcher.join()
    late = [size for moment, size in held if moment >= began + 0.1 * seconds]
    return {
        "rows": n_rows,
        "seconds": seconds,
        "cpu_seconds": used,
        "peak_mb": memory.peak() / 2**20,
        "growth_mb": (max(late) - late[0]) / 2**20 if late else 0.0,
    }


# ---- results


def summary(runs: list[dict[str, Any]], n_bytes: int, kind: str) -> dict[str, Any]:
    """The least seconds and the most memory of each job, and whether the targets are met."""
    jobs = {
        job: {
            "seconds": min(run[job]["seconds"] for run in runs),
            "cpu_seconds": min(run[job]["cpu_seconds"] for run in runs),
            "peak_mb": max(run[job]["peak_mb"] for run in runs),
            "growth_mb": max(run[job]["growth_mb"] for run in runs),
        }
        for job in runs[0]
    }
    scan = min(jobs[job]["seconds"] for job in jobs if job.startswith("scan"))
    return {
        "machine": machine.facts(),
        "rows": runs[0]["fit"]["rows"],
        "bytes": n_bytes,
        "kind": kind,
        "runs": len(runs),
        "jobs": jobs,
        "times_scan": {job: numbers["seconds"] / scan for job, numbers in jobs.items()},
        "held": {
            **{job: jobs[job]["seconds"] <= most * scan for job, most in BARS.items()},
            "memory": max(jobs[job]["peak_mb"] for job in BARS) <= MOST_MB,
        },
    }


def text(found: dict[str, Any]) -> str:
    lines = [
        f"{found['rows']:,} rows x {tuple(WIDTHS.values())} float32 as {found['kind']} columns, "
        f"{found['bytes'] / 1e9:.1f} GB of Parquet; least of {found['runs']} runs",
        "",
        "| job                | seconds | M rows/s | x scan | CPU s | peak MB | growth MB |",
        "| ------------------ | ------: | -------: | -----: | ----: | ------: | --------: |",
    ]
    for job, numbers in found["jobs"].items():
        rate = found["rows"] / numbers["seconds"] / 1e6
        lines.append(
            f"| {job:18} | {numbers['seconds']:7.2f} | {rate:8.2f} | {found['times_scan'][job]:6.2f} | "
            f"{numbers['cpu_seconds']:5.1f} | {numbers['peak_mb']:7.0f} | {numbers['growth_mb']:9.0f} |"
        )
    said = [f"{name}: {'yes' if held else 'no'}" for name, held in found["held"].items()]
    most = [f"{job} within {times:.2f} x scan" for job, times in BARS.items()]
    bars = ", ".join([*most, f"memory at most {MOST_MB} MB"])
    return "\n".join([*lines, "", f"{bars}: {', '.join(said)}", ""])


def _run(job: str, folder: Path) -> dict[str, Any]:
    program = [sys.executable, "-m", "benchmarks.files", "--job", job, "--folder", str(folder)]
    done = subprocess.run(program, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.files", description=__doc__)
    parser.add_argument("--full", action="store_true", help=f"{FULL:,} rows instead of {QUICK:,}")
    parser.add_argument("--rows", type=int, help="number of rows")
    parser.add_argument("--kind", choices=("list", "fixed"), default="list", help="type of the columns")
    parser.add_argument("--runs", type=int, default=3, help="number of runs; the fastest counts")
    parser.add_argument("--folder", type=Path, help="folder with files written before, which are kept")
    parser.add_argument("--out", type=Path, help="write files.json and files.md there")
    parser.add_argument("--job", choices=list(JOBS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.rows = options.rows or (FULL if options.full else QUICK)
    return options


if __name__ == "__main__":
    sys.exit(main())
