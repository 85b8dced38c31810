"""What tests of several folders share: the real data sets, the command line, a Dask cluster, a browser."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

# Random inputs are new ones at every run, but for CI: a run that judges a change must be repeatable.
settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")

pytest.register_assert_rewrite("browsers")

BESIDE = Path(__file__).parents[2] / "shared" / "data"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Tests marked `one_in(n)` are run in one of n of their cases; `make test-long` runs the others."""
    cases = Counter()
    for item in items:
        mark = item.get_closest_marker("one_in")
        if mark is not None and item.get_closest_marker("long") is None:
            cases[item.function] += 1
            if cases[item.function] % mark.args[0] != 1:
                item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    folder = Path(os.environ.get("VIEWPASS_DATA", BESIDE))
    if not folder.is_dir():
        pytest.skip(f"no real data sets: set VIEWPASS_DATA to their folder ({folder} is absent)")
    return folder


@pytest.fixture(scope="session")
def commands(tmp_path_factory):
    """The command line, as real processes."""
    from commands import Commands

    running = Commands(tmp_path_factory.mktemp("commands"))
    yield running
    running.close()


@pytest.fixture(scope="session")
def client():
    """One small Dask cluster of real processes for all tests of a process."""
    from clusters import two_workers

    with two_workers() as client:
        yield client


@pytest.fixture(scope="session")
def browser():
    """One headless Chromium: Playwright allows one at a time in a process."""
    from browsers import chromium

    with chromium() as running:
        yield running
