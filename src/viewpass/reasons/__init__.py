"""Confidence, contributions of views, outliers, estimates of missing views: when asked."""
