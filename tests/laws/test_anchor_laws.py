"""Models with anchors give the same bits for any threads, chunks, storage, file and prediction blocks."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import viewpass as vp
from cases import computing
from graphs import mixture
from viewpass.graph.soft_assignment import groups_of, links_of, soft_assignment
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import FEWEST_GROUPED, MANY_NEIGHBOURS, UNIT, neighbours
from viewpass.model.model import assign, label, prepare
from viewpass.sums.centres import Centres
from viewpass.sums.rules import Workspace
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows

N, N_SAMPLED, M = 900, 300, 40
FORMS = ("float64", "float32", "sparse", "mixed", "gaps")


def data(form="float64", seed=0, n_rows=N):
    """Four clusters in two views; some rows lack a view, a few lack both."""
    rng = np.random.default_rng(seed)
    group = rng.integers(4, size=n_rows)
    views = [5 * np.eye(4, width)[group] + rng.standard_normal((n_rows, width)) for width in (8, 6)]
    observed = rng.random((n_rows, 2)) > (0.5 if form == "gaps" else 0.2)
    observed[::97] = False
    if form == "float32":
        views = [x.astype(np.float32) for x in views]
    if form == "sparse":
        views = [sp.csr_array(np.where(abs(x) > 0.8, x, 0.0)) for x in views]
    if form == "mixed":
        views = [views[0].astype(np.float32), sp.csr_array(np.where(abs(views[1]) > 0.8, views[1], 0.0))]
    return views, observed


def anchored(**settings):
    given = {"n_clusters": 4, "n_anchors": M, "consensus": "graph", "sample_size": N_SAMPLED}
    return vp.ViewPass(**{**given, "random_state": 0, "n_threads": 1, **settings})


def bits(model):
    """All that a model has learnt, as bytes."""
    held = model._fitted_model()
    parts = [held.total.flat, held.total.flat_counts, held.links.toarray(), held.labelled.flat]
    parts += [*model.cluster_centers_, *model.counts_, model.anchors_, *model.anchor_centers_]
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


def cut_at(views, observed, edges):
    return [([x[a:b] for x in views], observed[a:b]) for a, b in zip([0, *edges], [*edges, N], strict=True)]


@pytest.fixture(scope="module")
def fitted():
    made = {}

    def get(form="float64"):
        if form not in made:
            views, observed = data(form)
            made[form] = anchored().fit(views, observed=observed)
        return made[form]

    return get


@pytest.mark.parametrize("form", FORMS)
def test_threads_do_not_matter(fitted, form):
    views, observed = data(form)
    one, other = fitted(form), anchored(n_threads=3).fit(views, observed=observed)
    assert bits(other) == bits(one)
    np.testing.assert_array_equal(other.labels_, one.labels_)


@pytest.mark.parametrize("form", ["float64", "mixed"])
@pytest.mark.parametrize("away", ["memory", "file", "pickle"])
def test_rows_in_any_calls(tmp_path, form, away):
    views, observed = data(form)
    one = anchored(compute_labels=False).fit(views, observed=observed)
    parts, other = [anchored() for _ in range(2)]
    other.partial_fit(views, observed=observed)
    for part, seen in cut_at(views, observed, [150, 299, 300, 301, 700]):
        parts.partial_fit(part, observed=seen)
        if away == "file":
            parts.save(tmp_path / "model")
            parts = vp.load(tmp_path / "model")
        elif away == "pickle":
            parts = pickle.loads(pickle.dumps(parts))
    assert bits(parts) == bits(other)
    # `fit` solves once more, at the end of the data: its sample is the same.
    held, theirs = one._learnt.sample, parts._learnt.sample
    np.testing.assert_array_equal(held.keys, theirs.keys)
    np.testing.assert_array_equal(held.numbers, theirs.numbers)


@pytest.mark.parametrize("form", FORMS)
def test_predict_in_any_blocks(fitted, form):
    views, observed = data(form)
    model = fitted(form)
    np.testing.assert_array_equal(model.predict(views, observed=observed), model.labels_)
    for edges in ([1, 2, 450], list(range(37, N, 37))):
        parts = [model.predict(part, observed=seen) for part, seen in cut_at(views, observed, edges)]
        np.testing.assert_array_equal(np.concatenate(parts), model.labels_)
    np.testing.assert_array_equal(model.labels_ == -1, ~observed.any(axis=1))


def test_predict_of_blocks_without_a_view_and_of_blocks_with_extreme_rows(fitted):
    """Which kernels run depends on the whole block; the label of a row must not."""
    views, observed = data("mixed")
    model = fitted("mixed")
    observed = observed & [True, False]
    whole = model.predict(views, observed=observed)
    np.testing.assert_array_equal(model.predict([views[0], None], observed=observed), whole)
    views, observed = data("float32")
    model = anchored(scale="unit").fit(views, observed=observed)
    extreme = [x.copy() for x in views]
    extreme[0][0] *= np.float32(1e30)
    labels = model.predict(extreme, observed=observed)
    np.testing.assert_array_equal(labels, model.labels_)


@pytest.mark.parametrize("n_anchors", [M, FEWEST_GROUPED + 8])
def test_sums_and_links_are_those_of_all_rows(n_anchors):
    """Of the rows by their nearest anchors, and of the rows by their labels."""
    n_rows = 900 if n_anchors == M else 2400
    views, observed = data(n_rows=n_rows)
    model = anchored(n_anchors=n_anchors, scale="unit", projection=None, sample_size=n_rows - 300)
    model.fit(views, observed=observed)
    held, workspace = model._fitted_model(), Workspace(1)
    rows = prepare(Chunk.of(views, observed=observed), held, workspace)
    soft = soft_assignment(rows, held.centres, workspace)
    again = vp.Statistics(n_anchors, [8, 6]).add(views, soft.labels, observed=observed)
    assert again == held.total
    links = links_of(soft, n_anchors, None)
    assert (held.links != links).nnz == 0
    assert (held.links != held.links.T).nnz == 0
    whole = observed.any(axis=1).sum() * float(UNIT) ** 2
    assert abs(held.links.sum() / whole - 1) < 4 * neighbours(n_anchors) / UNIT
    assert vp.Statistics(4, [8, 6]).add(views, model.labels_, observed=observed) == model.statistics_
    np.testing.assert_allclose(model.objective_, model.statistics_.objective([*model.alpha_.values()]))
    if n_anchors == M:  # of many, a row is compared with those of its nearest groups
        np.testing.assert_array_equal(soft.labels, assign(rows, held.centres, workspace)[0])


def test_distances_are_those_to_the_nearest_anchor(fitted):
    views, observed = data()
    model = fitted()
    distance = model.transform(views, observed=observed)
    assert distance.shape == (N, 4)
    assert np.isnan(distance[~observed.any(axis=1)]).all()
    every = model.cut(M).transform(views, observed=observed)
    seen = observed.any(axis=1)
    anchors = model.cut(M).anchors_
    for k in range(4):
        mine = every[:, anchors[model.anchors_ == k]]
        np.testing.assert_array_equal(distance[seen, k], mine[seen].min(axis=1))
    assert model.get_feature_names_out().shape == (4,)


def test_another_cut_needs_no_data_and_changes_nothing_else(tmp_path):
    views, observed = data()
    model = anchored(scale="unit", projection=None).fit(views, observed=observed)
    before = bits(model)
    for k in (1, 2, 7, M):
        other = model.cut(k)
        assert len(other.cluster_centers_[0]) == k
        assert other._fitted_model().total == model._fitted_model().total
        direct = anchored(scale="unit", projection=None, n_clusters=k).fit(views, observed=observed)
        np.testing.assert_array_equal(other.predict(views, observed=observed), direct.labels_)
        other.save(tmp_path / "cut")
        assert bits(vp.load(tmp_path / "cut")) == bits(other)
        other.partial_fit(views, observed=observed)
    assert bits(model) == before
    with pytest.raises(vp.SettingError, match=f"from 1 to {M}"):
        model.cut(M + 1)
    with pytest.raises(vp.SettingError):
        model.cut(0)


def test_rows_of_zeros_outside_the_sample_are_not_counted_by_a_cut(tmp_path):
    rows = (np.random.default_rng(0).random((400, 3)) < 0.3).astype(float)
    model = anchored(scale="unit", n_anchors=8, sample_size=60).fit([rows])
    assert model.n_rows_without_views_ == (~rows.any(axis=1)).sum()
    for k in (1, 3):
        other = model.cut(k)
        assert other.n_rows_without_views_ == model.n_rows_without_views_
        assert sum(other.counts_[0]) <= rows.any(axis=1).sum()
        other.save(tmp_path / "cut")


def test_plain_clusters_can_be_merged():
    views, observed = data()
    model = vp.ViewPass(12, consensus="plain", random_state=0).fit(views, observed=observed)
    assert (model.consensus_, model.anchors_, model.anchor_centers_, model.cluster_curve_) == (
        *("plain", None, None, None),
    )
    other = model.cut(4)
    assert other.consensus_ == "merge"
    assert sum(other.counts_[0]) == sum(model.counts_[0])
    assert other.inertia_ >= model.inertia_
    assert model.consensus_ == "plain"


def test_rows_without_any_view_are_not_counted(fitted):
    _, observed = data()
    model = fitted()
    assert sum(counts.sum() for counts in model.counts_) == observed.sum()
    assert (model.labels_[~observed.any(axis=1)] == -1).all()
    assert model.n_rows_without_views_ == (~observed.any(axis=1)).sum()


@pytest.mark.parametrize(("n_clusters", "n_anchors"), [(1, 1), (1, 5), (3, 3), (4, 7), (8, 300), ("auto", 2)])
@pytest.mark.parametrize("consensus", ["auto", "graph"])
def test_any_numbers_go_together(consensus, n_clusters, n_anchors):
    views, observed = data(n_rows=60)
    model = anchored(consensus=consensus, n_clusters=n_clusters, n_anchors=n_anchors, sample_size=50)
    model.fit(views, observed=observed)
    n_found = len(model.cluster_centers_[0])
    assert set(model.labels_[observed.any(axis=1)].tolist()) <= set(range(n_found))
    assert (model.labels_[~observed.any(axis=1)] == -1).all()
    assert sum(counts.sum() for counts in model.counts_) == observed.sum()
    if n_clusters != "auto":
        assert n_found == n_clusters


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_labels_are_those_of_exact_distances(dtype):
    """On noise, where many rows lie between clusters."""
    rng = np.random.default_rng(0)
    views = [rng.standard_normal((2000, width)).astype(dtype) for width in (5, 3)]
    held = anchored(sample_size=2000).fit(views)._fitted_model()
    chunk = Chunk.of([rng.standard_normal((40_000, width)).astype(dtype) for width in (5, 3)])
    rows = prepare(chunk, held, Workspace(1)).measure()
    with computing():
        same = MeasuredRows(rows.chunk).measure()
        exact = backend().all_distances(same.handle, Centres.of(held.centres.values).handle(), True, 1)
    labels = held.cut.of_soft_assignment(mixture(exact, rows.n_seen))
    for n_threads in (1, 2):
        np.testing.assert_array_equal(label(chunk, held, Workspace(n_threads)), labels)
    shaken = exact + rng.uniform(-1e-3, 1e-3, exact.shape)  # as from far less exact kernels
    assert (held.cut.of_soft_assignment(mixture(shaken, rows.n_seen)) != labels).any()


@pytest.fixture(scope="module")
def many():
    """A model of so many anchors that rows are compared with those of their nearest groups."""
    views, observed = data(n_rows=2700)
    settings = {"n_anchors": FEWEST_GROUPED + 8, "sample_size": 2700, "scale": "unit", "projection": None}
    return views, observed, anchored(**settings).fit(views, observed=observed)._fitted_model()


def test_few_neighbours_are_missed(many):
    views, observed, held = many
    workspace = Workspace(1)
    rows = prepare(Chunk.of(views, observed=observed), held, workspace)
    near = soft_assignment(rows, held.centres, workspace).near
    every = soft_assignment(rows, held.centres, workspace, n_near=MANY_NEIGHBOURS).near
    assert near.shape[1] == MANY_NEIGHBOURS
    seen = rows.n_seen > 0
    kept = [np.isin(mine, theirs).mean() for mine, theirs in zip(near[seen], every[seen], strict=True)]
    assert np.mean(kept) > 0.95


def test_groups_are_of_the_anchors_alone(many):
    views, _, held = many
    rows = prepare(Chunk.of([x[:9] for x in views]), held, Workspace(1))
    groups = groups_of(held.centres, rows, Workspace(1))
    held.centres._derived.clear()
    other = groups_of(held.centres, prepare(Chunk.of(views), held, Workspace(1)), Workspace(2))
    np.testing.assert_array_equal(groups.labels, other.labels)
    assert len(np.unique(groups.labels)) > 15  # of 23
    assert groups_of(held.centres.take(np.arange(FEWEST_GROUPED - 1)), rows, Workspace(1)) is None
