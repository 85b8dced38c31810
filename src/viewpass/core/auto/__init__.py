"""What is chosen from the sample, by one criterion: scale, graph, number of clusters."""
