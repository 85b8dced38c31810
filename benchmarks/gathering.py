"""What reasons and summaries cost a run: processor seconds of `viewpass fit` with and without gathering them.

python -m benchmarks.gathering [--rows 1000000] [--runs 3] [--anchors auto]

Made rows: 100 clusters, views of 32 and 16 columns, a fifth of each missing, in a Parquet file. Without:
nothing is counted, sampled or learnt beside the clusters, and labels are written without confidence. The
summary, which reads the label file, is timed apart; the page of the report is left out. One thread, least of
the runs.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import viewpass as vp
from viewpass.cluster.runs.run import Run, RunOptions
from viewpass.cluster.runs.sampled_rows import RowSampler
from viewpass.core.state.census import Census
from viewpass.store.folder import RunFolder

N_CLUSTERS, WIDTHS, MISSING = 100, (32, 16), 0.2
BLOCK = 2**16


def write_rows(path: Path, n_rows: int) -> None:
    """Made rows in a Parquet file, block by block."""
    rng = np.random.default_rng(0)
    centres, writer = [rng.normal(size=(N_CLUSTERS, width)) for width in WIDTHS], None
    for start in range(0, n_rows, BLOCK):
        n = min(BLOCK, n_rows - start)
        group, columns = rng.integers(N_CLUSTERS, size=n), {"item": pa.array(np.arange(start, start + n))}
        for v, own in enumerate(centres):
            x = (own[group] + rng.normal(size=(n, own.shape[1]))).astype(np.float32)
            absent = pa.array(rng.random(n) < MISSING)
            columns[f"view{v}"] = pa.FixedSizeListArray.from_arrays(x.reshape(-1), x.shape[1], mask=absent)
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema, use_dictionary=False, compression="none")
        writer.write_table(table)
    if writer is not None:
        writer.close()


def nothing_gathered() -> ExitStack:
    """Fits as if there were no reasons and no summary."""
    stack, labels = ExitStack(), "viewpass.cluster.runs.label_file"
    for name, made in (
        ("viewpass.core.stream.learn_reasons", lambda *_: None),
        (f"{labels}.needed", lambda _: False),
        (f"{labels}.write_reasons", lambda *_: None),
        (f"{labels}.reason_columns", lambda *_: None),
    ):
        stack.enter_context(patch(name, made))
    stack.enter_context(patch.object(RowSampler, "add", lambda *_: None))
    stack.enter_context(patch.object(Census, "none", lambda *_: None))
    return stack


def seconds(source: Path, folder: Path, settings: dict[str, Any]) -> float:
    """Processor seconds of a run."""
    shutil.rmtree(folder, ignore_errors=True)
    into = RunFolder(folder)
    run = Run(vp.OPIMC(N_CLUSTERS, random_state=0, n_threads=1, **settings), vp.scan(source, id="item"), into)
    into.open(resume=False)
    begin = time.process_time()
    run.go(RunOptions(10**9))
    into.close()
    return time.process_time() - begin


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--anchors", default="none", choices=("none", "auto"))
    given = parser.parse_args()
    settings: dict[str, Any] = {"scale": "unit"}
    if given.anchors == "none":
        settings["n_anchors"] = None
    found: dict[str, list[float]] = {"without": [], "with": [], "summary": []}
    with tempfile.TemporaryDirectory() as home:
        source, out = Path(home) / "rows.parquet", Path(home) / "out"
        write_rows(source, given.rows)
        for _ in range(given.runs):
            with nothing_gathered():
                found["without"].append(seconds(source, out, settings))
            found["with"].append(seconds(source, out, settings))
            begin = time.process_time()
            vp.summary(out)
            found["summary"].append(time.process_time() - begin)
    least = {name: min(times) for name, times in found.items()}
    whole = least["with"] + least["summary"]
    print(
        f"{given.rows:,} rows, {N_CLUSTERS} clusters, anchors {given.anchors}: "
        f"{least['without']:.2f} s without, "
        f"{least['with']:.2f} s with ({least['with'] / least['without'] - 1:.1%} more), "
        f"summary {least['summary']:.2f} s ({whole / least['without'] - 1:.1%} more in all)"
    )


if __name__ == "__main__":
    main()
