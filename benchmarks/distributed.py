"""`python -m benchmarks.distributed`: a fit by Dask workers compared with the local engine, and its parts.

Writes Parquet files of 92,457 x (512, 2000, 1000) to a temporary folder (a tenth of the rows without
--full). The local engine with 2 threads, 2 workers of 1 thread and the parts of the cost model are
measured on them in turn; the model predicts the measured runs, and runs too large to measure.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import cost, machine, made, parts
from benchmarks.measure import timed

WIDTHS, N_CLUSTERS, ROWS = (512, 2000, 1000), 31, 92_457
FULL_SIZE = 15_410  # rows of a chunk: three rounds of two workers
BOUND = 1.25  # times the seconds of the local engine, at most
FAR_ROWS = 10_000_000_000
PROCESSORS = 2  # which the two workers and the driver share


# Processes keep the memory they once had: on a virtual machine whose host reclaims free memory, getting
# it back takes seconds per gigabyte, in some runs and not in others.
KEPT = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(2**35),
    "MALLOC_ARENA_MAX": "1",
}


def main() -> None:
    options = _options()
    if any(os.environ.get(name) != value for name, value in KEPT.items()):
        again = [sys.executable, "-m", "benchmarks.distributed", *sys.argv[1:]]
        os.execve(sys.executable, again, {**os.environ, **KEPT})
    n_rows = ROWS if options.full else ROWS // 10
    size = FULL_SIZE if options.full else FULL_SIZE // 10
    with tempfile.TemporaryDirectory(prefix="viewpass-distributed-") as made_here:
        folder = options.folder or Path(made_here)
        if not any(folder.glob("*.parquet")):
            write(folder, n_rows, group_rows=size)
        found = measure(folder, n_rows, size, options.runs)
    found["machine"] = machine.facts()
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "distributed.json").write_text(json.dumps(found, indent=1) + "\n")
    (options.out / "distributed.md").write_text(text(found))
    print(text(found))
    cost.draw(found, options.out / "distributed.svg")


def write(folder: Path, n_rows: int, group_rows: int) -> None:
    """Two files of fixed-size lists, nulls where a view is missing."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = made.dense(n_rows, widths=WIDTHS, n_classes=N_CLUSTERS, noise=3.0, missing=0.4, seed=1)
    columns = {}
    for number, view in enumerate(data.views):
        mask = pa.array(np.isnan(view[:, 0]))
        values = pa.array(np.nan_to_num(view).ravel())
        columns[f"view{number}"] = pa.FixedSizeListArray.from_arrays(values, view.shape[1], mask=mask)
    table = pa.table(columns)
    half = n_rows // 2 // group_rows * group_rows
    for number, part in enumerate((table.slice(0, half), table.slice(half))):
        pq.write_table(part, folder / f"part-{number}.parquet", row_group_size=group_rows)


def estimator(size: int, **more: Any) -> Any:
    import viewpass as vp

    settings = {"random_state": 0, "compute_labels": False, "init": "random", **more}
    return vp.OPIMC(N_CLUSTERS, chunk_size=size, **settings)


