"""What is chosen from the warm-up: the scale of each view, round clusters or the anchor graph."""
