"""Settings of the peers, tuned with the labels of the first tenth of a stream."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.streams.methods import Method, label
from benchmarks.streams.sets import StreamSet

TRIALS = 20


def tuned(method: Method, stream: StreamSet, limit: float) -> dict[str, Any]:
    """The best of random settings; of whole numbers where both ends are."""
    first, rng = stream.first(len(stream.classes) // 10), np.random.default_rng(0)
    best, settings = -np.inf, dict[str, Any]()
    for _ in range(TRIALS):
        given = {
            name: int(rng.integers(low, high + 1)) if isinstance(low, int) else float(rng.uniform(low, high))
            for name, (low, high) in method.ranges.items()
        }
        try:
            found = label(method, first, 0, given, limit / TRIALS)
        except (ArithmeticError, ValueError, LookupError):  # settings that the peer cannot work with
            continue
        score = first.score(found.labels) if len(found.labels) == len(first.classes) else -np.inf
        if score > best:
            best, settings = score, given
    return settings
