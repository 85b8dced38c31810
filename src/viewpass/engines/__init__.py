"""Who samples, tallies and labels rows: this process, or the workers of a cluster."""
