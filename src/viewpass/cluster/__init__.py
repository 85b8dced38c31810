"""The estimators people import."""
