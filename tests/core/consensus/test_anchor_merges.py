"""Merges of anchors: sums and links add up, the cheapest pairs go first, none is without rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from viewpass.core.consensus import anchor_merges
from viewpass.core.consensus.anchor_merges import shrunk
from viewpass.core.consensus.soft_assignment import sparse_links
from viewpass.core.plan import Rules
from viewpass.core.state.centres import Centres
from viewpass.core.state.growth import Anchors, Growth
from viewpass.core.state.lineage import Lineage
from viewpass.core.state.statistics import Statistics

RULES = Rules(0.1, 20, 1e-6, "mean")


def made(rng, n_anchors, most, *, empty=0.2):
    """Anchors of random rows, some of them without any."""
    n_rows = 40
    views = [rng.standard_normal((n_rows, width)) for width in (4, 3)]
    observed = rng.random((n_rows, 2)) < 0.7
    used = np.flatnonzero(rng.random(n_anchors) >= empty)
    labels = rng.choice(used, n_rows) if len(used) else np.zeros(n_rows, dtype=int)
    total = Statistics(n_anchors, [4, 3]).add(views, labels, observed)
    half = rng.integers(0, 5, size=(n_anchors, n_anchors))
    centres = Centres.of([rng.standard_normal((n_anchors, width)) for width in (4, 3)])
    growth = Growth(most, Lineage.of(n_anchors))
    links = sparse_links(half + half.T, n_anchors)
    return Anchors(total, centres, links, growth), views, labels, observed


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 12))
def test_sums_and_links_are_those_of_the_anchors_that_were_merged(seed, n_anchors, most):
    before, views, labels, observed = made(np.random.default_rng(seed), n_anchors, most)
    after = shrunk(before, 1000, RULES)
    n_left = after.total.n_clusters
    assert n_left <= max(most, 1)
    assert after.total.flat_counts.any(axis=0).all() or n_left == 1
    places = after.growth.lineage.places(np.arange(n_anchors, dtype=np.int32))
    again = Statistics(n_left, [4, 3]).add(views, places[labels], observed)
    assert again == after.total
    links = np.zeros((n_left, n_left), dtype=np.int64)
    np.add.at(links, (places[:, None], places[None, :]), before.links.toarray())
    np.testing.assert_array_equal(links, after.links.toarray())
    assert after.links.has_canonical_format
    assert after.centres.n_clusters == len(after.growth.lineage.names) == n_left


def test_the_nearest_anchors_are_merged_and_their_centre_is_the_mean():
    views = [np.array([[1.0, 0, 0], [0.99, 0.1, 0], [0, 1, 0], [0, 0, 1]])]
    total = Statistics(4, [3]).add(views, np.arange(4))
    before = Anchors(total, Centres.of(views), None, Growth(3, Lineage.of(4)))
    after = shrunk(before, 1000, RULES)
    assert after.growth.lineage.places(np.arange(4)).tolist() == [0, 0, 1, 2]
    np.testing.assert_allclose(after.centres.values[0][0], total.sums(0)[:2].sum(axis=0) / 2.1)
    np.testing.assert_array_equal(after.centres.values[0][1:], views[0][2:])  # the others stay


def test_an_anchor_without_rows_joins_the_one_it_has_most_links_with():
    views = [np.eye(3)]
    total = Statistics(4, [3]).add(views, np.array([0, 1, 2]))
    links = np.diag([5, 5, 5, 0]) + 3 * (np.eye(4)[[3, 2, 1, 0]] * [[0], [1], [1], [0]])
    links[3, 1] = links[1, 3] = 2
    before = Anchors(total, Centres.of([np.eye(4, 3)]), sparse_links(links, 4), Growth(4, Lineage.of(4)))
    after = shrunk(before, 1000, RULES)
    assert after.growth.lineage.places(np.arange(4)).tolist() == [0, 1, 2, 1]
    assert after.links.sum() == links.sum()


def test_of_many_anchors_those_with_most_links_merge(monkeypatch):
    """Here the nearest two have none: they do not merge as long as others can."""
    monkeypatch.setattr(anchor_merges, "FEWEST_GROUPED", 4)
    views = [np.array([[1.0, 0, 0], [0.99, 0.1, 0], [0, 1, 0], [0, 0, 1]])]
    total = Statistics(4, [3]).add(views, np.arange(4))
    links = np.diag([5, 5, 5, 5])
    links[2, 3] = links[3, 2] = 1
    before = Anchors(total, Centres.of(views), sparse_links(links, 4), Growth(3, Lineage.of(4)))
    places = [
        shrunk(replace(before, growth=Growth(most, Lineage.of(4))), 1000, RULES).growth.lineage.places(
            np.arange(4)
        )
        for most in (3, 2)
    ]
    assert [found.tolist() for found in places] == [[0, 1, 2, 2], [0, 0, 1, 1]]
