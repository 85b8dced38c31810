"""Chunks of rows, the checks they must pass, and how their views are scaled."""