def measure(folder: Path, n_rows: int, size: int, n_runs: int) -> dict[str, Any]:
    """The least of several; runs and parts alternate, so that both see the machine at its fastest."""
    import viewpass as vp
    from viewpass.engine.dask.worker_pool import local_client

    plans = [(2, size), (2, size // 2), (1, size)]
    local: list[float] = []
    took: dict[Any, list[Run]] = {plan: [] for plan in plans}
    measured = []
    with local_client(2) as client:
        vp.dask.fit(estimator(2 * size), vp.scan(folder), client=client, n_workers=2)  # imports
        estimator(2 * size, n_threads=2).fit(vp.scan(folder))
        for _ in range(n_runs):
            local.append(timed(lambda: estimator(2 * size, n_threads=2).fit(vp.scan(folder)))[0])
            for plan in plans:
                took[plan].append(run(client, folder, *plan))
            measured.append(parts.measure(client, folder, size, N_CLUSTERS))
    # The least of the differences between requests would be 0.
    on_rows, asking = np.split(np.array(measured), [parts.ON_ROWS], axis=1)
    least = cost.Parts(*np.min(on_rows, axis=0), *np.median(asking, axis=0))
    runs = []
    for plan in plans:
        best = min(took[plan])
        shape = shaped(n_rows, size, *plan, best, least)
        by_part = {"start": best.start, **cost.seconds(shape, least)}
        one = {"width": plan[0], "size": plan[1], "seconds": best.seconds, "model": sum(by_part.values())}
        runs.append(
            {**one, "parts": by_part, "n_iter": shape.n_iter, "all": [each.seconds for each in took[plan]]}
        )
    return {
        "rows": n_rows,
        "local": min(local),
        "all local": local,
        "ratio": min(took[2, size]).seconds / min(local),
        "measured": least.__dict__,
        "runs": runs,
        "far": [far(width, rows, least) for width in (100, 1000) for rows in (50_000, 500_000)],
    }


class Run(NamedTuple):
    """A fit by workers: its seconds, and inner iterations; and those of its start alone."""

    seconds: float
    start: float
    n_iter: int
    n_first: int


def run(client: Any, folder: Path, width: int, size: int) -> Run:
    """A fit; the time at which its start is complete is noted."""
    import viewpass as vp
    from viewpass.engine.dask.driver import Driver

    steps, seen = Driver.steps, []

    def watched(drive: Any, at: Any) -> Any:
        for position in steps(drive, at):
            seen.append((time.perf_counter(), drive.stream.model.n_iter))
            yield position

    Driver.steps = watched
    try:
        began = time.perf_counter()
        model = vp.dask.fit(estimator(width * size), vp.scan(folder), client=client, n_workers=width)
        seconds = time.perf_counter() - began
    finally:
        Driver.steps = steps
    return Run(seconds, seen[0][0] - began, model.n_iter_, seen[0][1])


def shaped(n_rows: int, n_group: int, width: int, size: int, done: Run, measured: cost.Parts) -> cost.Shape:
    """What is left of a run after its start, which one of the two workers computes."""
    first = min(width * size, n_rows)
    rest = n_rows - first
    n_rounds = max(-(-rest // (width * size)), 1)
    # Meanwhile the other reads the round that follows and its own chunk of the one after, if it has one.
    decoded = (n_group // size + 1) / 2  # a chunk is found by decoding its row group from the beginning
    spare = max(done.start - first * measured.read / PROCESSORS, 0.0) / measured.read / decoded
    ahead = min(rest, int(spare), (2 * width - 1) * size)
    return cost.Shape(
        *(rest, size, width, N_CLUSTERS, sum(WIDTHS), (done.n_iter - done.n_first) / n_rounds),
        n_read=rest - ahead,
        decoded=decoded,
        late=size if width > 1 else 0,  # both chunks of the round that follows are the other's
        processors=PROCESSORS,
    )


def far(width: int, size: int, measured: cost.Parts) -> dict[str, Any]:
    """The model for ten billion rows, with six inner iterations per round."""
    shape = cost.Shape(FAR_ROWS, size, width, N_CLUSTERS, sum(WIDTHS), 6.0)
    return {"width": width, "size": size, "rounds": shape.n_rounds, "parts": cost.seconds(shape, measured)}


def text(found: dict[str, Any]) -> str:
    lines = [
        f"{found['rows']:,} rows x {WIDTHS}, {N_CLUSTERS} clusters, from Parquet.",
        "",
        f"local, 2 threads: {found['local']:.2f} s; 2 workers of 1 thread: "
        f"{found['runs'][0]['seconds']:.2f} s; ratio {found['ratio']:.2f} (at most {BOUND}).",
        "",
        "| workers x rows per chunk | measured s | model s | off by |",
        "|---|---:|---:|---:|",
    ]
    for run in found["runs"]:
        off = run["model"] / run["seconds"] - 1
        lines.append(
            f"| {run['width']} x {run['size']:,} | {run['seconds']:.2f} | {run['model']:.2f} | {off:+.0%} |"
        )
    lines += ["", "| 10 billion rows: workers x chunk | rounds | hours | of it on rows | latency | traffic |"]
    lines += ["|---|---:|---:|---:|---:|---:|"]
    for one in found["far"]:
        by_part = one["parts"]
        whole = sum(by_part.values())
        rows = sum(by_part[name] for name in ("reading", "distance pass", "reassigning", "labels"))
        shares = [rows / whole, by_part["latency"] / whole, by_part["traffic"] / whole]
        across = " | ".join(f"{share:.0%}" for share in shares)
        lines.append(
            f"| {one['width']:,} x {one['size']:,} | {one['rounds']:,} | {whole / 3600:.1f} | {across} |"
        )
    lines += ["", "| of it, s | " + " | ".join(found["runs"][0]["parts"]) + " |"]
    lines += ["|---|" + "---:|" * len(found["runs"][0]["parts"])]
    for run in found["runs"]:
        across = " | ".join(f"{value:.2f}" for value in run["parts"].values())
        lines.append(f"| {run['width']} x {run['size']:,} | {across} |")
    names = {name: f"{value:.3g}" for name, value in found["measured"].items()}
    return "\n".join([*lines, "", f"Parts (seconds): {names}", ""])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distributed", description=__doc__)
    parser.add_argument("--full", action="store_true", help="all rows instead of a tenth")
    parser.add_argument("--runs", type=int, default=3, help="number of runs; the fastest counts")
    parser.add_argument("--folder", type=Path, help="folder to keep the files in, or with files to use")
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
