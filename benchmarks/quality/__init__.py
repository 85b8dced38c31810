"""Quality benchmarks: every method on every real data set, over seeds (`python -m benchmarks.quality`)."""
