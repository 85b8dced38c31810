"""Stores how many rows there were (sums/census.py); files of earlier versions do not say."""

from __future__ import annotations

from typing import Any

import numpy as np

from viewpass.kernels.grid import MOST_ROWS, Array
from viewpass.store.container.fields import Fields, Rule
from viewpass.sums.census import BINS, MOST_BITS, MOST_PATTERNS, Census

COUNTS = Rule(np.int64, "b K", 0, MOST_ROWS)
PATTERNS = Rule(np.int64, "P", 0, 2 ** (MOST_BITS + 1) - 1)
NUMBERS = Rule(np.int64, "P", 1, MOST_ROWS)


def pack_census(census: Census | None, arrays: dict[str, Array]) -> dict[str, Any]:
    """Add the arrays to `arrays`; give what the JSON of the model says about them."""
    if census is None:
        return {}
    patterns = sorted(census.patterns)
    arrays["census.counts"] = census.counts
    arrays["census.patterns"] = np.array(patterns, dtype=np.int64)
    arrays["census.numbers"] = np.array([census.patterns[name] for name in patterns], dtype=np.int64)
    return {"census": {"width": census.width, "other": census.n_other}}


def unpack_census(stored: Fields, n_centres: int, n_rows: int) -> Census | None:
    """Restore them; None from older files."""
    if "census" not in stored.values:
        return None
    part = stored.part("census")
    width, n_other = part.number("width", least=1, most=MOST_ROWS), part.number("other", most=n_rows)
    part.need(width & (width - 1) == 0, "width")
    counts = stored.array("census.counts", COUNTS, b=None, K=n_centres)
    patterns = stored.array("census.patterns", PATTERNS, P=None)
    numbers = stored.array("census.numbers", NUMBERS, P=len(patterns))
    part.need(len(counts) <= BINS and len(patterns) <= MOST_PATTERNS, "census")
    part.need(bool((np.diff(patterns) > 0).all()), "census.patterns")
    inside = sum(counts.sum(axis=0).tolist()) <= n_rows and sum(numbers.tolist()) + n_other <= n_rows
    part.need(inside and (len(counts) - 1) * width < max(n_rows, 1), "census")
    return Census(width, counts, dict(zip(patterns.tolist(), numbers.tolist(), strict=True)), n_other)
