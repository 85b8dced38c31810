"""The bounded sample of all rows: by identity, mergeable, independent of order, chunks and engines."""
