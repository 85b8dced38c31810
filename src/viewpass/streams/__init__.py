"""Streams that change: windows, clusters that keep their ids, and what happened to them."""
