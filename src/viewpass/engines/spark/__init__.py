"""The engine over a Spark cluster."""

from viewpass.engines.clusters import check_installed

check_installed("spark")
