"""What is remembered between chunks: sums, counts, centres, weights of views."""
