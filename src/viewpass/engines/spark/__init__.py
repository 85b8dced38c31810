"""The engine over a Spark cluster."""
