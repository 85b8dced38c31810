"""Columns of an Arrow table as the rows of a view: lists, numbers, sparse structs."""
