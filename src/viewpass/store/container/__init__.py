"""The binary file format: a checked envelope around arrays and JSON metadata."""
