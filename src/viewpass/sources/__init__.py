"""Where chunks come from: arrays, frames, bundles, Arrow data, Parquet files."""
