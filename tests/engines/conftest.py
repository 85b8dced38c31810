"""Clusters that tests of engines share."""

from __future__ import annotations

import pytest

from everywhere import ENGINES, Clusters


@pytest.fixture(scope="package")  # other tests may start clusters of their own
def clusters(request):
    found = Clusters(lambda: request.getfixturevalue("client"))
    yield found
    found.close()


@pytest.fixture(params=ENGINES)
def opened(request, clusters):
    """What makes an engine of a source: each engine in turn."""
    return clusters[request.param]
