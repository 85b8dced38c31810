"""The compiled module `viewpass._native`, its NumPy specification, and what both share."""
