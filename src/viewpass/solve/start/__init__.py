"""The first centres of a sample, and the ridge."""
