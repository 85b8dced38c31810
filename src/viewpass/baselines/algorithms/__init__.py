"""The factorisations themselves; the estimators around them are one folder up."""
