"""What tests of several folders share: the real data sets, the command line, a Dask cluster, a browser."""

from __future__ import annotations

import atexit
import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings

# Random inputs are new ones at every run, but for CI: a run that judges a change must be repeatable.
# Half as many as hypothesis would try by itself: the next run tries others.
settings.register_profile("new", max_examples=50)
settings.register_profile("ci", max_examples=50, derandomize=True, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "new")

pytest.register_assert_rewrite("browsers")

BESIDE = Path(__file__).parents[2] / "shared" / "data"


SYSTEM = {"browser", "client", "commands"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Whatever uses processes, a cluster or a browser of a fixture is run by `make test-system`."""
    for item in items:
        if SYSTEM & set(item.fixturenames):
            item.add_marker(pytest.mark.system)


def pytest_collection_finish():
    """Imported modules and collected tests stay to the end: no garbage collection need visit them again."""
    gc.freeze()
    atexit.register(gc.unfreeze)  # nanobind would report what is still frozen as leaks


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
