"""The fuzzer finds every kind of misbehaviour, and names the trial that repeats it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.system

FUZZ = Path(__file__).parents[1] / "fuzz"
TARGET = """
import os

SECONDS = 1
MEMORY = 2**24


def prepare(folder):
    (folder / "fixture").touch()


def trial(random, folder):
    assert (folder / "fixture").exists()
    assert not (folder / "left").exists(), "a trial sees what another one left"
    (folder / "left").touch()
    match int(random.integers(6)):
        case 0:
            os.abort()
        case 1:
            while True:
                pass
        case 2:
            raise AssertionError("a wrong answer")
        case 3:
            raise ValueError("odd")
        case 4:
            b"x" * 2**26
"""
KINDS = ("died by SIGABRT", "hung", "a wrong answer", "ValueError: odd", r"took \d+ MB")


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "tests" / "fuzz"
    folder.mkdir(parents=True)
    for name in ("__init__.py", "__main__.py", "child.py"):
        shutil.copy(FUZZ / name, folder)
    (folder / "made.py").write_text(TARGET)

    def running(*options):
        command = [sys.executable, "-m", "tests.fuzz", *map(str, options)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    return running


def test_every_kind_of_misbehaviour_is_found_and_can_be_repeated(run):
    ended = run("--count", 6, "--seed", 123)
    assert ended.returncode == 1
    assert "sees what another" not in ended.stdout
    for kind in KINDS:
        found = re.search(rf"FOUND made: .*{kind}(?:.|\n)*?--seed (\d+) ", ended.stdout)
        assert found, (kind, ended.stdout)
    again = run("--only", "made", "--seed", found[1], "--count", 1)
    assert again.returncode == 1
    assert re.search(KINDS[-1], again.stdout)
    assert "1 trials, 1 findings" in again.stdout
