"""Counts of rows: those of parts add up to those of the whole."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from viewpass.sums.row_counts import GapCounts, RowCounts
from viewpass.views.chunk import Chunk, Oddities
from viewpass.views.rows import MeasuredRows

N_ROWS = 60


@pytest.fixture(params=[False, True], ids=["rows", "weights"])
def chunk(request):
    """Rows that lack views, are all zero in one, and have gaps."""
    rng = np.random.default_rng(0)
    views = [rng.standard_normal((N_ROWS, width)) for width in (4, 3)]
    views[0][rng.random(N_ROWS) < 0.3] = np.nan
    views[1][rng.random(N_ROWS) < 0.3] = 0.0
    copies = rng.integers(1, 5, size=N_ROWS) if request.param else None
    lacking = rng.integers(-1, 3, size=(N_ROWS, 2)).astype(np.int32)
    return replace(Chunk.of(views), copies=copies, odd=Oddities(lacking=lacking))


def counts(chunk):
    return RowCounts.of(MeasuredRows(chunk).measure())


def test_parts_add_up(chunk):
    whole, edges = counts(chunk), [0, 7, 8, 50, N_ROWS]
    found = RowCounts()
    for start, stop in pairwise(edges):
        found += counts(chunk.cut(start, stop))
    assert found == whole
    assert whole + RowCounts() == whole


def test_they_are_what_the_rows_show(chunk):
    first, second = chunk.views
    found = counts(chunk)
    has = ~np.isnan(first[:, 0]), second.any(axis=1)
    assert (found.n_rows, found.n_seen) == (N_ROWS, int((has[0] | has[1]).sum()))
    assert found.n_all_zero == (0, int((~has[1]).sum()))
    assert found.n_counted == (N_ROWS if chunk.copies is None else int(chunk.copies.sum()))
    held = chunk.odd.lacking[:, 1]
    assert found.n_gaps[1] == GapCounts((held > 0).sum(), held[held > 0].sum(), (held < 0).sum())


def test_what_there_is_none_of_is_not_mentioned():
    found = counts(Chunk.of([np.ones((5, 2))]))
    assert found == RowCounts(5)
