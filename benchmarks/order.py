"""`python -m benchmarks.order`: sets sorted by class and shuffled, with and without births of anchors.

Prints a table, and draws NMI along the stream of Digit: that of the rows read so far, under the model so far.
`--default` compares default settings on shuffled rows instead, seed by seed; `--sorted` default settings on
both orders, with births and without; `--small` a warm-up and chunks of 200 rows of Digit, all else default.
"""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import Data
from benchmarks.drawing import draw_if_possible
from benchmarks.quality.sets import DIGIT, SETS
from viewpass import OPIMC
from viewpass.errors import DataWarning
from viewpass.evaluate import nmi

STEP = 200  # rows of the warm-up and of each chunk of Digit
# Rows of the warm-up and of a chunk, and the scale, which few rows of one class cannot tell.
ASKED: dict[str, tuple[int, int | str, str]] = {
    DIGIT: (STEP, STEP, "unit"),
    "aloi10": (200, 100, "standard"),
    "landuse21": (210, 200, "unit"),
    "hw2sources": (STEP, STEP, "unit"),
    "mnist_hog5000": (500, 500, "unit"),
    "mnist70k_3v": (4000, "auto", "unit"),
}


def made(name: str, missing: str, seed: int, *, is_sorted: bool) -> Data:
    """The rows of a set, shuffled by the seed, then sorted by class if asked for."""
    return replace(SETS[name], sorted_by_class=is_sorted).make(missing, seed)


