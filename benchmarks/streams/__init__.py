"""Streams that change: ViewPass beside the peers, in one run."""
