"""Initial centres: candidates from the warm-up, compared by the objective."""
