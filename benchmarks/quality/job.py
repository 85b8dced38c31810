"""Runs one method on one set, cell by cell, in a process of its own (`python -m benchmarks.quality.job`).

The job comes as JSON, its only argument; every finished cell is answered by a line of JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def start(job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the finished cells of a job. If the process is killed, its current cell has failed."""
    from benchmarks.child import THREAD_SETTINGS

    env = {**os.environ, **dict.fromkeys(THREAD_SETTINGS, str(job["threads"]))}
    command = [sys.executable, "-m", "benchmarks.quality.job", json.dumps(job)]
    about = {"set": job["set"], "method": job["method"]}
    left = list(job["cells"])
    with subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                left.pop(0)
                yield {**about, **json.loads(line)}
        except BaseException:
            process.kill()
            raise
    if process.returncode == -signal.SIGKILL and left:  # most likely for its memory
        missing, seed = left[0]
        yield {**about, "missing": missing, "seed": seed, "failed": "killed"}
    elif process.returncode:
        raise RuntimeError(f"{job['set']}, {job['method']}: the process ended with {process.returncode}")


def main() -> None:
    job = json.loads(sys.argv[1])
    # Libraries may print: standard output is for the answers only.
    with os.fdopen(os.dup(1), "w") as answers, contextlib.redirect_stdout(sys.stderr):
        os.dup2(2, 1)
        _warm(job)
        for missing, seed in job["cells"]:
            cell = {"missing": missing, "seed": seed, **_cell(job, missing, seed)}
            print(json.dumps(cell), file=answers, flush=True)


def _cell(job: dict[str, Any], missing: str, seed: int) -> dict[str, Any]:
    import numpy as np

    from benchmarks.quality.methods import METHODS
    from benchmarks.quality.sets import SETS
    from viewpass.evaluate.harness import memory

    data, method = SETS[job["set"]].make(missing, seed), METHODS[job["method"]]
    n_clusters = len(np.unique(data.classes))
    before = memory.trimmed()
    began = time.perf_counter(), time.process_time()
    try:
        found = method.fit(data, n_clusters, seed, job["threads"])
    except Exception as problem:  # a method may refuse a set
        lines = str(problem).splitlines() or [""]
        return {"failed": f"{type(problem).__name__}: {lines[0]}"}
    ended = time.perf_counter(), time.process_time()
    return {
        "seconds": ended[0] - began[0],
        "processor_seconds": ended[1] - began[1],
        "bytes_above": max(memory.peak() - before, 0),
        "rows": data.n_rows,
        "n_clusters": n_clusters,
        "scores": {name: _scores(data, labels) for name, labels in found.items()},
    }


def _scores(data: Any, labels: Any) -> dict[str, float]:
    """Over the rows that have a view at all."""
    import numpy as np

    from benchmarks.data import observed
    from viewpass.evaluate import accuracy, ari, nmi

    seen = np.any([observed(view) for view in data.views], axis=0)
    classes, labels = data.classes[seen], np.asarray(labels)[seen]
    measures = {"nmi": nmi, "acc": accuracy, "ari": ari}
    return {name: float(measure(classes, labels)) for name, measure in measures.items()}


def _warm(job: dict[str, Any]) -> None:
    """Fit a few rows, so that no cell includes the time of imports."""
    from benchmarks.quality.methods import METHODS
    from benchmarks.quality.sets import SETS

    warnings.simplefilter("ignore")
    data = SETS[job["set"]].make(SETS[job["set"]].missing[0], 0).head(150)
    with contextlib.suppress(Exception):
        METHODS[job["method"]].fit(data, 2, 0, job["threads"])


if __name__ == "__main__":
    main()
