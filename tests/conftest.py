"""What tests of several folders share: the real data sets, the command line, a Dask cluster, a browser."""

from __future__ import annotations

import gc
import os
from collections import Counter, defaultdict
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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave cases of tests marked `one_in(n)` or `every_value` to `make test-long`."""
    cases, products = Counter(), defaultdict(list)
    for item in items:
        if item.get_closest_marker("long") is not None:
            continue
        mark = item.get_closest_marker("one_in")
        if mark is not None:
            cases[item.function] += 1
            if cases[item.function] % mark.args[0] != 1:
                item.add_marker(pytest.mark.long)
        elif item.get_closest_marker("every_value") is not None:
            products[item.function].append(item)
    for product in products.values():
        run = set(with_every_value(product))
        for item in product:
            if item not in run:
                item.add_marker(pytest.mark.long)


def with_every_value(product):
    """As few of the cases as take every value of every argument."""
    taken = {item: {(name, id(value)) for name, value in item.callspec.params.items()} for item in product}
    left = set().union(*taken.values())
    while left:
        best = max(product, key=lambda item: len(taken[item] & left))
        left -= taken[best]
        yield best


def pytest_collection_finish():
    """Imported modules and collected tests stay to the end: no garbage collection need visit them again."""
    gc.freeze()


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
