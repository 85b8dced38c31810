"""Conversion of Arrow columns to the rows of a view: lists, numbers, sparse structs."""
