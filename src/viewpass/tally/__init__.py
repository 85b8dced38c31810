"""What rows add up to under a model: exact sums, counts, links; and the model refined by them."""
