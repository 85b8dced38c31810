"""The anchor graph: separated blocks are found, whatever their shape."""

from __future__ import annotations

import numpy as np
import pytest

from graphs import mixture
from viewpass.graph import spectral as graph
from viewpass.graph.cut import cut
from viewpass.graph.soft_assignment import links_of, sparse_links
from viewpass.kernels.grid import UNIT


def blocks(sizes, rng, across=0):
    """Links of blocks of anchors; `across` of them between all."""
    n = sum(sizes)
    group = np.repeat(np.arange(len(sizes)), sizes)
    inside = group[:, None] == group
    links = np.where(inside, rng.integers(50, 100, (n, n)), across) * UNIT
    return np.tril(links) + np.tril(links, -1).T, group


def same_partition(a, b):
    return len(set(zip(a.tolist(), b.tolist(), strict=True))) == len(set(a.tolist())) == len(set(b.tolist()))


def squares(points, places):
    return ((points[:, None] - places) ** 2).sum(axis=2)


@pytest.mark.parametrize("across", [0, 2])
@pytest.mark.parametrize("sizes", [(5, 5, 5), (3, 9, 4, 20), (8, 8)])
def test_blocks_are_recovered(sizes, across):
    links, group = blocks(sizes, np.random.default_rng(0), across)
    mixed = np.random.default_rng(1).permutation(len(group))
    found = graph.cut(sparse_links(links[np.ix_(mixed, mixed)], len(group)), len(sizes))
    assert same_partition(found.labels, group[mixed])
    firsts = [int(np.flatnonzero(found.labels == k)[0]) for k in range(len(sizes))]
    assert firsts == sorted(firsts)  # numbered by their lowest anchor


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_anchors_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    group = np.arange(900) % 6
    points = 4 * np.eye(6)[group] + rng.standard_normal((900, 6))
    places = points[rng.choice(900, 120, replace=False)]
    links = links_of(mixture(squares(points, places), np.ones(900, dtype=np.int64)), 120)
    mixed = rng.permutation(120)
    other = sparse_links(links.toarray()[np.ix_(mixed, mixed)], 120)
    found, again = graph.cut(links, 6), graph.cut(other, 6)
    assert same_partition(found.labels[mixed], again.labels)


def test_a_few_odd_anchors_are_no_cluster():
    rng = np.random.default_rng(0)
    links, group = blocks((30, 30, 30, 1), rng, across=5)
    odd = group == 3
    links[odd, :] = links[:, odd] = 0
    links[odd, odd] = 40 * UNIT
    found = graph.cut(sparse_links(links, len(group)), 3)
    assert same_partition(found.labels[~odd], group[~odd])
    assert len(np.unique(graph.cut(sparse_links(links, len(group)), 4).labels[~odd])) == 4


def test_several_cuts_at_once_have_the_clusters_of_each_alone():
    links = sparse_links(blocks((9, 8, 7, 6), np.random.default_rng(3), across=1)[0], 30)
    for n_clusters, found in zip((2, 4, 6), graph.cuts(links, [2, 4, 6], 20), strict=True):
        assert same_partition(found.labels, graph.cut(links, n_clusters).labels)


def test_anchors_without_links_do_no_harm():
    links, group = blocks((6, 6, 6), np.random.default_rng(0))
    lonely = np.zeros((20, 20), dtype=np.int64)
    lonely[:18, :18] = links
    found = graph.cut(sparse_links(lonely, 20), 3)
    assert same_partition(found.labels[:18], group)
    assert np.isfinite(found.places).all()
    assert len(graph.cut(sparse_links(np.zeros((7, 7), dtype=np.int64), 7), 3).labels) == 7


@pytest.mark.parametrize("n_anchors", [1, 2, 5, 30])
def test_any_number_of_clusters_can_be_asked_for(n_anchors):
    rng = np.random.default_rng(n_anchors)
    points, places = rng.standard_normal((200, 3)), rng.standard_normal((n_anchors, 3))
    rows = mixture(squares(points, places), np.ones(200, dtype=np.int64))
    links = links_of(rows, n_anchors)
    for k in {1, min(2, n_anchors), n_anchors}:
        found = cut(None, links, 0.1, k)
        assert found.n_clusters == k
        assert set(found.anchors.tolist()) <= set(range(k))
        assert set(found.of_soft_assignment(rows).tolist()) <= set(range(k))


def test_rows_go_with_their_anchors_in_any_blocks():
    rng = np.random.default_rng(3)
    group = np.arange(600) % 3
    points = 6 * np.eye(3)[group] + rng.standard_normal((600, 3))
    places = points[rng.choice(600, 40, replace=False)]
    rows = mixture(squares(points, places), np.ones(600, dtype=np.int64))
    found = graph.cut(links_of(rows, 40), 3)
    labels = found.labels_of(rows)
    assert same_partition(labels, group)
    for size in (1, 7, 599):
        parts = [type(rows)(rows.near[i : i + size], rows.weights[i : i + size]) for i in range(0, 600, size)]
        np.testing.assert_array_equal(np.concatenate([found.labels_of(part) for part in parts]), labels)


def test_two_rings_are_two_clusters():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 1000)
    ring = np.arange(1000) % 2
    points = (1 + 2 * ring)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    points += 0.05 * rng.standard_normal(points.shape)
    places = points[rng.choice(1000, 60, replace=False)]
    rows = mixture(squares(points, places), np.ones(1000, dtype=np.int64))
    assert same_partition(graph.cut(links_of(rows, 60), 2).labels_of(rows), ring)
