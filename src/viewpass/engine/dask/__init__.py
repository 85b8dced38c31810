"""Many machines: a round of W workers, each with a chunk of its own, is one chunk of the W together."""
