"""Values missing inside views: viewpass's own way beside scikit-learn's imputers, on real data.

python -m benchmarks.gaps [--seeds 3] [--slow 1] [--rows 2000]

Of every view .3 of the rows are removed, and of the values that are left a share, at random or in blocks (a
quarter of the columns of a view for some rows). Imputers work on each view alone, on the rows that have it;
ViewPass then gets what they made, with the same settings. `--slow`: seeds for which IterativeImputer runs;
each takes minutes. Seconds are those of processors, so that they can be compared on a busy machine.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from itertools import product
from typing import Any

import numpy as np
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

import viewpass as vp
from benchmarks.real import DIGIT_VIEWS, bundle_of
from viewpass.evaluate import make_mask, nmi

VIEWS = {"mfeat": DIGIT_VIEWS, "mnist_hog5000": None}
SHARES = (0.1, 0.3, 0.5)
MISSING_VIEWS = 0.3


def load(name: str) -> tuple[list[Any], Any]:
    bundle = bundle_of(name)
    assert bundle.labels is not None
    chosen = VIEWS[name] or list(bundle.views)
    order = np.random.default_rng(0).permutation(bundle.n_rows)
    return [np.asarray(bundle.views[view], dtype=np.float64)[order] for view in chosen], bundle.labels[order]


def with_gaps(views: list[Any], share: float, pattern: str, seed: int) -> tuple[list[Any], Any]:
    """Views with values removed, and the mask of views that rows have."""
    rng = np.random.default_rng(seed)
    observed = make_mask("paper", len(views[0]), len(views), MISSING_VIEWS, random_state=seed)
    made = []
    for v, view in enumerate(views):
        x = view.copy()
        if pattern == "random":
            x[rng.random(x.shape) < share] = np.nan
        else:  # for each row one of four blocks of columns, with four times the probability
            blocks = np.arange(x.shape[1]) * 4 // x.shape[1]
            for block in range(4):
                hit = rng.random(len(x)) < share
                x[np.ix_(hit, blocks == block)] = np.nan
        x[~observed[:, v]] = np.nan
        made.append(x)
    return made, observed


def imputed(views: list[Any], imputer: Any) -> list[Any]:
    made = []
    for x in views:
        held = ~np.isnan(x).all(axis=1)
        out = np.full_like(x, np.nan)
        out[held] = imputer.fit_transform(x[held])
        made.append(out)
    return made


METHODS = {
    "fill": None,
    "local": None,
    "SimpleImputer": SimpleImputer(keep_empty_features=True),
    "KNNImputer": KNNImputer(keep_empty_features=True),
    "IterativeImputer": IterativeImputer(  # with all columns, or more rounds, it takes minutes per cell
        keep_empty_features=True, random_state=0, n_nearest_features=10, max_iter=3, tol=1e-2
    ),
}


def run(views: list[Any], labels: Any, method: str, seed: int) -> dict[str, float]:
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings: dict[str, Any] = {"random_state": seed}
        if METHODS[method] is None:
            settings["missing_entries"] = method
        else:
            views = imputed(views, METHODS[method])
        prepared = time.process_time() - begin
        found = vp.ViewPass(len(set(labels)), **settings).fit(views).labels_
    seconds = time.process_time() - begin
    held = found >= 0
    return {"nmi": nmi(labels[held], found[held]), "seconds": seconds, "imputing": prepared}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gaps", description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--slow", type=int, default=1)
    parser.add_argument("--only", default=",".join(METHODS))
    parser.add_argument("--data", default=",".join(VIEWS))
    parser.add_argument("--shares", type=float, nargs="*", default=SHARES)
    parser.add_argument("--patterns", default="random,blocks")
    parser.add_argument("--rows", type=int, help="of each set, at most")
    given = parser.parse_args()
    methods = given.only.split(",")
    print(f"| set | values missing | {' | '.join(methods)} |\n|{'---|' * (2 + len(methods))}")
    for name in given.data.split(","):
        views, labels = load(name)
        views, labels = [view[: given.rows] for view in views], labels[: given.rows]
        for share, pattern in product(given.shares, given.patterns.split(",")):
            runs = []
            for method in methods:
                seeds = range(given.slow if method == "IterativeImputer" else given.seeds)
                damaged = (with_gaps(views, share, pattern, seed)[0] for seed in seeds)
                runs.append([run(gaps, labels, method, seed) for seed, gaps in enumerate(damaged)])
                print(name, share, pattern, method, runs[-1], file=sys.stderr, flush=True)
            print(line(name, f"{share:g} {pattern}", runs, "nmi", 3), flush=True)
        print(line(name, "seconds of imputing, line above", runs, "imputing", 1))
        print(line(name, "seconds of imputing and fit", runs, "seconds", 1), flush=True)


def line(name: str, what: str, runs: list[list[dict[str, float]]], key: str, digits: int) -> str:
    """A line of the table: means over the seeds of each method."""
    means = [f"{np.mean([found[key] for found in own]):.{digits}f}" if own else "-" for own in runs]
    return f"| {name} | {what} | {' | '.join(means)} |"


if __name__ == "__main__":
    main()
