"""Arrow data: files, streams, and the columns that form a view. Needs PyArrow."""
