"""Scores of clusterings, protocols of missing views, data sets, and benchmarks."""

from __future__ import annotations

from viewpass.evaluate.data import load_digit, load_reuters, load_webkb, load_youtube, make_like
from viewpass.evaluate.events import event_scores
from viewpass.evaluate.harness.benchmark import benchmark
from viewpass.evaluate.protocols import PROTOCOLS as PROTOCOLS
from viewpass.evaluate.protocols import make_mask
from viewpass.evaluate.scores import accuracy, ari, nmi, pair_f, purity, scores
from viewpass.evaluate.streams import make_stream

__all__ = [
    "accuracy",
    "ari",
    "benchmark",
    "event_scores",
    "load_digit",
    "load_reuters",
    "load_webkb",
    "load_youtube",
    "make_like",
    "make_mask",
    "make_stream",
    "nmi",
    "pair_f",
    "purity",
    "scores",
]
