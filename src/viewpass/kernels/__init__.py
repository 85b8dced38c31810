"""The compiled module, its NumPy specification, and what both share."""
