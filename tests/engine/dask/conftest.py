"""One small cluster of real processes for all tests of a process."""

from __future__ import annotations

import pytest

from viewpass.engine.dask.worker_pool import local_client


@pytest.fixture(scope="session")
def client():
    with local_client(2) as client:
        yield client
