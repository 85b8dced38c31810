"""What reads Arrow data: files, streams, and the columns that make up a view. Needs PyArrow."""
