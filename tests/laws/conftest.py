"""Every law is checked on some 40 random inputs."""

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "laws",
    max_examples=40,
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("laws")


def pytest_collection_modifyitems(items):
    """Random rows may be too few, or too much alike, for the clusters asked for."""
    for item in items:
        if "laws" in item.path.parts:
            item.add_marker(pytest.mark.filterwarnings("ignore:only .* clusters have rows"))
