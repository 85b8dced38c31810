"""From many anchors to K clusters: anchor graph, agglomeration, number of clusters."""
