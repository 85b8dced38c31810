"""What is chosen from the warm-up, by one criterion: scale, graph, view weights, number of clusters."""
