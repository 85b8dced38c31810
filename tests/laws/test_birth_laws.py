"""Anchors that are born and merge: sums are those of all rows, and nothing else changes the bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import viewpass as vp
from graphs import bits
from viewpass.engine.run import LocalSteps, run_to_end
from viewpass.engine.sinks import LabelArray
from viewpass.evaluate import nmi
from viewpass.kernels.grid import NEIGHBOURS, UNIT

N = 600
FORMS = ("float64", "float32", "sparse", "mixed")


def data(form="float64", seed=0):
    """Six clusters in two views, one after the other; some rows lack a view, a few lack both."""
    rng = np.random.default_rng(seed)
    group = np.sort(rng.integers(6, size=N))
    views = [5 * np.eye(6, width)[group] + rng.standard_normal((N, width)) for width in (9, 7)]
    observed = rng.random((N, 2)) > 0.2
    observed[::97] = False
    if form == "float32":
        views = [x.astype(np.float32) for x in views]
    if form == "sparse":
        views = [sp.csr_array(np.where(abs(x) > 0.8, x, 0.0)) for x in views]
    if form == "mixed":
        views = [views[0].astype(np.float32), sp.csr_array(np.where(abs(views[1]) > 0.8, views[1], 0.0))]
    return views, observed


def growing(**settings):
    given = {"n_clusters": 6, "n_anchors": 30, "consensus": "graph", "scale": "unit", "random_state": 0}
    given |= {"adaptive_anchors": True, "warmup": 60, "chunk_size": 60, "n_threads": 1}
    return vp.OPIMC(**(given | settings))


@pytest.mark.parametrize("consensus", ["graph", "merge"])
@pytest.mark.parametrize("form", FORMS)
def test_sums_are_those_of_all_rows_under_their_final_anchors(form, consensus):
    views, observed = data(form)
    model = growing(consensus=consensus).fit(views, observed=observed)
    held = model._learnt.model
    assert held.growth.lineage.n_names > held.total.n_clusters  # there were births and merges
    again = vp.Statistics(held.total.n_clusters, held.total.widths)
    again.add(views, model.anchor_labels_, observed)
    assert again == held.total
    if consensus == "graph":
        assert (held.links != held.links.T).nnz == 0
        whole = observed.any(axis=1).sum() * float(UNIT) ** 2
        assert abs(held.links.sum() / whole - 1) < 4 * NEIGHBOURS / UNIT  # weights of a row add up to 1


@pytest.mark.parametrize("form", FORMS)
def test_threads_and_calls_do_not_matter(form):
    views, observed = data(form)
    model = growing().fit(views, observed=observed)
    assert bits(growing(n_threads=3).fit(views, observed=observed)) == bits(model)
    parts = growing()
    for start in range(0, N, 60):
        stop = start + 60
        parts.partial_fit([x[start:stop] for x in views], observed=observed[start:stop])
    assert bits(parts) == bits(model)
    np.testing.assert_array_equal(parts.predict(views, observed=observed), model.labels_)


def test_the_reference_gives_the_same_bits():
    views, observed = data("mixed")
    model = growing().fit(views, observed=observed)
    other = growing()
    fresh, source, _ = other._prepare(views, observed)
    stream = fresh._learnt
    stream.plan = replace(stream.plan, reference=True)
    sink = LabelArray(N)
    run_to_end(LocalSteps(stream, source, sink, other._cuts()), sink, 1, n_rows=N)
    assert bits(fresh) == bits(model)
    np.testing.assert_array_equal(stream.model.centres_of(sink.labels(N)), model.anchor_labels_)


@pytest.mark.parametrize("at", [60, 120, 360])
def test_a_saved_model_goes_on_with_the_same_bits(at, tmp_path):
    views, observed = data("mixed")
    model = growing().fit(views, observed=observed)
    first = growing()
    for start in range(0, at, 60):
        stop = start + 60
        first.partial_fit([x[start:stop] for x in views], observed=observed[start:stop])
    first.save(tmp_path / "model")
    again = vp.load(tmp_path / "model")
    for start in range(at, N, 60):
        stop = start + 60
        again.partial_fit([x[start:stop] for x in views], observed=observed[start:stop])
    assert bits(again) == bits(model)


def test_a_second_pass_keeps_the_anchors_and_counts_every_row_once():
    views, observed = data()
    once = growing().fit(views, observed=observed)
    twice = growing(n_passes=2).fit(views, observed=observed)
    held = twice._learnt.model
    np.testing.assert_array_equal(held.growth.lineage.heirs, once._learnt.model.growth.lineage.heirs)
    again = vp.Statistics(held.total.n_clusters, held.total.widths)
    assert again.add(views, twice.anchor_labels_, observed) == held.total


def test_noise_opens_nothing_for_long():
    rng = np.random.default_rng(1)
    group = rng.integers(6, size=N)
    noise = rng.random(N) < 0.05
    views = []
    for width in (60, 50):
        x = 2 * np.eye(6, width)[group] + 0.2 * rng.standard_normal((N, width))
        x[noise] = rng.standard_normal((noise.sum(), width))
        views.append(x)
    noise[:60] = False  # the first anchors are made of whatever there is
    model = growing().fit(views)
    counts = np.bincount(model.anchor_labels_, minlength=30)
    of_noise = np.bincount(model.anchor_labels_[noise], minlength=30)
    assert (of_noise == counts)[counts > 0].mean() < 0.05
    labels, truth = model.labels_[~noise], group[~noise]
    assert nmi(truth, labels) > 0.98


def test_classes_that_come_late_get_anchors_of_their_own():
    views, observed = data()
    group = np.sort(np.random.default_rng(0).integers(6, size=N))
    seen = observed.any(axis=1)
    scores = [
        nmi(group[seen], growing(adaptive_anchors=how).fit(views, observed=observed).labels_[seen])
        for how in (False, True)
    ]
    assert scores[0] + 0.05 < scores[1] > 0.9
