"""A run folder from top to bottom: fit, labels, checkpoint, summary, page, and what is done with it later."""
