"""The loop over chunks: on this machine, or on a Dask cluster."""
