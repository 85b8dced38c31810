"""The scripts of examples/ run as they are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.system

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
# What each must end with, in words that do not depend on figures.
SAYS = {
    "arrays_with_gaps": "agreement from the pixels alone",
    "frames_by_id": "in the right one of three cultivars",
    "stream_with_reasons": "labels that would change without one of their views",
    "table_with_resume": "labels.parquet: the same bytes",
}


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_it_runs(script, tmp_path):
    aged = [f"ignore::{name}Warning" for name in ("Deprecation", "PendingDeprecation", "Future")]  # libraries
    quiet = {
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONWARNINGS": ",".join(["error", *aged]),
    }
    ended = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        env=os.environ | quiet,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr
    assert SAYS[script.stem] in ended.stdout
    assert "other bytes" not in ended.stdout
    assert not list(tmp_path.iterdir()), "it leaves files"


def test_each_says_how_to_run_it():
    assert len(EXAMPLES) == 4
    assert all(f"python examples/{script.name}" in script.read_text() for script in EXAMPLES)
