"""int8 beside float32: memory, time and clusters of the same rows (`python -m benchmarks.quantised`).

A real data set is rounded to int8 with a scale per column: its largest absolute value over 127. The arrays
are in memory. Quality is that of the rows as they are; for memory and time they are repeated `--copies`
times. Each fit runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

import numpy as np

import viewpass as vp
from benchmarks.engines import measured
from benchmarks.real import bundle_of
from viewpass.evaluate.scores import nmi

KINDS = ("float32", "int8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quantised", description=__doc__)
    parser.add_argument("--data", default="mnist70k_3v")
    parser.add_argument("--copies", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--job", choices=KINDS)
    options = parser.parse_args()
    if options.job:
        print(json.dumps(job(options)))
        return 0
    found = {kind: _run(kind, options) for kind in KINDS}
    plain, packed = (found[kind] for kind in KINDS)
    print("| rows | processor s | peak MB | NMI by seed |\n|---|---|---|---|")
    for kind, one in found.items():
        scores = ", ".join(f"{score:.4f}" for score in one["nmi"])
        print(f"| {kind} | {one['processor']:.1f} | {one['mb']:.0f} | {scores} |")
    gaps = np.subtract(packed["nmi"], plain["nmi"])
    print(f"\n{plain['rows']:,} rows for memory and time. int8 over float32: ", end="")
    print(f"processor {packed['processor'] / plain['processor']:.2f}, ", end="")
    print(f"memory {packed['mb'] / plain['mb']:.2f}, mean NMI {gaps.mean():+.4f} (sd {gaps.std(ddof=1):.4f})")
    return 0


def _run(kind: str, options: argparse.Namespace) -> dict[str, Any]:
    words = ["-m", "benchmarks.quantised", "--data", options.data, "--job", kind]
    words += ["--copies", str(options.copies), "--seeds", str(options.seeds)]
    ended = subprocess.run([sys.executable, *words], check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def job(options: argparse.Namespace) -> dict[str, Any]:
    """The fits of one kind of rows."""
    bundle = bundle_of(options.data)
    labels = bundle.labels
    made = {name: packed(rows, options.job) for name, rows in bundle.views.items()}
    del bundle
    n_clusters = len(np.unique(labels))
    seeds = range(options.seeds)
    fitted = [vp.ViewPass(n_clusters, random_state=seed).fit(source(made)) for seed in seeds]
    scores = [nmi(labels, model.labels_) for model in fitted]
    del fitted
    many = {name: (np.tile(rows, (options.copies, 1)), scale) for name, (rows, scale) in made.items()}
    del made
    given, model = source(many), vp.ViewPass(n_clusters, random_state=0)
    return {**measured(lambda: len(model.fit(given).labels_)), "nmi": scores}


def packed(rows: Any, kind: str) -> tuple[Any, Any]:
    """Rows as they are stored, and the scale of each column (None: as they are)."""
    rows = np.asarray(rows, dtype=np.float32)
    if kind == "float32":
        return rows, None
    most = np.abs(rows).max(axis=0)
    scale = np.where(most > 0, most, 1).astype(np.float32) / np.float32(127)
    return np.rint(rows / scale).astype(np.int8), scale


def source(made: dict[str, tuple[Any, Any]]) -> Any:
    scales = {name: scale for name, (_, scale) in made.items() if scale is not None}
    return vp.scan({name: rows for name, (rows, _) in made.items()}, quantised=scales or None)


if __name__ == "__main__":
    sys.exit(main())
