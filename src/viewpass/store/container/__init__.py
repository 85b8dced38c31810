"""The file format: a checked frame around arrays and one JSON text."""
