"""Reasons for labels: how sure a label is, which views decided it, how unusual a row is, what is missing."""
