"""The report's script, by its own tests."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.system

NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="node, which runs the script's own tests, is not installed")
def test_the_scripts_own_tests():
    done = subprocess.run(
        [NODE, "--test", Path(__file__).with_name("test_functions.js")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
