"""A benchmark killed again and again goes on: no cell is lost, no score differs, no process is left."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import psutil
import pytest

from viewpass.evaluate.harness.cells import SCORES
from viewpass.sources.bundle import Bundle

SLOW = """
    import time
    import numpy as np

    class Slow:
        def __init__(self, n_clusters, random_state):
            self.n_clusters, self.random_state = n_clusters, random_state

        def fit_predict(self, views):
            time.sleep(0.15)
            return np.random.default_rng(self.random_state).integers(self.n_clusters, size=len(views[0]))
"""


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    Bundle({"a": rng.random((40, 5)), "b": rng.random((40, 4))}, np.arange(40) % 3).write(
        tmp_path / "set.npz"
    )
    (tmp_path / "slow.py").write_text(textwrap.dedent(SLOW))
    return tmp_path


def command(folder, out, jobs):
    code = "import sys; from viewpass.cli import main; sys.argv[0] = 'viewpass'; main()"
    options = ["--methods", "OPIMC,slow:Slow", "--missing", ".2,.4", "--seeds", "3", "--jobs", str(jobs)]
    return [sys.executable, "-c", code, "benchmark", "set.npz", *options, "--out", str(folder / out)]


def cells(folder, out):
    with (folder / out / "cells.csv").open() as file:
        rows = csv.DictReader(file)
        keys = ("rate", "seed", "method", *SCORES, "mask")
        return sorted(tuple(row[key] for key in keys) for row in rows)


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.long)])
def test_killed_three_times_and_resumed(folder, jobs):
    whole = subprocess.run(command(folder, "whole", jobs), cwd=folder, capture_output=True, text=True)
    assert whole.returncode == 0, whole.stderr
    kept, done = folder / "killed" / "cells", {}
    for least in (3, 6, 9):
        process = subprocess.Popen(command(folder, "killed", jobs), cwd=folder, stderr=subprocess.DEVNULL)
        while len(list(kept.glob("*.json"))) < least:
            assert process.poll() is None
            time.sleep(0.01)
        children = psutil.Process(process.pid).children(recursive=True)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        _, alive = psutil.wait_procs(children, timeout=20)
        assert not alive
        now = {path: path.stat().st_mtime_ns for path in kept.glob("*.json")}
        assert now.items() >= done.items()
        done = now
        assert least <= len(done) < 12
        assert all(json.loads(path.read_text())["result"] for path in done)
    resumed = subprocess.run(command(folder, "killed", jobs), cwd=folder, capture_output=True, text=True)
    assert resumed.returncode == 0, resumed.stderr
    assert cells(folder, "killed") == cells(folder, "whole")
    assert len(cells(folder, "whole")) == 12
    assert all(path.stat().st_mtime_ns == when for path, when in done.items())
