"""Exact sums over rows, the centres that follow from them, and the inner loop of Eq. 11-16."""
