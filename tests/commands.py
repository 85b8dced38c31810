"""Run the command `viewpass` as real processes, and tables to run it on."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fixed_lists import storable


class Ended(NamedTuple):
    code: int  # minus the signal, if one ended it
    out: str
    err: str


class Commands:
    """Runs commands one at a time (harm/forks.py)."""

    def __init__(self, folder):
        self.folder = folder
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
        self.server = subprocess.Popen(
            [sys.executable, Path(__file__).parent / "harm" / "forks.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        assert self.server.stdout.readline().strip() == "ready"

    def close(self):
        self.server.stdin.close()
        self.server.wait()
        self.server.stdout.close()

    def start(self, *argv, **request):
        outputs = {name: str(self.folder / name) for name in ("stdout", "stderr")}
        request |= {"argv": [str(word) for word in argv], **outputs}
        self.server.stdin.write(json.dumps(request) + "\n")
        self.server.stdin.flush()
        return int(self.server.stdout.readline())

    def end(self):
        code = int(self.server.stdout.readline())
        return Ended(code, *((self.folder / name).read_text() for name in ("stdout", "stderr")))

    def run(self, *argv, **request):
        self.start(*argv, **request)
        return self.end()

    def signalled(self, number, seconds, *argv, **request):
        """Run, and send a signal after some time; it may have ended before."""
        pid = self.start(*argv, **request)
        time.sleep(seconds)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        return self.end()

    def killed(self, seconds, *argv):
        return self.signalled(signal.SIGKILL, seconds, *argv)


def write_table(path, n_rows, *, seed=0, widths=(12, 7), gaps=0.3, start=0):
    """Rows with a text id and two views of float32, some of them null."""
    rng = np.random.default_rng(seed)
    group = rng.integers(5, size=n_rows)
    columns = {"item": [f"item-{i}" for i in range(start, start + n_rows)]}
    for name, width in zip(("image", "text"), widths, strict=True):
        values = np.eye(5, width)[group] + 0.3 * rng.standard_normal((n_rows, width))
        flat = pa.array(values.astype(np.float32).ravel())
        absent = pa.array(rng.random(n_rows) < gaps)
        columns[name] = storable(pa.FixedSizeListArray.from_arrays(flat, width, mask=absent))
    pq.write_table(pa.table(columns), path, row_group_size=1000)
    return path


def contents(folder):
    """The files that must not depend on what happened on the way."""
    files = (folder / name for name in ("model.viewpass", "labels.parquet"))
    return {file.name: file.read_bytes() for file in files if file.exists()}


def refused(ended, *words, code=1):
    """The command ended with one line of error that has all the words."""
    assert ended.code == code, ended
    assert ended.err.count("\n") == 1, ended.err
    assert ended.err.startswith("viewpass: ")
    assert not [word for word in words if word not in ended.err], ended.err
