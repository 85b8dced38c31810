"""`python -m benchmarks`: measures speed, prints the tables, writes them with JSON and a chart."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import machine, run, table
from benchmarks.drawing import draw_if_possible
from benchmarks.workloads import FAMILIES, QUICK_SHARE, WORKLOADS

SECTIONS = ("scaling", "first")


def main() -> int:
    options = _options()
    effort = run.Effort(1.0 if options.full else options.share, options.threads, options.runs)
    found: dict[str, Any] = {
        "machine": machine.facts(),
        "share": effort.share,
        "n_threads": effort.threads,
        "runs": effort.runs,
        "rows": [],
        "threads": [],
    }
    for workload in WORKLOADS:
        if workload.family in options.only:
            rows, threads = run.measure_workload(workload, effort)
            found["rows"] += rows
            found["threads"] += threads
    if "scaling" in options.only:
        found["scaling"] = run.measure_scaling(effort)
    if "first" in options.only:
        found["first_call"] = run.measure_first_call(effort)
    _write(found, options.out)
    failed = [row for row in found["rows"] if "failed" in row and row["method"].startswith("viewpass")]
    return 1 if failed else 0


def _write(found: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    words = table.text(found)
    print(words)
    (folder / "bench.md").write_text(words)
    (folder / "bench.json").write_text(json.dumps(found, indent=1) + "\n")
    draw_if_possible("benchmarks.chart", found, folder)


def _options() -> argparse.Namespace:
    everything = (*FAMILIES, *SECTIONS)
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--full", action="store_true", help="all rows instead of a tenth")
    parser.add_argument("--share", type=float, default=QUICK_SHARE, help="share of the rows, without --full")
    parser.add_argument(
        "--only", default=",".join(everything), help=f"a comma-separated choice of {','.join(everything)}"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3, help="number of runs; the fastest counts")
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    options = parser.parse_args()
    options.only = options.only.split(",")
    unknown = sorted(set(options.only) - set(everything))
    if unknown:
        parser.error(f"--only knows {', '.join(everything)}, not {', '.join(unknown)}")
    if not 0 < options.share <= 1:
        parser.error("--share must be above 0 and at most 1")
    return options


if __name__ == "__main__":
    sys.exit(main())
