"""Merging of very many small clusters: by neighbours, at the prices of the ridged objective."""

from __future__ import annotations

import numpy as np
import pytest

import viewpass as vp
from graphs import ridged_objective
from viewpass.evaluate import nmi
from viewpass.kernels.grid import FEWEST_GROUPED
from viewpass.solve import starts
from viewpass.solve.small_clusters import _near, near_merges
from viewpass.solve.starts import from_merges
from viewpass.sums.chunk_step import ChunkStep
from viewpass.sums.rules import Rules, Workspace
from viewpass.sums.statistics import Statistics
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows
from viewpass.views.scaling import Scaling

RULES = Rules(3.0, 20, 1e-6, "mean")


def made(n_classes, n_rows, noise, seed, widths=(24, 16)):
    rng = np.random.default_rng(seed)
    classes = np.arange(n_rows) % n_classes
    views = [
        rng.standard_normal((n_classes, d))[classes] + noise * rng.standard_normal((n_rows, d))
        for d in widths
    ]
    return views, rng.random((n_rows, len(widths))) < 0.8, classes


def of(labels, views, observed, n_clusters):
    rows = MeasuredRows(Chunk.of(views, observed=observed)).measure()
    total = Statistics(n_clusters, rows.widths)
    total.move(rows, labels.astype(np.int32), 1)
    return rows, total


def test_a_price_is_what_merging_adds_to_the_ridged_objective():
    views, observed, _ = made(4, 120, 1.0, 0)
    observed |= ~observed.any(axis=1, keepdims=True)
    labels = np.random.default_rng(1).integers(8, size=120)
    rows, total = of(labels, views, observed, 8)
    first = near_merges(total, 1, 2.5, rows, Workspace(1))
    (kept, gone), price = first.pairs[0], first.prices[0]
    _, merged = of(np.where(labels == gone, kept, labels), views, observed, 8)
    assert price == pytest.approx(ridged_objective(merged, 2.5) - ridged_objective(total, 2.5), abs=1e-9)


def test_parts_of_a_cluster_are_put_together_again():
    views, observed, classes = made(40, 1600, 0.5, 2)
    parts = classes + 40 * np.random.default_rng(3).integers(3, size=1600)
    parts[~observed.any(axis=1)] = -1
    rows, total = of(parts, views, observed, 120)
    found = near_merges(total, 80, 3.0, rows, Workspace(1)).labels(40)
    np.testing.assert_array_equal(found, np.arange(120) % 40)


@pytest.mark.parametrize("n_clusters", [1, 7, 60])
def test_the_number_of_clusters_is_the_one_asked_for_whatever_is_near(n_clusters):
    rng = np.random.default_rng(4)
    views = [rng.random((300, 5)), rng.random((300, 4))]
    observed = np.arange(300)[:, None] % 2 == np.arange(2)  # no cluster has both views
    labels = rng.integers(20, size=300) * 2 + np.arange(300) % 2
    labels[labels >= 36] = 0  # and some are empty
    observed[labels == 0] = True
    rows, total = of(labels, views, observed, 60)
    found = near_merges(total, 60 - n_clusters, 0.5, rows, Workspace(1)).labels(n_clusters)
    assert sorted(set(found.tolist())) == list(range(n_clusters))


def test_threads_agree(monkeypatch):
    monkeypatch.setattr(starts, "FEWEST_GROUPED", 10)
    views, observed, _ = made(12, 400, 1.0, 5)
    found = []
    for n_threads in (1, 3):
        rows = MeasuredRows(Chunk.of(views, observed=observed))
        step = ChunkStep(RULES, Workspace(n_threads))
        found.append(from_merges(rows.measure(), 12, step, np.random.default_rng(6)))
    for other in found[1:]:
        np.testing.assert_array_equal(other.labels, found[0].labels)
        assert other.loss == found[0].loss


# No more than the sample holds, and more.
@pytest.mark.parametrize("n_rows", [6_000, pytest.param(36_000, marks=pytest.mark.long)])
def test_hundreds_of_clusters_are_found(n_rows):
    n_classes = 300
    assert starts.SMALL_PER_CLUSTER * n_classes > FEWEST_GROUPED
    views, observed, classes = made(n_classes, n_rows, 1.0, 7, (48, 32))
    order = np.random.default_rng(8).permutation(n_rows)
    views, observed, classes = [x[order] for x in views], observed[order], classes[order]
    model = vp.ViewPass(n_classes, alpha=2.0, random_state=0).fit(views, observed=observed)
    assert nmi(classes, model.labels_) > 0.93
    assert len(np.unique(model.labels_[model.labels_ >= 0])) > 0.95 * n_classes


def test_lengths_decide_who_is_near_where_they_are_kept():
    places = np.arange(1.0, 61.0)[:, None] * [1.0, 2.0]
    plain = MeasuredRows(Chunk.of([places])).measure()
    rows = MeasuredRows(Scaling.learn(plain, ["euclidean"]).apply(plain.chunk)).measure()
    total = Statistics(60, rows.widths)
    total.move(rows, np.arange(60, dtype=np.int32), 1)
    near = _near(total.centres(1e-9), total, rows, Workspace(1))
    assert np.abs(near - np.arange(60)[:, None]).max() <= near.shape[1]
