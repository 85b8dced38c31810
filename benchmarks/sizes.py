"""Processor seconds of a fit by number of rows: `python -m benchmarks.sizes`, on one thread.

viewpass   ViewPass with default settings, labels included
KMeans     scikit-learn's, default settings, on the columns of both views together
HDBSCAN    the same

Rows have two views of 256 and 128 columns, of ten clusters that overlap. No view is missing: the others
need all of them. The least of the runs counts. Set OPENBLAS_NUM_THREADS=1 and OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans

from benchmarks.drawing import draw_if_possible
from viewpass import ViewPass

SIZES = (100, 300, 1000, 2000, 4000, 16384)
WIDTHS, N_CLUSTERS, APART = (256, 128), 10, 3.0
MOST_HDBSCAN = 4000  # rows: its time grows with their square
Seconds = dict[str, list[float]]


def made(n_rows: int) -> list[np.ndarray]:
    """The views of so many rows; centres are APART times as long as the noise of one column."""
    rng = np.random.default_rng(0)
    group = rng.integers(N_CLUSTERS, size=n_rows)
    centres = [rng.normal(size=(N_CLUSTERS, width)) * APART / np.sqrt(width) for width in WIDTHS]
    return [(own[group] + rng.normal(size=(n_rows, own.shape[1]))).astype(np.float32) for own in centres]


def seconds(fit: Callable[[], object], n_runs: int) -> float:
    """The least processor time of the runs."""
    found = []
    for _ in range(n_runs):
        began = time.process_time()
        fit()
        found.append(time.process_time() - began)
    return min(found)


def measured(n_runs: int) -> Seconds:
    """Seconds of each method, by number of rows."""
    found: Seconds = {"viewpass": [], "KMeans": [], "HDBSCAN": []}
    for n_rows in SIZES:
        views = made(n_rows)
        table = np.hstack(views)
        fits = {
            "viewpass": lambda v=views: ViewPass(N_CLUSTERS, random_state=0, n_threads=1).fit(v),
            "KMeans": lambda t=table: KMeans(N_CLUSTERS, random_state=0).fit(t),
            "HDBSCAN": lambda t=table: HDBSCAN().fit(t),
        }
        for name, fit in fits.items():
            asked = name != "HDBSCAN" or n_rows <= MOST_HDBSCAN
            found[name].append(seconds(fit, n_runs) if asked else np.nan)
    return found


def table(found: Seconds) -> str:
    """The table of docs/measured/speed.md."""
    lines = [f"| rows | {' | '.join(found)} |", "|---:|" + "---:|" * len(found)]
    for place, n_rows in enumerate(SIZES):
        lines.append(f"| {n_rows:,} | {' | '.join(_shown(each[place]) for each in found.values())} |")
    return "\n".join(lines)


def _shown(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sizes", description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("docs/images"), help="folder of the picture")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    seconds(lambda: ViewPass(2, random_state=0).fit(made(100)), 1)  # what is loaded at the first fit
    found = measured(options.runs)
    print(table(found))
    draw_if_possible("benchmarks.sizes_chart", found, options.out)


if __name__ == "__main__":
    main()
