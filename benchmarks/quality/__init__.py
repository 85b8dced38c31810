"""How good the clusters are: every method on every real set, over seeds. `python -m benchmarks.quality`."""
