"""`python -m benchmarks.order`: sets sorted by class and shuffled, default settings.

With ids the order of rows makes no difference: the last column counts rows whose labels differ. Without them
rows are known by their numbers, so another order is another sample.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from benchmarks.data import Data
from benchmarks.quality.sets import DIGIT_SORTED, SETS
from viewpass import ViewPass
from viewpass.errors import DataWarning
from viewpass.evaluate import nmi
from viewpass.sources.arrays import ArraySource

LEAST_ROWS = 1000  # of a set that is run without being named


def labels(data: Data, order: np.ndarray, seed: int, *, ids: bool) -> np.ndarray:
    """Labels of a fit that read the rows in an order, given back in that of the data."""
    views = [view[order] for view in data.views]
    source = ArraySource(views, row_ids=order if ids else None)
    fitted = ViewPass(len(np.unique(data.classes)), random_state=seed, n_threads=1).fit(source)
    found = np.empty(len(order), dtype=np.int32)
    found[order] = fitted.labels_
    return found


def score(data: Data, found: np.ndarray) -> float:
    """NMI over the rows that have a label."""
    seen = found >= 0
    return float(nmi(data.classes[seen], found[seen]))


def row(name: str, n_seeds: int) -> str:
    """One line of the table."""
    scores, n_other = [], []
    for seed in range(n_seeds):
        data = SETS[name].make(SETS[name].missing[0], seed)
        shuffled, by_class = np.arange(data.n_rows), np.argsort(data.classes, kind="stable")
        pair = [labels(data, order, seed, ids=True) for order in (shuffled, by_class)]
        alone = labels(data, by_class, seed, ids=False)
        scores.append([score(data, found) for found in (*pair, alone)])
        n_other.append(int((pair[0] != pair[1]).sum()))
    means = " | ".join(f"{mean:.3f}" for mean in np.mean(scores, axis=0))
    return f"| {name} | {means} | {max(n_other)} |"


def main() -> None:
    large = [name for name, each in SETS.items() if each.n_rows > LEAST_ROWS and name != DIGIT_SORTED]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.order", description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sets", default=",".join(large), help=f"some of {','.join(SETS)}")
    options = parser.parse_args()
    warnings.simplefilter("ignore", DataWarning)  # absent rows of some sets are rows of zeros
    print("| set | shuffled | sorted | sorted, no ids | other labels |\n|---|---|---|---|---|")
    for name in options.sets.split(","):
        print(row(name, options.seeds), flush=True)


if __name__ == "__main__":
    main()