def model(name: str, data: Data, seed: int, *, adaptive: bool) -> OPIMC:
    """The estimator of a cell: 20 anchors per cluster, of which a few rows carry fewer."""
    warmup, chunk_size, scale = ASKED[name]
    n_clusters = len(np.unique(data.classes))
    n_anchors = min(20 * n_clusters, data.n_rows // 5)
    if not adaptive:  # its anchors are all made at the start
        warmup = max(warmup, data.n_rows // 4)
    return OPIMC(
        n_clusters,
        n_anchors=n_anchors,
        consensus="graph",
        adaptive_anchors=adaptive,
        warmup=warmup,
        chunk_size=chunk_size,
        scale=scale,
        random_state=seed,
        n_threads=1,
    )


def score(data: Data, labels: np.ndarray) -> float:
    seen = labels >= 0
    return nmi(data.classes[: len(labels)][seen], labels[seen])


def cell(name: str, missing: str, n_seeds: int, *, is_sorted: bool, adaptive: bool) -> list[float]:
    """NMI of `labels_`, seed by seed."""
    found = []
    for seed in range(n_seeds):
        data = made(name, missing, seed, is_sorted=is_sorted)
        found.append(score(data, model(name, data, seed, adaptive=adaptive).fit(data.views).labels_))
    return found


def default_differences(name: str, missing: str, n_seeds: int) -> tuple[np.ndarray, np.ndarray]:
    """NMI under default settings without births, and with them, seed by seed."""
    found: list[list[float]] = []
    for seed in range(n_seeds):
        data = made(name, missing, seed, is_sorted=False)
        settings = {"n_clusters": len(np.unique(data.classes)), "random_state": seed, "n_threads": 1}
        fits = (OPIMC(adaptive_anchors=adaptive, **settings).fit(data.views) for adaptive in (False, True))
        found.append([score(data, fit.labels_) for fit in fits])
    without, births = np.array(found).T
    return without, births


def print_default(names: list[str], rates: list[str], n_seeds: int) -> None:
    """Print means, and the mean difference with its standard error."""
    print("| set | missing | without | with | difference (its standard error) |\n|---|---|---|---|---|")
    for name in names:
        for missing in rates:
            without, births = default_differences(name, missing, n_seeds)
            gain, error = np.mean(births - without), np.std(births - without, ddof=1) / np.sqrt(n_seeds)
            means = f"{without.mean():.3f} | {births.mean():.3f}"
            print(f"| {name} | {missing} | {means} | {gain:+.4f} ({error:.4f}) |", flush=True)


def print_sorted(names: list[str], n_seeds: int) -> None:
    """Print NMI under default settings of rows shuffled, sorted by class, and sorted without births."""
    print("| set | shuffled | sorted | sorted, no births |\n|---|---|---|---|")
    for name in names:
        found = []
        for is_sorted, adaptive in ((False, "auto"), (True, "auto"), (True, False)):
            own = []
            for seed in range(n_seeds):
                data = made(name, SETS[name].missing[0], seed, is_sorted=is_sorted)
                settings = {"adaptive_anchors": adaptive, "random_state": seed, "n_threads": 1}
                model = OPIMC(len(np.unique(data.classes)), **settings).fit(data.views)
                own.append(score(data, model.labels_))
            found.append(f"{np.mean(own):.3f} ({np.std(own, ddof=1):.3f})")
        print(f"| {name} | {' | '.join(found)} |", flush=True)


def print_small(rates: list[str], n_seeds: int) -> None:
    """Print NMI on Digit with a warm-up and chunks of STEP rows, and default settings apart from these."""
    print("| Digit, missing | shuffled | sorted |\n|---|---|---|")
    for missing in rates:
        found = []
        for is_sorted in (False, True):
            own = []
            for seed in range(n_seeds):
                data = made(DIGIT, missing, seed, is_sorted=is_sorted)
                settings = {"warmup": STEP, "chunk_size": STEP, "random_state": seed, "n_threads": 1}
                own.append(score(data, OPIMC(10, **settings).fit(data.views).labels_))
            found.append(f"{np.mean(own):.3f} ({np.std(own, ddof=1):.3f})")
        print(f"| {missing} | {' | '.join(found)} |", flush=True)


def curve(n_seeds: int, *, is_sorted: bool, adaptive: bool) -> list[float]:
    """Mean NMI of the rows read so far, after each chunk of Digit; provisional during a warm-up."""
    curves = []
    for seed in range(n_seeds):
        data = made(DIGIT, "0.3", seed, is_sorted=is_sorted)
        one = model(DIGIT, data, seed, adaptive=adaptive)
        scores = []
        for stop in range(STEP, data.n_rows + 1, STEP):
            one.partial_fit([view[stop - STEP : stop] for view in data.views])
            scores.append(score(data, one.predict([view[:stop] for view in data.views])))
        curves.append(scores)
    return [float(mean) for mean in np.mean(curves, axis=0)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.order", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--sets", default=",".join(ASKED), help=f"some of {','.join(ASKED)}")
    parser.add_argument("--default", action="store_true", help="default settings, rows shuffled")
    parser.add_argument("--sorted", action="store_true", help="default settings, both orders")
    parser.add_argument("--small", action="store_true", help="Digit, a warm-up and chunks of 200 rows")
    parser.add_argument("--missing", default="0.3,0.4")
    parser.add_argument("--out", type=Path, default=Path("build/order"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore", DataWarning)  # absent rows of some sets are rows of zeros
    if options.small:
        print_small(options.missing.split(","), options.seeds)
        return
    if options.sorted:
        print_sorted(options.sets.split(","), options.seeds)
        return
    if options.default:
        print_default(options.sets.split(","), options.missing.split(","), options.seeds)
        return
    ways = [(is_sorted, adaptive) for is_sorted in (True, False) for adaptive in (False, True)]
    print(
        "| set | missing | sorted | sorted, births | shuffled | shuffled, births |\n|---|---|---|---|---|---|"
    )
    found: dict[str, Any] = {"cells": {}}
    for name in options.sets.split(","):
        for missing in options.missing.split(","):
            each = [cell(name, missing, options.seeds, is_sorted=s, adaptive=a) for s, a in ways]
            found["cells"][f"{name}, {missing}"] = each
            print(
                f"| {name} | {missing} | " + " | ".join(f"{np.mean(one):.3f}" for one in each) + " |",
                flush=True,
            )
    if DIGIT in options.sets.split(","):
        found["rows"] = list(range(STEP, SETS[DIGIT].n_rows + 1, STEP))
        found["curves"] = [curve(options.seeds, is_sorted=s, adaptive=a) for s, a in ways]
        draw_if_possible("benchmarks.order_chart", found, options.out)
    (options.out / "order.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
