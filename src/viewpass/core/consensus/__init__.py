"""From many anchors to K clusters: anchor graph, agglomeration, the number of clusters."""
