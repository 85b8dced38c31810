"""The engine over a Ray cluster."""

from viewpass.engines.clusters import check_installed

check_installed("ray")
