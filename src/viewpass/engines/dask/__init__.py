"""The engine over a Dask cluster."""
