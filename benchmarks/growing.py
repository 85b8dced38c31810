"""`python -m benchmarks.growing`: what anchors that are born and merge cost, and what noise does to them.

passes  processor seconds of a fit of mnist70k_3v with 1,600 anchors and births, compared with 200 anchors
        that stay as they are, in the views' own columns; and of default settings, in plain distance passes
rows    2,000 anchors with births, compared with the plain pass, on made rows that are read chunk by chunk and
        never in memory together (--rows of them), and the memory that the process takes on the way
noise   Digit with 5 % of the rows replaced by noise: random directions in standardised columns. The share of
        anchors that hold noise alone, and NMI of the other rows, with noise and without

One thread; the least of --runs. Set OPENBLAS_NUM_THREADS=1 and OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.defaults import least
from benchmarks.distance_pass import DistancePass
from benchmarks.order import made, score
from benchmarks.quality.sets import DIGIT, MNIST
from viewpass import OPIMC
from viewpass.evaluate import nmi

GRAPH: dict[str, Any] = {"consensus": "graph", "scale": "unit"}
FEW = {**GRAPH, "n_anchors": 200, "adaptive_anchors": False, "projection": None}
MANY = {**GRAPH, "n_anchors": 1600}
WIDTHS, CLUSTERS, CHUNK = (256, 128), 10, 2**15
NOISE = 0.05
NOT_ALIKE = {**GRAPH, "scale": "standard"}  # at unit length noise around the mean would be alike


def passes(n_runs: int) -> None:
    """Print what default settings, few anchors and many cost."""
    data = made(MNIST, "0.3", 0, is_sorted=False)
    one_pass, _ = least(DistancePass(data.views, 10, 2000, 1), n_runs)
    print(f"mnist70k_3v, one pass of plain products: {one_pass:.3f} s")
    found = {}
    for name, given in {"default": {}, "200, fixed": FEW, "1,600, births": MANY}.items():
        settings = {"random_state": 0, "n_threads": 1, "compute_labels": False, **given}
        seconds, model = least(lambda settings=settings: OPIMC(10, **settings).fit(data.views), n_runs)
        found[name] = seconds
        value = score(data, model.predict(data.views))
        print(f"{name}: {seconds:.2f} s, {seconds / one_pass:.0f} passes, NMI {value:.3f}", flush=True)
    print(f"1,600 with births over 200: {found['1,600, births'] / found['200, fixed']:.2f}")


def chunks(n_rows: int) -> Iterator[list[np.ndarray]]:
    """Rows around centres, three tenths of every view missing."""
    rng = np.random.default_rng(0)
    centres = [rng.standard_normal((CLUSTERS, width), dtype=np.float32) for width in WIDTHS]
    for _ in range(0, n_rows, CHUNK):
        classes, views = rng.integers(CLUSTERS, size=CHUNK), []
        for own, width in zip(centres, WIDTHS, strict=True):
            view = rng.standard_normal((CHUNK, width), dtype=np.float32) + own[classes]
            view[rng.random(CHUNK) < 0.3] = np.nan
            views.append(view)
        yield views


def rows(n_rows: int) -> None:
    """Print what a long stream costs, and its memory."""
    plain, anchors = {"n_anchors": None, "scale": "unit"}, {**GRAPH, "n_anchors": 2000}
    found = []
    for given in (plain, anchors):
        model, seconds, memory = (
            OPIMC(CLUSTERS, random_state=0, n_threads=1, chunk_size=CHUNK, **given),
            0.0,
            [],
        )
        for views in chunks(n_rows):
            began = time.process_time()
            model.partial_fit(views)
            seconds += time.process_time() - began
            memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        found.append(seconds)
        tenth, last = memory[len(memory) // 10], memory[-1]
        per_row = 1e6 * seconds / n_rows
        print(
            f"{given}: {seconds:.1f} s, {per_row:.2f} us per row; {tenth:.0f} MB after a tenth, {last:.0f} MB"
        )
    print(f"{n_rows:,} rows, 2,000 anchors over the plain pass: {found[1] / found[0]:.1f}", flush=True)


def noise(n_seeds: int) -> None:
    """Print how many anchors hold noise alone, and NMI of the other rows."""
    for is_sorted in (False, True):
        alone, with_noise, without = [], [], []
        for seed in range(n_seeds):
            data = made(DIGIT, "0.3", seed, is_sorted=is_sorted)
            settings = {"warmup": 200, "chunk_size": 200, "random_state": seed, "n_threads": 1, **NOT_ALIKE}
            rng = np.random.default_rng(1000 + seed)
            odd = rng.random(data.n_rows) < NOISE
            without.append(score(data, OPIMC(10, **settings).fit(data.views).labels_))
            for view in data.views:
                mean, spread = np.nanmean(view, axis=0), np.nanstd(view, axis=0)
                there = odd & ~np.isnan(view[:, 0])
                view[there] = mean + spread * rng.standard_normal((int(there.sum()), view.shape[1]))
            model = OPIMC(10, **settings).fit(data.views)
            seen = ~odd & (model.labels_ >= 0)
            with_noise.append(nmi(data.classes[seen], model.labels_[seen]))
            clean = np.bincount(model.anchor_labels_[seen], minlength=len(model.anchors_))
            alone.append(np.mean(clean == 0))
        order = "sorted" if is_sorted else "shuffled"
        print(f"Digit, {order}: anchors with noise alone {np.mean(alone):.3f}", end=", ")
        print(
            f"NMI of the others {np.mean(with_noise):.3f}, without noise {np.mean(without):.3f}", flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growing", description=__doc__)
    parser.add_argument("--only", default="passes,rows,noise")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    wanted = options.only.split(",")
    if "passes" in wanted:
        passes(options.runs)
    if "rows" in wanted:
        rows(options.rows)
    if "noise" in wanted:
        noise(options.seeds)


if __name__ == "__main__":
    main()
