"""Where tests find the real data sets, and what they say where there are none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from commands import Commands

# Random inputs are new ones at every run, but for CI: a run that judges a change must be repeatable.
settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")

BESIDE = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def data_folder() -> Path:
    folder = Path(os.environ.get("VIEWPASS_DATA", BESIDE))
    if not folder.is_dir():
        pytest.skip(f"no real data sets: set VIEWPASS_DATA to their folder ({folder} is absent)")
    return folder


@pytest.fixture(scope="session")
def commands(tmp_path_factory):
    """The command line, as real processes."""
    running = Commands(tmp_path_factory.mktemp("commands"))
    yield running
    running.close()
