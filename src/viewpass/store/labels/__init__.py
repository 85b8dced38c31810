"""Label files: staged records and lists of parts while a run goes on, Parquet when it ends."""
