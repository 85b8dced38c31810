"""The method: Algorithm 1 of the paper and what was added to it; no files, no estimators."""
