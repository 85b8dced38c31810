"""Default settings by Dask workers beside one process, on narrow rows (`python -m benchmarks.workers`).

The rows are made: two views of 64 and 32 columns, ten clusters that overlap, each view missing in .3 of the
rows, in ten Parquet files. Runs take turns, and the least of each counts. The start of the workers does not.
The barriers are how often the driver waits for all workers.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import viewpass as vp
from viewpass.engines.dask.workers import local_client
from viewpass.engines.progress import Progress

WIDTHS, N_CLUSTERS, N_FILES, MISSING = (64, 32), 10, 10, 0.3
N_WORKERS = 2


def write(folder: Path, n_rows: int) -> list[str]:
    """The files."""
    rng = np.random.default_rng(0)
    centres = [rng.standard_normal((N_CLUSTERS, width)).astype(np.float32) for width in WIDTHS]
    files = []
    for number in range(N_FILES):
        group = rng.integers(N_CLUSTERS, size=n_rows // N_FILES)
        views = {}
        for v, centre in enumerate(centres):
            noise = rng.standard_normal((len(group), centre.shape[1]), dtype=np.float32)
            values, lacks = centre[group] + 1.5 * noise, rng.random(len(group)) < MISSING
            ends = np.cumsum(np.where(lacks, 0, centre.shape[1]))
            given = np.append(0, ends).astype(np.int32), values[~lacks].reshape(-1)
            views[f"view{v}"] = pa.ListArray.from_arrays(*map(pa.array, given), mask=pa.array(lacks))
        files.append(str(folder / f"{number}.parquet"))
        pq.write_table(pa.table(views), files[-1], row_group_size=100_000)
    return files


def timed(fit: Callable[..., Any], *given: Any, **settings: Any) -> tuple[float, Any]:
    """Seconds, and what was fitted."""
    began = time.perf_counter()
    model = fit(*given, **settings)
    return time.perf_counter() - began, model


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workers", description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    settings: dict[str, Any] = {"random_state": 0}
    here, there = list[float](), list[float]()
    with tempfile.TemporaryDirectory() as folder, local_client(N_WORKERS) as client:
        files = write(Path(folder), options.rows)
        for _ in range(options.runs):
            mine = vp.ViewPass(N_CLUSTERS, n_threads=N_WORKERS, **settings)
            seconds, one = timed(mine.fit, vp.scan(files))
            here.append(seconds)
            other, seen = vp.ViewPass(N_CLUSTERS, **settings), list[Progress]()
            given = {"client": client, "callback": seen.append}
            seconds, two = timed(vp.dask.fit, other, vp.scan(files), **given)
            there.append(seconds)
            if one.statistics_ != two.statistics_ or not np.array_equal(one.labels_, two.labels_):
                raise SystemExit("the two models differ.")
    shown = [", ".join(f"{each:.1f}" for each in every) for every in (here, there)]
    print(f"{options.rows:,} rows: one process {shown[0]} s, {N_WORKERS} workers {shown[1]} s")
    barriers = f"{seen[-1].pass_number + 1} barriers; the same sums and labels to the bit"
    print(f"{min(there) / min(here):.2f} times, the least of {options.runs}; {barriers}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
