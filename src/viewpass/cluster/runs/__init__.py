"""Runs in a folder: checkpoints on the way, label files and a report at the end."""
