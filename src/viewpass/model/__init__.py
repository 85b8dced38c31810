"""What a fit gives: centres, sums and choices, and the labels of rows under them."""
