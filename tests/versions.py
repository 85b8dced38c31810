"""Tests the built package in an empty environment, with the oldest or the newest versions it allows.

    python tests/versions.py oldest   # lowest allowed versions of all libraries, Python 3.11
    python tests/versions.py newest   # highest versions there are, the newest Python, on the PATH or of pyenv

The sdist is built, a wheel is built from it, installed, and the tests run against what is installed.
Further arguments go to pytest.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOLS = ("pytest", "pytest-xdist", "hypothesis", "psutil", "pandas-stubs")  # of tests: always the newest
EXTRAS = "arrow,cli,dask,omics,report"
PYTHONS = [f"python3.{minor}" for minor in range(19, 10, -1)]


def main(which: str, *arguments: str) -> int:
    home = ROOT / "build" / f"test-{which}"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    interpreter = find(PYTHONS if which == "newest" else ["python3.11", "python3"])
    run(interpreter, "-m", "venv", home / "venv")
    python = home / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    lowest = home / "lowest.txt"
    lowest.write_text("\n".join(pins()) + "\n" if which == "oldest" else "")
    pip = python, "-m", "pip", "install", "-qq", "--disable-pip-version-check"
    sdist = ["from scikit_build_core.build import build_sdist", "import sys", "build_sdist(sys.argv[1])"]
    run(sys.executable, "-c", "; ".join(sdist), home)
    (package,) = home.glob("viewpass-*.tar.gz")
    run(
        *pip[:3],
        "wheel",
        *pip[4:],
        "--no-deps",
        "-C",
        "cmake.define.VIEWPASS_REQUIRED=ON",
        "-w",
        home,
        package,
    )
    (wheel,) = home.glob("viewpass-*.whl")
    run(*pip, "-c", lowest, f"{wheel}[{EXTRAS}]", *developers())
    run(python, "-m", "pip", "list", "--disable-pip-version-check")
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    aged = [f"-Wignore::{name}Warning" for name in ("Deprecation", "PendingDeprecation", "Future")]
    how = "-m", "not long", "-n", "2", "--dist", "worksteal", *aged  # libraries of different ages
    tests = python, "-m", "pytest", *how, *arguments
    return subprocess.run([*map(str, tests)], cwd=ROOT, env={**os.environ, **threads}).returncode


def requirements(extras: tuple[str, ...]) -> Iterator[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    yield from project["dependencies"]
    for extra in extras:
        yield from project["optional-dependencies"][extra]


def pins() -> Iterator[str]:
    """The lowest version of every library viewpass or its tests import, as constraints of pip."""
    for requirement in requirements((*EXTRAS.split(","), "dev")):
        name, _, version = requirement.partition(">=")
        if version and name not in TOOLS:
            yield f"{name}=={version.partition(',')[0]}"


def developers() -> list[str]:
    """What tests import besides viewpass; not what only judges its source."""
    judges = r"viewpass|ruff|mypy|import-linter|clang"
    return [requirement for requirement in requirements(("dev",)) if not re.match(judges, requirement)]


def find(names: list[str]) -> str:
    for name in names:
        for found in (shutil.which(name), *of_pyenv(name)):
            if found and subprocess.run([found, "-c", ""], capture_output=True).returncode == 0:
                return found
    sys.exit(f"none of {', '.join(names)} is on the PATH.")


def of_pyenv(name: str) -> list[str]:
    """Interpreters that pyenv keeps; its commands on the PATH run only the versions that are switched on."""
    if not shutil.which("pyenv"):
        return []
    words = "pyenv", "whence", "--path", name
    return subprocess.run(words, capture_output=True, text=True).stdout.splitlines()[::-1]


def run(*command: object) -> None:
    subprocess.run([*map(str, command)], cwd=ROOT, check=True)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in ("oldest", "newest"):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
