"""Births of anchors: who may open one, how many there are, and who waits."""

from __future__ import annotations

import numpy as np
import pytest

from viewpass.core.consensus import births
from viewpass.core.consensus.births import candidates, chosen, n_allowed, opened
from viewpass.core.state.centres import Centres
from viewpass.core.state.growth import Anchors, Growth
from viewpass.core.state.lineage import Lineage
from viewpass.core.state.statistics import Statistics
from viewpass.core.step.workspace import Workspace
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows

FIRST = np.eye(2, 8)  # the anchors there are


def anchors(most=10):
    """Two anchors in two views, of no rows."""
    centres = Centres.of([FIRST, FIRST])
    return Anchors(Statistics(2, [8, 8]), centres, None, Growth(most, Lineage.of(2)))


def rows_of(*directions, observed=None):
    values = np.array(directions, dtype=float)
    given = None if observed is None else np.array(observed)
    return MeasuredRows(Chunk.of([values, values], observed=given)).measure()


def after(rows, before=None, n_rows=1000):
    before = before or anchors()
    found = chosen([candidates(rows, 0, before.centres)])
    return opened(before, found, n_rows, Workspace(1))


E = np.eye(8)


def test_rows_that_are_alike_and_far_open_one_anchor():
    grown = after(rows_of(E[3], E[3] + 0.01 * E[4], E[0], E[1]))
    assert grown.centres.n_clusters == 3
    np.testing.assert_allclose(grown.centres.values[0][2] @ E[3], 1.0, atol=1e-3)
    assert grown.growth.waiting is None
    assert not grown.total.flat_counts.any()  # rows are counted when they are assigned


def test_a_lone_row_waits_until_one_like_it_comes():
    alone = after(rows_of(E[3], E[0]))
    assert alone.centres.n_clusters == 2
    assert alone.growth.waiting.n_rows == 1
    both = after(rows_of(E[3] + 0.01 * E[5], E[1]), alone)
    assert both.centres.n_clusters == 3
    assert both.growth.waiting is None


def test_rows_unlike_each_other_open_nothing_and_few_of_them_wait(monkeypatch):
    monkeypatch.setattr(births, "MOST_WAITING", 3)
    grown = after(rows_of(*E[2:8]))
    assert grown.centres.n_clusters == 2
    assert grown.growth.waiting.n_rows == 3


def test_a_row_with_one_view_of_two_opens_nothing():
    seen = [[True, False], [False, True], [True, True]]
    grown = after(rows_of(E[3], E[3], E[0], observed=seen))
    assert grown.centres.n_clusters == 2


def test_a_view_that_a_row_lacks_is_that_of_its_nearest_anchor():
    centres = Centres.of([np.vstack([FIRST, E[2]])] * 3)
    before = Anchors(Statistics(3, [8, 8, 8]), centres, None, Growth(10, Lineage.of(3)))
    values = np.vstack([E[1] + 2 * E[3]] * 2)
    observed = np.array([[True, True, False]] * 2)
    rows = MeasuredRows(Chunk.of([values] * 3, observed=observed)).measure()
    grown = after(rows, before)
    np.testing.assert_array_equal(grown.centres.values[2][3], E[1])


@pytest.mark.parametrize(("n_rows", "most"), [(100, 10), (10**6, 10)])
def test_births_are_the_room_and_a_share_that_falls(n_rows, most):
    budget = Growth(most, Lineage.of(2)).budget(n_rows, 2)
    assert budget == 10
    assert n_allowed(2, budget, 50, n_rows) == 8 + -(-births.SHARE * 10 * 50 // n_rows)


def test_large_chunks_are_sampled_alike_however_they_are_split(monkeypatch):
    monkeypatch.setattr(births, "FEW_CANDIDATES", 20)
    rows = np.random.default_rng(0).standard_normal((200, 8))
    whole = MeasuredRows(Chunk.of([rows, rows])).measure()
    centres = anchors().centres
    found = chosen([candidates(whole, 7, centres)])
    assert len(found.numbers) == 20
    parts = []
    for start, stop in ((0, 30), (30, 31), (31, 200)):
        part = MeasuredRows(Chunk.of([rows[start:stop]] * 2)).measure()
        parts.append(candidates(part, 7 + start, centres))
    same = chosen(parts)
    np.testing.assert_array_equal(same.numbers, found.numbers)
    np.testing.assert_array_equal(same.rows.chunk.views[0], found.rows.chunk.views[0])
    assert same.n_rows == found.n_rows == 200
