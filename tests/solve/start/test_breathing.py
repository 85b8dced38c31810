"""Splits and merges that leave local optima, and the main columns that they are searched in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

from viewpass.evaluate import ari
from viewpass.solve import few_columns
from viewpass.solve.centres import initialise_clusters
from viewpass.solve.few_columns import in_main_columns
from viewpass.solve.plan import Plan
from viewpass.solve.starts import breathed
from viewpass.sums.chunk_step import ChunkStep
from viewpass.sums.rules import Rules, Workspace
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows

RULES = Rules(0.1, 20, 1e-6, "mean")


def made(n_rows, n_clusters, noise, seed=0, *, sparse=False):
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_clusters, size=n_rows)
    views = [
        rng.standard_normal((n_clusters, width))[truth] + noise * rng.standard_normal((n_rows, width))
        for width in (12, 30)
    ]
    observed = rng.random((n_rows, 2)) < 0.8
    observed[~observed.any(axis=1), 0] = True
    if sparse:
        views = [scipy.sparse.csr_array(np.where(view > 0.5, view, 0.0)) for view in views]
    copies = rng.integers(1, 3, size=n_rows)
    return replace(Chunk.of(views, observed=observed), copies=copies), truth


def test_two_centres_that_share_a_cluster_are_parted():
    chunk, truth = made(600, 6, 0.2)
    rows, step = MeasuredRows(chunk).measure(), ChunkStep(RULES, Workspace(1))
    bad = np.where(truth == 5, 4, truth)  # two clusters as one,
    bad[(truth == 0) & (np.arange(600) % 2 == 0)] = 5  # and one as two
    before = step.from_labels(rows, bad.astype(np.int32), 6)
    assert ari(truth, before.labels) < 0.9
    after = breathed(rows, before, step, np.random.default_rng(0))
    assert after.loss < before.loss
    assert ari(truth, after.labels) == 1.0


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 40])
def test_the_objective_never_rises(n_clusters):
    chunk, _ = made(60, 5, 1.0)
    rows, step = MeasuredRows(chunk).measure(), ChunkStep(RULES, Workspace(1))
    before = step.from_labels(rows, np.arange(60, dtype=np.int32) % n_clusters, n_clusters)
    after = breathed(rows, before, step, np.random.default_rng(0))
    assert after.loss <= before.loss
    assert after.total.n_clusters == n_clusters


@pytest.mark.parametrize("sparse", [False, True])
def test_the_search_has_the_same_bits_on_any_threads(monkeypatch, sparse):
    monkeypatch.setattr(few_columns, "MOST_COLUMNS", 10)
    chunk, _ = made(300, 6, 0.7, sparse=sparse)
    found = []
    for n_threads in (1, 3):
        plan, rows = Plan(6, RULES, auto_alpha=True), MeasuredRows(chunk).measure()
        outcome, alpha, _ = initialise_clusters(
            rows, plan, Workspace(n_threads), np.random.default_rng(1), whole=True
        )
        found.append((outcome.labels.tobytes(), outcome.loss, alpha))
    assert found[0] == found[1]


def test_main_columns_are_those_that_rows_add_up_to_most_in(monkeypatch):
    monkeypatch.setattr(few_columns, "MOST_COLUMNS", 3)
    dense = np.zeros((4, 6))
    dense[:, 1], dense[:, 4], dense[:, 5], dense[0, 2] = 3.0, -2.0, 1.0, 0.5
    rows = MeasuredRows(Chunk.of([scipy.sparse.csr_array(dense), dense])).measure()
    main = in_main_columns(rows)
    assert main.widths == [3, 6]
    np.testing.assert_array_equal(main.matrix(0).toarray(), dense[:, [1, 4, 5]])
    np.testing.assert_array_equal(main.inverse, rows.inverse)
    assert in_main_columns(main) is main
