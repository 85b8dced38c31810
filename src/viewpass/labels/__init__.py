"""Rows with their labels: as tables, frames and files."""
