"""Anchors that rows meet by groups: nothing changes the bits, and few neighbours are missed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import viewpass as vp
from graphs import bits
from viewpass.core.consensus.groups import groups_of
from viewpass.core.consensus.soft_assignment import soft_assignment
from viewpass.core.model import prepare
from viewpass.core.step.workspace import Workspace
from viewpass.engine.run import LocalSteps, run_to_end
from viewpass.engine.sinks import LabelArray
from viewpass.kernels.grid import FEWEST_GROUPED, MANY_NEIGHBOURS, UNIT, neighbours
from viewpass.views.chunk import Chunk

N, STEP = 3600, 300
M = FEWEST_GROUPED + 8


def data(form="float64"):
    """Six clusters in two views; some rows lack a view, a few lack both."""
    rng = np.random.default_rng(0)
    group = rng.integers(6, size=N)
    views = [3 * np.eye(6, width)[group] + rng.standard_normal((N, width)) for width in (5, 4)]
    observed = rng.random((N, 2)) > 0.2
    observed[::97] = False
    if form == "mixed":
        views = [views[0].astype(np.float32), sp.csr_array(np.where(abs(views[1]) > 0.8, views[1], 0.0))]
    return views, observed


def many(**settings):
    given = {"n_clusters": 6, "n_anchors": M, "consensus": "graph", "scale": "unit", "random_state": 0}
    given |= {"adaptive_anchors": True, "warmup": 2700, "chunk_size": STEP, "n_threads": 1}
    return vp.OPIMC(**(given | settings))


def read_by_calls(model, views, observed, start=0, stop=N):
    for first in range(start, stop, STEP):
        last = first + STEP
        model.partial_fit([x[first:last] for x in views], observed=observed[first:last])
    return model


@pytest.mark.every_value
@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("n_passes", [1, 2])
def test_sums_and_links_are_those_of_all_rows(adaptive, n_passes):
    views, observed = data("mixed")
    model = many(adaptive_anchors=adaptive, n_passes=n_passes).fit(views, observed=observed)
    held = model._learnt.model
    again = vp.Statistics(held.total.n_clusters, held.total.widths)
    assert again.add(views, model.anchor_labels_, observed) == held.total
    assert (held.links != held.links.T).nnz == 0
    assert held.links.has_canonical_format
    whole = held.read.n_seen * float(UNIT) ** 2
    assert abs(held.links.sum() / whole - 1) < 4 * MANY_NEIGHBOURS / UNIT


def test_threads_calls_and_files_do_not_matter(tmp_path):
    views, observed = data("mixed")
    model = many().fit(views, observed=observed)
    assert model._learnt.model.growth.lineage.n_names > M  # there were births
    assert bits(many(n_threads=3).fit(views, observed=observed)) == bits(model)
    parts = read_by_calls(many(), views, observed, stop=N - STEP)
    parts.save(tmp_path / "model")
    again = read_by_calls(vp.load(tmp_path / "model"), views, observed, start=N - STEP)
    assert bits(again) == bits(model)
    np.testing.assert_array_equal(again.predict(views, observed=observed), model.labels_)


@pytest.mark.long
def test_the_reference_gives_the_same_bits():
    views, observed = data("mixed")
    model = many().fit(views, observed=observed)
    fresh, source, _ = many()._prepare(views, observed)
    stream = fresh._learnt
    stream.plan = replace(stream.plan, reference=True)
    sink = LabelArray(N)
    run_to_end(LocalSteps(stream, source, sink, many()._cuts()), sink, 1, n_rows=N)
    assert bits(fresh) == bits(model)


def test_few_neighbours_are_missed_and_labels_follow_blocks_of_any_size():
    views, observed = data()
    model = many().fit(views, observed=observed)
    held, workspace = model._learnt.model, Workspace(1)
    rows = prepare(Chunk.of(views, observed=observed), held, workspace)
    near = soft_assignment(rows, held.centres, workspace).near
    every = soft_assignment(rows, held.centres, workspace, every=True).near
    assert near.shape[1] == neighbours(M) == MANY_NEIGHBOURS
    seen = rows.n_seen > 0
    kept = [np.isin(mine, theirs).mean() for mine, theirs in zip(near[seen], every[seen], strict=True)]
    assert np.mean(kept) > 0.95
    one_by_one = np.concatenate([model.predict([x[i : i + 7] for x in views]) for i in range(0, 70, 7)])
    np.testing.assert_array_equal(one_by_one, model.predict([x[:70] for x in views]))


def test_groups_are_of_the_anchors_alone():
    views, observed = data()
    held = many().fit(views, observed=observed)._learnt.model
    rows = prepare(Chunk.of([x[:9] for x in views]), held, Workspace(1))
    groups = groups_of(held.centres, rows, Workspace(1))
    held.centres._derived.clear()
    other = groups_of(held.centres, prepare(Chunk.of(views), held, Workspace(1)), Workspace(2))
    np.testing.assert_array_equal(groups.labels, other.labels)
    assert len(np.unique(groups.labels)) > 15  # of 23
    assert groups_of(held.centres.take(np.arange(FEWEST_GROUPED - 1)), rows, Workspace(1)) is None
