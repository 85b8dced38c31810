"""`python -m benchmarks.streams`: labels as rows are read, ViewPass beside the peers, in one run.

python -m benchmarks.streams --out out/streams [--sets rbf2,rbf3] [--methods viewpass,BIRCH] [--seeds 10]

RBF2, RBF3 and fertility-income: NMI per block of 1,000 rows, averaged (noise is a class). SDO streams: one
adjusted Rand index over the whole stream; `+outliers`: with a tenth more rows, uniform in the box of all.
`own`: streams of `viewpass.evaluate.make_stream`; `own_late`: a class of 5 % of the rows appears after half
of them; `own_still`: in a million rows only rates of absence drift. Peers run with their defaults, and with
settings tuned on the labels of the first tenth of each stream. Cells that are done are kept in the folder. A
method that takes longer than `--limit` processor seconds is scored on the rows it has read, and marked.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.streams.methods import METHODS, Method, label
from benchmarks.streams.page import Cell, tables
from benchmarks.streams.sets import OWN, SDO, StreamSet, streams
from benchmarks.streams.tuning import tuned
from viewpass.evaluate import event_scores

SETS = (
    "rbf2",
    "rbf3",
    "fertility_income",
    *(f"sdo_{kind}" for kind in SDO),
    *(f"sdo_{kind}+outliers" for kind in SDO),
    *OWN,
)
TOLERANCE = 5000  # rows within which an event must be told


def measure(method: Method, settings: str, stream: StreamSet, seed: int, limit: float) -> Cell:
    """One cell."""
    place = {
        "set": stream.name,
        "stream": stream.number,
        "method": method.name,
        "settings": settings,
        "seed": seed,
    }
    try:
        given = tuned(method, stream, limit) if settings == "tuned" else {}
        found = label(method, stream, seed, given, limit)
    except Exception as problem:  # of a peer: the table says so
        if method.library is None:
            raise
        return place | {"failed": f"{type(problem).__name__}: {problem}"[:200]}
    n_rows = len(found.labels)
    cell: Cell = place | {
        "score": stream.score(found.labels),
        "rows": n_rows,
        "share": n_rows / len(stream.classes),
        "seconds": found.seconds,
        "n_clusters": found.n_clusters,
        "given": given,
    }
    if method.library is None and (stream.history or stream.name in OWN):
        cell["events"] = event_scores(stream.history, found.events, tolerance=TOLERANCE).__dict__
    return cell


def cells(options: argparse.Namespace) -> Iterator[tuple[Method, str, StreamSet, int]]:
    """What is to be measured: of sets of several streams one seed each."""
    for name in options.sets:
        some = list(streams(name, options.seeds))
        for method in METHODS:
            if not any(method.name.startswith(each) for each in options.methods):
                continue
            for settings in ("default", "tuned") if method.ranges and options.tuned else ("default",):
                several = range(
                    options.seeds if len(some) == 1 and method.seeded and settings == "default" else 1
                )
                for stream in some:
                    for seed in several:
                        yield method, settings, stream, seed


def main() -> None:
    options = _options()
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "cells.jsonl"
    done = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    keys = {_key(cell) for cell in done}
    missing = {method.library for method in METHODS if method.library and not _version(method.library)}
    for method, settings, stream, seed in cells(options):
        key = (stream.name, stream.number, method.name, settings, seed)
        if key in keys or method.library in missing:
            continue
        cell = measure(method, settings, stream, seed, options.limit)
        done.append(cell)
        with file.open("a") as lines:
            lines.write(json.dumps(cell) + "\n")
        print(*key, cell.get("failed", f"{cell.get('score', 0):.3f}"), file=sys.stderr, flush=True)
    text = _head(missing) + tables(sorted(done, key=_order), [method.name for method in METHODS])
    (options.out / "streams.md").write_text(text)
    print(text)


def _key(cell: Cell) -> tuple[Any, ...]:
    return cell["set"], cell["stream"], cell["method"], cell["settings"], cell["seed"]


def _order(cell: Cell) -> tuple[int, ...]:
    methods = [method.name for method in METHODS]
    return SETS.index(cell["set"]), methods.index(cell["method"]), cell["settings"] == "tuned"


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def _head(missing: set[str | None]) -> str:
    found = {method.library for method in METHODS if method.library} - missing
    lines = ["With " + ", ".join(f"{name} {_version(str(name))}" for name in sorted(map(str, found))) + "."]
    lines += [f"Not installed, so not measured: {name}." for name in sorted(map(str, missing))]
    lines += [f"{method.name}: {method.note}." for method in METHODS if method.note]
    return "  \n".join(lines) + "\n\n"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/streams"))
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--methods", default=",".join(method.name.split(",")[0] for method in METHODS))
    parser.add_argument("--seeds", type=int, default=10, help="seeds, or streams of a set")
    parser.add_argument("--limit", type=float, default=600.0, help="processor seconds per cell")
    parser.add_argument("--no-tuned", dest="tuned", action="store_false")
    options = parser.parse_args()
    options.sets, options.methods = options.sets.split(","), options.methods.split(",")
    unknown = sorted(set(options.sets) - set(SETS))
    if unknown:
        parser.error(f"--sets knows {', '.join(SETS)}, not {', '.join(unknown)}")
    return options


if __name__ == "__main__":
    main()
