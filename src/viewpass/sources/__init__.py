"""Sources of chunks: arrays, data frames, npz bundles, Arrow data, files."""
