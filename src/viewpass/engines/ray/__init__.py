"""The engine over a Ray cluster."""
