"""The engine over a Dask cluster."""

from viewpass.engines.clusters import check_installed

check_installed("dask")
