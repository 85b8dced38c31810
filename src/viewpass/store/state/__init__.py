"""Models, streams and the rows they hold, as fields and arrays."""
