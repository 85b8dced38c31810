"""Small clusters computed a few at a time: the same, to the bit, as those of a whole step."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse

from cases import computing
from inputs import random_csr
from viewpass.graph.cut import Products
from viewpass.kernels.backend import native
from viewpass.solve import small_clusters, starts
from viewpass.sums.chunk_step import ChunkStep
from viewpass.sums.rules import Rules, Workspace
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows
from zipped import zipped

WIDTHS = (70, 200, 130)


def made(n_rows, seed, *, equal=False, lacking=False):
    """Sparse rows; many of them alike (`equal`: ties), a view that hardly any row has (`lacking`)."""
    rng = np.random.default_rng(seed)
    views = [random_csr(rng, (n_rows, d), 0.05) for d in WIDTHS]
    if equal:
        views = [scipy.sparse.csr_array((x > 0.9).astype(np.float32)) for x in views]
    observed = rng.random((n_rows, 3)) < 0.7
    observed[:5] = False
    if lacking:
        observed[:, 1] = np.arange(n_rows) < 20
    return views, observed


def case_of(views, observed):
    return MeasuredRows(Chunk.of(views, observed=observed)).measure()


def by_steps(rows, n_clusters, rules, seed):
    """What a start does with views of other kinds."""
    rng = np.random.default_rng(seed)
    outcome = starts._from_seeds(rows, n_clusters, ChunkStep(rules, Workspace(1)), rng)
    return outcome.labels, Products.of(outcome.total)


def few_at_a_time(rows, n_clusters, rules, workspace, seed):
    rng = np.random.default_rng(seed)
    drawn = starts._rows_to_seed_from(rows, n_clusters, rng, starts.ROWS_PER_SEED)
    seeds = starts.seeded_labels(drawn, n_clusters, rng)
    labels = small_clusters.assigned(rows, drawn, seeds, n_clusters, ChunkStep(rules, workspace))
    return labels, small_clusters.products(rows, labels, n_clusters, workspace)


@pytest.mark.parametrize(
    ("fill", "n_rows", "of"),
    zipped(["mean", "zero-filled-mean", None], [300, 900], [{}, {"equal": True}, {"lacking": True}]),
)
def test_they_are_those_of_a_step_whatever_the_blocks_and_threads(monkeypatch, fill, n_rows, of):
    views, observed = made(n_rows, 0, **of)
    rules = Rules(0.1, 1, 1e-6, fill)
    rows = case_of(views, observed)
    wanted, products = by_steps(rows, 60, rules, 1)
    with computing():
        plain, _ = by_steps(case_of(views, observed), 60, rules, 1)
    assert np.array_equal(wanted, plain)
    for together, n_threads in ((2**19, 1), (2**19, 3), (1000, 2), (1, 1)):
        monkeypatch.setattr(small_clusters, "BLOCK_VALUES", together)
        labels, found = few_at_a_time(rows, 60, rules, Workspace(n_threads), 1)
        assert np.array_equal(labels, wanted)
        assert np.array_equal(found.counts, products.counts)
        assert np.array_equal(found.sums, products.sums)


def test_dense_rows_start_as_sparse_ones_do():
    views, observed = made(900, 2)
    rules = Rules(0.1, 6, 1e-6, "mean")
    dense = [x.toarray() for x in views]
    one, other = (
        starts.merged(case_of(x, observed), 5, ChunkStep(rules, Workspace(2)), np.random.default_rng(3))
        for x in (views, dense)
    )
    assert case_of(views, observed).sparse
    assert not case_of(dense, observed).sparse
    assert np.array_equal(one.labels, other.labels)
    assert one.total == other.total


def few_values(rng, n_rows, width, each):
    """A wide sparse matrix, which is never a dense one."""
    places = np.repeat(np.arange(n_rows), each), rng.integers(width, size=n_rows * each)
    return scipy.sparse.csr_array((rng.random(n_rows * each), places), shape=(n_rows, width))


@pytest.mark.skipif(native is None, reason="the module is not compiled")
def test_all_of_them_are_never_held_at_once():
    rng = np.random.default_rng(4)
    widths, n_clusters = (40_000, 30_000, 20_000), 60
    views = [few_values(rng, 1000, d, d // 1000) for d in widths]
    rows, rules = case_of(views, None), Rules(0.1, 1, 1e-6, "mean")
    few_at_a_time(rows, n_clusters, rules, Workspace(1), 5)
    tracemalloc.start()
    few_at_a_time(rows, n_clusters, rules, Workspace(1), 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * n_clusters * sum(widths)
