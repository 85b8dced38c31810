"""Runs each job in a process of its own (`python -m benchmarks.child`), with a given number of threads.

The job comes as JSON on standard input. The answer is a JSON file, with arrays (labels) beside it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
THREAD_SETTINGS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


class FailedError(Exception):
    """The process ended without an answer; the message says why."""


def start(job: dict[str, Any]) -> dict[str, Any]:
    """Run a job and return its answer."""
    env = {**os.environ, **dict.fromkeys(THREAD_SETTINGS, str(job["threads"]))}
    with tempfile.TemporaryDirectory(prefix="viewpass-bench-") as folder:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.child", folder],
            cwd=ROOT,
            env=env,
            input=json.dumps(job),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return _read(Path(folder))
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    raise FailedError(lines[-1] if lines else f"the process ended with {done.returncode}")


def main() -> None:
    job = json.load(sys.stdin)
    work = _work(job["kind"])
    _write(work(job), Path(sys.argv[1]))


def _work(kind: str) -> Any:
    module = kind if kind in ("first", "scaling") else "measure"
    return getattr(import_module(f"benchmarks.{module}"), kind)


def _write(answer: dict[str, Any], folder: Path) -> None:
    arrays: list[np.ndarray] = []

    def set_apart(value: Any) -> dict[str, int]:
        arrays.append(np.asarray(value))
        return {"array": len(arrays) - 1}

    words = json.dumps(answer, default=set_apart)
    for number, array in enumerate(arrays):
        np.save(folder / f"{number}.npy", array)
    (folder / "answer.json").write_text(words)


def _read(folder: Path) -> dict[str, Any]:
    def put_back(found: dict[str, Any]) -> Any:
        return np.load(folder / f"{found['array']}.npy") if set(found) == {"array"} else found

    answer: dict[str, Any] = json.loads((folder / "answer.json").read_text(), object_hook=put_back)
    return answer


if __name__ == "__main__":
    main()
