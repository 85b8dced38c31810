"""viewpass side by side with its peers, in one run: `python -m benchmarks --help`."""
