"""The summary of a model and its rows; `fields` documents what is in it."""
