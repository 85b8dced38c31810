"""Every law is checked on at least 200 random inputs."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "laws",
    max_examples=200,
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("laws")
