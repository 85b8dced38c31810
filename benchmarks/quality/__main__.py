"""`python -m benchmarks.quality`: runs missing cells, then writes tables, chart and checks."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.drawing import draw_if_possible
from benchmarks.quality import report
from benchmarks.quality.cells import Cells
from benchmarks.quality.methods import METHODS, chosen
from benchmarks.quality.page import fill_page
from benchmarks.quality.run import Wanted, fill
from benchmarks.quality.sets import RATES, SETS
from benchmarks.quality.summary import Results, results


def main() -> int:
    options = _options()
    cells = Cells(options.out / "cells.jsonl")
    wanted = Wanted(
        tuple(options.only), tuple(options.methods), options.seeds, options.threads, tuple(options.missing)
    )
    again = set(chosen(options.again))
    if not options.report:
        cells.forget(key for key in wanted.all() if key.method in again)
        fill(cells, wanted, options.jobs)
    found = results(cells.known.values(), options.seeds)
    _write(found, options.seeds, options.out)
    if options.page:
        fill_page(options.page, report.brief(found, options.seeds))
    return 0


def _write(found: Results, seeds: int, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "quality.md").write_text(report.text(found, seeds))
    print(report.brief(found, seeds))
    draw_if_possible("benchmarks.quality.chart", found, folder)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("--only", type=_names, default=list(SETS), help="sets, by name")
    parser.add_argument("--methods", type=_names, default=list(METHODS), help="by name or prefix")
    parser.add_argument("--again", type=_names, default=[], help="methods whose cells are run again")
    parser.add_argument("--missing", type=_names, default=list(RATES), help="rates: 0.3,0.4")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--threads", type=int, default=1, help="threads of each process")
    parser.add_argument("--report", action="store_true", help="run nothing, only write the report")
    parser.add_argument("--out", type=Path, default=Path("out/quality"))
    parser.add_argument("--page", type=Path, help="page to put the tables into: docs/measured/quality.md")
    options = parser.parse_args()
    for what, names, known in (
        ("--only", options.only, SETS),
        ("--methods", options.methods, METHODS),
        ("--again", options.again, METHODS),
    ):
        for each in names:
            if each not in known and (known is SETS or not chosen([each])):
                parser.error(f"{what} {each}: choose from {', '.join(known)}")
    options.methods = chosen(options.methods)
    if not set(options.missing) <= set(RATES):
        parser.error(f"--missing: choose from {', '.join(RATES)}")
    if options.seeds < 1:
        parser.error("--seeds must be 1 or more")
    return options


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


if __name__ == "__main__":
    sys.exit(main())
