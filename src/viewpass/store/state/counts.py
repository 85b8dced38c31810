"""Stores counts of rows: those read (sums/row_counts.py), and those of each centre (sums/row_counts.py)."""

from __future__ import annotations

from typing import Any

import numpy as np

from viewpass.kernels.grid import MOST_ROWS, Array
from viewpass.store.container.fields import Fields, Rule
from viewpass.sums.row_counts import BINS, MOST_BITS, MOST_PATTERNS, Census, RowCounts
from viewpass.views.chunk import Schema
from viewpass.views.gaps import GapCounts


def pack_counts(read: RowCounts) -> dict[str, Any]:
    """The counts as plain values."""
    return {
        "n_rows": read.n_rows,
        "n_unseen": read.n_without_views,
        "n_copies": read.n_copies,
        "n_all_zero": list(read.n_all_zero),
        "n_gaps": [list(own) for own in read.n_gaps],
    }


def unpack_counts(stored: Fields, schema: Schema | None) -> RowCounts:
    """Restore the counts of rows that have these views."""
    n_rows, n_without_views = stored.number("n_rows"), stored.number("n_unseen")
    stored.need(n_without_views <= n_rows, "n_unseen")
    n_views = 0 if schema is None else len(schema.names)
    zeros = stored.list("n_all_zero", int)
    stored.need(len(zeros) in (0, n_views) and all(0 <= n <= n_rows for n in zeros), "n_all_zero")
    gaps = stored.list("n_gaps", list)
    stored.need(len(gaps) in (0, n_views), "n_gaps")
    for own, width in zip(gaps, () if schema is None else schema.widths, strict=bool(gaps)):
        stored.need(len(own) == 3 and all(type(n) is int and n >= 0 for n in own), "n_gaps")
        rows, values, too_few = own
        stored.need(rows + too_few <= n_rows and rows <= values <= rows * (width or 0), "n_gaps")
    n_copies = stored.number_or_none("n_copies")
    return RowCounts(n_rows, n_without_views, n_copies, tuple(zeros), tuple(GapCounts(*own) for own in gaps))


BIN_ROWS = Rule(np.int64, "b K", 0, MOST_ROWS)
PATTERN_BITS = Rule(np.int64, "P", 0, 2 ** (MOST_BITS + 1) - 1)
PATTERN_ROWS = Rule(np.int64, "P", 1, MOST_ROWS)


def pack_census(census: Census | None, arrays: dict[str, Array]) -> dict[str, Any] | None:
    """Add the arrays to `arrays`; give what the JSON of the model says about them."""
    if census is None:
        return None
    patterns = sorted(census.patterns)
    arrays["census.counts"] = census.counts
    arrays["census.patterns"] = np.array(patterns, dtype=np.int64)
    arrays["census.numbers"] = np.array([census.patterns[name] for name in patterns], dtype=np.int64)
    return {"width": census.width, "other": census.n_other}


def unpack_census(stored: Fields, n_centres: int, n_rows: int) -> Census | None:
    """Restore them; None where the model had none."""
    if stored.get("census") is None:
        return None
    part = stored.part("census")
    width, n_other = part.number("width", least=1, most=MOST_ROWS), part.number("other", most=n_rows)
    part.need(width & (width - 1) == 0, "width")
    counts = stored.array("census.counts", BIN_ROWS, b=None, K=n_centres)
    patterns = stored.array("census.patterns", PATTERN_BITS, P=None)
    numbers = stored.array("census.numbers", PATTERN_ROWS, P=len(patterns))
    part.need(len(counts) <= BINS and len(patterns) <= MOST_PATTERNS, "census")
    part.need(bool((np.diff(patterns) > 0).all()), "census.patterns")
    inside = sum(counts.sum(axis=0).tolist()) <= n_rows and sum(numbers.tolist()) + n_other <= n_rows
    part.need(inside and (len(counts) - 1) * width < max(n_rows, 1), "census")
    return Census(width, counts, dict(zip(patterns.tolist(), numbers.tolist(), strict=True)), n_other)
