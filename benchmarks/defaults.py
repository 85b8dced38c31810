"""What a fit costs: `python -m benchmarks.defaults`, in processor seconds, on one thread.

default    ViewPass with default settings, final labels included
centres    the same with rows of unit length and a centre for each cluster
published  OPIMC: Algorithm 1, one pass
faiss      FAISS Kmeans, 10 iterations over all rows; preparing the rows and their labels are not timed

The unit is one distance pass, plain matrix products of all rows with as many centres (distance_pass.py). The
least of the runs counts. Set OPENBLAS_NUM_THREADS=1 and OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.data import Data
from benchmarks.distance_pass import DistancePass
from benchmarks.peers import FAISS
from benchmarks.workloads import WORKLOADS, Workload
from viewpass import OPIMC, ViewPass
from viewpass.evaluate import nmi

COMMON: dict[str, Any] = {"random_state": 0, "n_threads": 1}
SHOWN = (
    "youtube, easy;youtube, hard;reuters;embeddings;debian_l10n;mnist70k_3v;50 blobs in 64-D;8 blobs in 32-D"
)

Found = tuple[float, np.ndarray]


def default(workload: Workload, data: Data, n_runs: int, **settings: Any) -> Found:
    """Seconds and labels with default settings."""
    fit = ViewPass(workload.n_clusters, **COMMON, **settings).fit
    seconds, model = least(lambda: fit(data.views), n_runs)
    return seconds, model.labels_


def centres(workload: Workload, data: Data, n_runs: int) -> Found:
    """Seconds and labels with a centre for each cluster."""
    return default(workload, data, n_runs, scale="unit", consensus="plain")


def published(workload: Workload, data: Data, n_runs: int) -> Found:
    """Seconds and labels of the published method."""
    sizes: dict[str, Any] = {
        "chunk_size": workload.chunk_size,
        "n_passes": workload.n_passes,
        "compute_labels": False,
    }
    fit = OPIMC(workload.n_clusters, **COMMON, **sizes).fit
    seconds, model = least(lambda: fit(data.views), n_runs)
    return seconds, model.stream_labels_


def faiss(workload: Workload, data: Data, n_runs: int) -> Found:
    """Seconds of training, and labels."""
    peer = FAISS[-1]
    prepared, settings = peer.prepare(data.views), {"n_clusters": workload.n_clusters}
    seconds, fitted = least(lambda: peer.fit(prepared, settings, 1), n_runs)
    return seconds, peer.labels(fitted, prepared)


METHODS = {method.__name__: method for method in (default, centres, published, faiss)}


def least(work: Callable[[], Any], n_runs: int) -> tuple[float, Any]:
    """Processor seconds of the fastest run, and what the last one gives."""
    seconds = []
    for _ in range(n_runs):
        began = time.process_time()
        given = work()
        seconds.append(time.process_time() - began)
    return min(seconds), given


def row(workload: Workload, methods: list[str], n_runs: int) -> str:
    """One line of the table."""
    data = workload.make(workload.n_rows)
    one_pass, _ = least(DistancePass(data.views, workload.n_clusters, workload.chunk_size, 1), n_runs)
    cells = [f"{one_pass:.2f}"]
    for method in methods:
        seconds, labels = METHODS[method](workload, data, n_runs)
        seen = labels >= 0
        score = nmi(data.classes[seen], labels[seen])
        cells.append(f"{seconds:.2f} s, {seconds / one_pass:.1f} passes, NMI {score:.3f}")
    return f"| {workload.name} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.defaults",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", default=SHOWN, help="workloads by name, separated by semicolons")
    parser.add_argument("--methods", default="default,centres,published", help=f"of {','.join(METHODS)}")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    wanted, methods = options.only.split(";"), options.methods.split(",")
    warnings.simplefilter("ignore")
    print(f"| workload | one pass | {' | '.join(methods)} |\n|{'---|' * (2 + len(methods))}")
    for workload in WORKLOADS:
        if workload.name in wanted:
            print(row(workload, methods, options.runs), flush=True)


if __name__ == "__main__":
    main()
