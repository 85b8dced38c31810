"""What default settings cost: `python -m benchmarks.defaults`, in processor seconds, on one thread.

Each workload is fitted with default settings, from the default start without anchors, and as published; the
unit is one distance pass, plain matrix products of all rows with as many centres (distance_pass.py). The
least of three runs counts. Set OPENBLAS_NUM_THREADS=1 and OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

from benchmarks.distance_pass import DistancePass
from benchmarks.workloads import WORKLOADS, Workload
from viewpass import OPIMC
from viewpass.evaluate import nmi

PLAIN: dict[str, Any] = {"n_anchors": None, "scale": "unit"}
STARTS: dict[str, dict[str, Any]] = {
    "default": {},
    "no anchors": PLAIN,
    "published": {**PLAIN, "init": "random", "alpha": 0.1},
}
SHOWN = (
    "youtube, easy;youtube, hard;reuters;embeddings;debian_l10n;mnist70k_3v;50 blobs in 64-D;8 blobs in 32-D"
)
RUNS = 3


def least(work: Callable[[], Any], n_runs: int = RUNS) -> tuple[float, Any]:
    """Processor seconds of the fastest run, and what the last one gives."""
    seconds = []
    for _ in range(n_runs):
        began = time.process_time()
        given = work()
        seconds.append(time.process_time() - began)
    return min(seconds), given


def row(workload: Workload) -> str:
    """One line of the table."""
    data = workload.make(workload.n_rows)
    one_pass, _ = least(DistancePass(data.views, workload.n_clusters, workload.chunk_size, 1))
    cells = [f"{one_pass:.2f}"]
    for settings in STARTS.values():
        seconds, model = least(
            lambda given=settings: OPIMC(
                workload.n_clusters, random_state=0, n_threads=1, compute_labels=False, **given
            ).fit(data.views)
        )
        labels = model.predict(data.views)
        seen = labels >= 0
        score = nmi(data.classes[seen], labels[seen])
        cells.append(f"{seconds:.2f} s, {seconds / one_pass:.1f} passes, NMI {score:.3f}")
    return f"| {workload.name} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.defaults", description=__doc__)
    parser.add_argument("--only", default=SHOWN, help="workloads by name, separated by semicolons")
    wanted = parser.parse_args().only.split(";")
    warnings.simplefilter("ignore")
    print(f"| workload | one pass | {' | '.join(STARTS)} |\n|{'---|' * (2 + len(STARTS))}")
    for workload in WORKLOADS:
        if workload.name in wanted:
            print(row(workload), flush=True)


if __name__ == "__main__":
    main()
