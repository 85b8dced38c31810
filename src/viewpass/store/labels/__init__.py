"""Labels on disk: staged while a run goes on, Parquet when it ends."""
