"""Initial centres: how many rows they may be compared with, and that no data stays in memory."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

import viewpass as vp
from cases import computing
from graphs import ridged_objective
from viewpass.graph.neighbours import NEAREST, neighbour_links
from viewpass.kernels.grid import UNIT
from viewpass.solve.starts import UPDATES, from_merges, from_neighbours
from viewpass.sums.chunk_step import ChunkStep
from viewpass.sums.rules import Rules, Workspace
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows

RULES = Rules(0.1, 20, 1e-6, "mean")


def made(n_rows, rng):
    centres = rng.standard_normal((10, 40))
    rows = centres[rng.integers(10, size=n_rows)] + 3 * rng.standard_normal((n_rows, 40))
    return [rows[:, :25].copy(), rows[:, 25:].copy()], rng.random((n_rows, 2)) < 0.7


def test_a_start_compares_no_more_than_thirty_thousand_rows():
    rng = np.random.default_rng(0)
    views, observed = made(4000, rng)
    workspace = Workspace(2)
    rows = MeasuredRows(Chunk.of(views, observed=observed))
    from_merges(rows.measure(), 10, ChunkStep(RULES, workspace), rng)
    assert workspace.n_compared <= 30_000


@pytest.mark.parametrize(
    ("estimator", "how"),
    [(kind(10), how) for kind in (vp.ViewPass, vp.OPIMC) for how in ("fit", "partial_fit")]
    + [(vp.IMC(10), "fit")],
)
def test_a_fitted_model_does_not_hold_on_to_the_data(estimator, how):
    views, _ = made(600, np.random.default_rng(1))
    model = getattr(clone(estimator).set_params(random_state=0), how)(views)
    held = weakref.ref(views[0])
    del views
    gc.collect()
    assert held() is None
    labels = model.stream_labels_ if how == "partial_fit" else model.labels_
    assert labels.shape == (600,)


@pytest.mark.parametrize("fill", ["mean", "zero-filled-mean", None])
@pytest.mark.parametrize("reference", [False, True])
def test_centres_of_labels_are_those_of_a_step_without_its_distance_pass(fill, reference):
    rng = np.random.default_rng(2)
    views, observed = made(300, rng)
    observed[:5] = False
    rows = MeasuredRows(Chunk.of(views, observed=observed))
    labels = rng.integers(9, size=300).astype(np.int32)  # the tenth cluster is empty
    step = ChunkStep(Rules(0.1, 1, 1e-6, fill), Workspace(1))
    with computing(reference=reference):
        found = step.centres_of(rows, labels, 10)
        assert step.workspace.n_compared == 0
        wanted = step.from_labels(rows, labels, 10).centres
    for mine, theirs in zip(found.values, wanted.values, strict=True):
        assert np.array_equal(mine, theirs)
    assert np.array_equal(found.known, wanted.known)


@pytest.mark.parametrize("ridge", [0.0, 0.1, 7.0])
def test_the_ridged_objective_is_that_of_the_best_centres(ridge):
    rng = np.random.default_rng(4)
    views, observed = made(200, rng)
    labels = rng.integers(9, size=200)  # the tenth cluster is empty
    total = vp.Statistics(10, [25, 15]).add(views, labels, observed=observed)
    wanted = 0.0
    for x, seen in zip(views, observed.T, strict=True):
        unit = x[seen] / np.linalg.norm(x[seen], axis=1, keepdims=True)
        unit -= unit.mean(axis=0)
        for k in range(9):
            mine = unit[labels[seen] == k]
            centre = mine.sum(axis=0) / (len(mine) + ridge)
            wanted += np.square(mine - centre).sum() + ridge * np.square(centre).sum()
        wanted -= np.square(unit).sum()
    assert ridged_objective(total, ridge) == pytest.approx(wanted, abs=1e-6)


def test_very_many_clusters_start_with_few_distance_passes_whatever_the_threads():
    n_clusters, rng = 800, np.random.default_rng(3)
    views = [rng.standard_normal((18_000, 3)) for _ in range(2)]
    rows = MeasuredRows(Chunk.of(views, observed=rng.random((len(views[0]), 2)) < 0.8))
    found = []
    for n_threads in (1, 2):
        workspace, rng = Workspace(n_threads), np.random.default_rng(4)
        outcome = from_merges(rows.measure(), n_clusters, ChunkStep(RULES, workspace), rng)
        assert len(np.unique(outcome.labels)) > 0.9 * n_clusters
        assert workspace.n_compared <= (1 + UPDATES) * rows.n_rows
        found.append(outcome.labels)
    np.testing.assert_array_equal(*found)


def words(n_rows, n_classes, rng):
    """Rows of few words each, most of them of their class, in two views of which one may be missing."""
    classes = rng.integers(n_classes, size=n_rows)
    views = []
    for _ in range(2):
        counts = np.zeros((n_rows, 40 * n_classes))
        for row, own in enumerate(classes):
            some = np.concatenate([40 * own + rng.integers(40, size=6), rng.integers(40 * n_classes, size=4)])
            np.add.at(counts[row], some, 1.0)
        views.append(counts)
    observed = rng.random((n_rows, 2)) < 0.7
    observed[~observed.any(axis=1), 0] = True
    return views, observed, classes


def test_neighbours_find_the_classes_of_sparse_rows_whatever_the_threads():
    views, observed, classes = words(300, 4, np.random.default_rng(0))
    found = []
    for n_threads in (1, 2):
        rows = MeasuredRows(Chunk.of(views, observed=observed)).measure()
        found.append(from_neighbours(rows, 4, ChunkStep(RULES, Workspace(n_threads))).labels)
    assert adjusted_rand_score(classes, found[0]) > 0.8
    np.testing.assert_array_equal(found[0], found[1])


def test_the_neighbour_graph_links_each_row_with_its_nearest_of_every_view():
    views, observed = made(60, np.random.default_rng(1))
    rows = MeasuredRows(Chunk.of(views, observed=observed)).measure()
    wanted = np.zeros((60, 60))
    for view, seen in zip(views, observed.T, strict=True):
        there = np.flatnonzero(seen)
        unit = view[there] / np.linalg.norm(view[there], axis=1, keepdims=True)
        distance = 2 - 2 * unit @ unit.T
        np.fill_diagonal(distance, -1)
        for row, line in zip(there, np.argsort(distance, axis=1, kind="stable"), strict=True):
            wanted[row, there[line[1 : NEAREST + 1]]] += 1
    wanted = (wanted + wanted.T) / np.maximum(observed.astype(int) @ observed.T, 1)
    np.testing.assert_allclose(neighbour_links(rows, Workspace(1)).toarray() / UNIT, wanted, atol=1e-3)
