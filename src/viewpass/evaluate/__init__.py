"""Scores of clusterings, generators of missing views, and data sets."""

from __future__ import annotations

from viewpass.evaluate.data import load_digit, load_reuters, load_webkb, load_youtube, make_like
from viewpass.evaluate.missing import remove_partial_rows, remove_per_view, remove_windows
from viewpass.evaluate.scores import accuracy, ari, nmi, purity, scores

__all__ = [
    "accuracy",
    "ari",
    "load_digit",
    "load_reuters",
    "load_webkb",
    "load_youtube",
    "make_like",
    "nmi",
    "purity",
    "remove_partial_rows",
    "remove_per_view",
    "remove_windows",
    "scores",
]
