"""Memory holds a few chunks, never the whole file, however it was written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import files
from fixed_lists import FIXED

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[3]
N_ROWS = 250_000


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")
@pytest.mark.parametrize("kind", ["list", pytest.param(FIXED, marks=pytest.mark.long)])
def test_a_row_group_larger_than_the_limit_is_never_in_memory_as_a_whole(tmp_path, kind):
    files.write(tmp_path, N_ROWS, kind)
    job = [sys.executable, "-m", "benchmarks.files", "--job", "fit", "--folder", str(tmp_path)]
    done = subprocess.run(job, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["rows"] == N_ROWS
    assert found["peak_mb"] <= files.MOST_MB
    assert found["growth_mb"] <= 40  # the file has 70 MB, in one row group
