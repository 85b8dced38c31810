"""From many anchors to K clusters, after the pass and without data."""
