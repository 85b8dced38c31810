"""Label files, as they grow and as they are read."""
