"""Initial centres: candidates from the sample, compared by the objective."""
