"""The factorisation algorithms; their estimators are one folder up."""
