"""`python -m benchmarks.distributed`: a fit by Dask workers beside the local engine, and what it is made of.

Makes Parquet files of 92,457 x (512, 2000, 1000) in a temporary folder (a tenth of the rows without
--full). The local engine with 2 threads and 2 workers of 1 thread take turns on them; the parts of the
cost model are measured alone, and the model is asked for the runs that were measured, and for runs that
nobody could measure here.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import cost, machine, made

WIDTHS, N_CLUSTERS, ROWS = (512, 2000, 1000), 31, 92_457
FULL_SIZE = 15_410  # rows of a chunk: three rounds of two workers
BOUND = 1.25  # most times the seconds of the local engine
FAR_ROWS = 10_000_000_000


# Memory that a process once had is kept by it: where the host of a virtual machine takes back what is
# free, having it again takes seconds a gigabyte, now in one run and now in another.
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
    """Least of several, taking turns."""
    import viewpass as vp
    from viewpass.engine.dask.cluster import local_client

    plans = [(2, size), (2, size // 2), (1, size)]
    took: dict[Any, list[float]] = {"local": [], **{plan: [] for plan in plans}}
    iterations: dict[Any, int] = {}
    with local_client(2) as client:
        vp.dask.fit(estimator(size), vp.scan(folder), client=client, n_workers=2)  # compile, import
        estimator(2 * size, n_threads=2).fit(vp.scan(folder))
        for _ in range(n_runs):
            took["local"].append(timed(lambda: estimator(2 * size, n_threads=2).fit(vp.scan(folder)))[0])
            for width, rows in plans:
                seconds, model = timed(
                    lambda width=width, rows=rows: vp.dask.fit(
                        estimator(rows), vp.scan(folder), client=client, n_workers=width
                    )
                )
                took[width, rows].append(seconds)
                iterations[width, rows] = model.n_iter_
        start = {plan: started(client, folder, *plan) for plan in plans}
        parts = measure_parts(client, folder, size)
    runs = []
    for width, rows in plans:
        n_rounds = -(-n_rows // (width * rows))
        first = min(width * rows, n_rows)  # the start is one worker's: measured as a whole
        n_iter = max(iterations[width, rows] - start[width, rows][1], 0) / max(n_rounds - 1, 1)
        rest = n_rows - first
        n_read = max(rest - first, 0)  # the round after the start is read during the start
        shape = cost.Shape(rest, rows, width, N_CLUSTERS, sum(WIDTHS), n_iter, n_read=n_read)
        told = cost.seconds(shape, parts)
        seconds = min(took[width, rows])
        model = sum(told.values()) + start[width, rows][0]
        run = {"width": width, "size": rows, "seconds": seconds, "model": model, "parts": told}
        runs.append({**run, "start": start[width, rows][0], "n_iter": n_iter})
    return {
        "rows": n_rows,
        "local": min(took["local"]),
        "ratio": min(took[2, size]) / min(took["local"]),
        "measured": parts.__dict__,
        "runs": runs,
        "far": [far(width, rows, parts) for width in (100, 1000) for rows in (50_000, 500_000)],
    }


def far(width: int, size: int, parts: cost.Parts) -> dict[str, Any]:
    """What the model says of ten billion rows; a round has six inner iterations."""
    shape = cost.Shape(FAR_ROWS, size, width, N_CLUSTERS, sum(WIDTHS), 6.0)
    return {"width": width, "size": size, "rounds": shape.n_rounds, "parts": cost.seconds(shape, parts)}


def timed(work: Any) -> tuple[float, Any]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def started(client: Any, folder: Path, width: int, size: int) -> tuple[float, int]:
    """Seconds and inner iterations of a fit that ends with its start: reading, start and labels."""
    import viewpass as vp
    from viewpass.engine.dask.collected import Collected
    from viewpass.engine.dask.crew import Crew
    from viewpass.engine.dask.drive import Drive
    from viewpass.engine.dask.rows import rows_of
    from viewpass.engine.resumable import Position

    best, n_iter = float("inf"), 0
    for _ in range(2):
        model = estimator(size)
        source = model._read(vp.scan(folder), None, reset=True)
        rows, stream = rows_of(source), model._new_stream(source)
        drive = Drive(Crew(client), rows, source.schema, stream, Collected(rows.n_rows), size, width, 1)
        seconds, _ = timed(lambda drive=drive: next(drive.steps(Position())))
        best, n_iter = min(best, seconds), stream.model.n_iter
    return best, n_iter


def measure_parts(client: Any, folder: Path, size: int) -> cost.Parts:
    """Each part alone: those on rows by one worker, while the other does the same."""
    from viewpass.engine.dask.crew import Crew

    crew = Crew(client)
    workers = crew.workers()
    found = []
    for _ in range(2):
        asked = [crew.submit(on_a_worker, str(folder), size, n, worker=w) for n, w in enumerate(workers)]
        found.append(np.max(crew.gather(asked), axis=0))  # a round waits for the slower
    read, look, again, end, update = np.min(found, axis=0)
    few, many = asking(crew, workers, 1, 0), asking(crew, workers, 40, 0)
    loaded = asking(crew, workers, 1, 4_000_000)
    task = max((many - few) / 39, 0.0)
    return cost.Parts(read, look, again, end, update, few, task, max(loaded - few, 0.0) / (3 * 4_000_000))


def on_a_worker(folder: str, size: int, number: int) -> list[float]:
    """Seconds a row of reading, looking, looking again and labelling; and of an update of the centres."""
    import viewpass as vp
    from viewpass.core.assign import Workspace
    from viewpass.core.model import Plan
    from viewpass.core.rounds import advance
    from viewpass.core.shares import Share
    from viewpass.core.step import Rules
    from viewpass.core.stream import Stream
    from viewpass.views.rows import MeasuredRows

    source = vp.scan(folder)
    read, chunk = timed(lambda: source.span(number * size, size))
    rules = Rules(0.1, 20, 1e-6, "mean")
    stream = Stream(Plan(N_CLUSTERS, rules, "random"), np.random.default_rng(0), Workspace(1))
    stream.feed(chunk.cut(0, chunk.n_rows // 2))  # centres as a later round finds them
    alone = Alone(Share(MeasuredRows(chunk)))
    whole, (_, stage) = timed(lambda: advance(alone, stream.model, rules, "x", again=False))
    look, again = alone.seconds["look"], alone.seconds["follow"]
    end, _ = timed(lambda: alone.share.labels(stage).copy())
    n_rows, n_iter = chunk.n_rows, alone.n_follow
    update = max(whole - look - again, 0.0) / n_iter
    return [read / n_rows, look / n_rows, again / n_rows / n_iter, end / n_rows, update]


class Alone:
    """One share that asks itself, with a watch in hand."""

    def __init__(self, share: Any) -> None:
        self.share, self.n_follow = share, 0
        self.seconds = {"look": 0.0, "follow": 0.0}

    def look(self, stage: Any) -> Any:
        seconds, tally = timed(lambda: self.share.look(stage))
        self.seconds["look"] += seconds
        return tally

    def follow(self, before: Any, after: Any) -> Any:
        seconds, tally = timed(lambda: self.share.follow(before, after))
        self.seconds["follow"] += seconds
        self.n_follow += 1
        return tally

    def row_sums(self) -> Any:
        return [self.share.row_sums()]


def nothing(held: Any, number: int) -> int:
    return number


def asking(crew: Any, workers: list[str], n_tasks: int, n_bytes: int) -> float:
    """Seconds of an inner iteration in which nobody has anything to do."""
    best = float("inf")
    for _ in range(8):
        payload = np.zeros(n_bytes // 8)

        def work(payload: Any = payload) -> None:
            held = crew.hold(payload)
            crew.gather(
                [crew.submit(nothing, held, n, worker=workers[n % len(workers)]) for n in range(n_tasks)]
            )

        best = min(best, timed(work)[0])
    return best


def text(found: dict[str, Any]) -> str:
    lines = [
        f"{found['rows']:,} rows x {WIDTHS}, {N_CLUSTERS} clusters, from Parquet.",
        "",
        f"local, 2 threads: {found['local']:.2f} s; 2 workers of 1 thread: "
        f"{found['runs'][0]['seconds']:.2f} s; ratio {found['ratio']:.2f} (at most {BOUND}).",
        "",
        "| workers x rows of a chunk | measured s | model s | off by |",
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
        parts = one["parts"]
        whole = sum(parts.values())
        rows = sum(parts[name] for name in ("reading", "first look", "looks again", "labels"))
        shares = [rows / whole, parts["latency"] / whole, parts["traffic"] / whole]
        told = " | ".join(f"{share:.1%}" for share in shares)
        lines.append(
            f"| {one['width']:,} x {one['size']:,} | {one['rounds']:,} | {whole / 3600:.1f} | {told} |"
        )
    names = {name: f"{value:.3g}" for name, value in found["measured"].items()}
    return "\n".join([*lines, "", f"Parts (seconds): {names}", ""])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distributed", description=__doc__)
    parser.add_argument("--full", action="store_true", help="all rows, instead of a tenth")
    parser.add_argument("--runs", type=int, default=3, help="the least of so many counts")
    parser.add_argument("--folder", type=Path, help="keep the files here, or take those that are here")
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
