"""Conversion of models, streams and the rows they keep to JSON and arrays, and back, with checks."""
