"""Models with anchors give the same bits for any threads, chunks, storage, file and prediction blocks."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import viewpass as vp
from graphs import mixture
from viewpass.core.model import label, prepare
from viewpass.core.step.workspace import Workspace
from viewpass.kernels.backend import backend
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows

N = 900
CONSENSUS = ("graph", "merge")
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


def anchored(consensus, **settings):
    given = {
        "n_clusters": 4,
        "n_anchors": 40,
        "chunk_size": 150,
        "warmup": 200,
        "random_state": 0,
        "adaptive_anchors": False,  # births have laws of their own
        "n_threads": 1,
    }
    return vp.OPIMC(**{**given, "consensus": consensus, **settings})


def bits(model):
    """All that a model has learnt, as bytes."""
    held = model._learnt.model
    parts = [held.total.flat, held.total.flat_counts, np.array(held.loss_curve)]
    parts += [*model.cluster_centers_, *model.counts_]
    if model.anchors_ is not None:
        parts += [model.anchors_, *model.anchor_centers_]
    if held.links is not None:
        parts.append(held.links.toarray())
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


def cut_at(views, observed, edges):
    return [([x[a:b] for x in views], observed[a:b]) for a, b in zip([0, *edges], [*edges, N], strict=True)]


@pytest.fixture(scope="module")
def fitted():
    made = {}

    def get(consensus, form="float64"):
        if (consensus, form) not in made:
            views, observed = data(form)
            made[consensus, form] = anchored(consensus).fit(views, observed=observed)
        return made[consensus, form]

    return get


@pytest.mark.every_value
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("consensus", CONSENSUS)
def test_threads_do_not_matter(fitted, consensus, form):
    views, observed = data(form)
    one = fitted(consensus, form)
    for n_threads in (2, 3):
        other = anchored(consensus, n_threads=n_threads).fit(views, observed=observed)
        assert bits(other) == bits(one)
        np.testing.assert_array_equal(other.labels_, one.labels_)
        np.testing.assert_array_equal(other.stream_labels_, one.stream_labels_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_do_not_matter_where_they_share_work(dtype):
    rng = np.random.default_rng(0)
    group = rng.integers(5, size=3000)
    views = [5 * np.eye(5, width)[group] + rng.standard_normal((3000, width)) for width in (50, 30)]
    views = [x.astype(dtype) for x in views]
    observed = rng.random((3000, 2)) > 0.3
    found = []
    for n_threads in (1, 2, 3):
        model = vp.OPIMC(
            5, consensus="graph", chunk_size=1000, warmup=900, random_state=0, n_threads=n_threads
        )
        found.append((bits(model.fit(views, observed=observed)), model.labels_.tobytes()))
    assert found[1] == found[0]
    assert found[2] == found[0]


@pytest.mark.every_value
@pytest.mark.parametrize("form", ["float64", "mixed"])
@pytest.mark.parametrize("consensus", CONSENSUS)
@pytest.mark.parametrize("away", ["memory", "file", "pickle"])
def test_partial_fit_over_chunks_is_fit(fitted, tmp_path, consensus, form, away):
    views, observed = data(form)
    one = fitted(consensus, form)
    other = anchored(consensus)
    labels, anchors = [], []
    for number, (part, seen) in enumerate(cut_at(views, observed, list(range(150, N, 150)))):
        other.partial_fit(part, observed=seen)
        if number:  # the first waits for the warm-up
            anchors.append(other.anchor_labels_)
            labels.append(other.stream_labels_)
        if away == "file":
            other.save(tmp_path / "model")
            other = vp.load(tmp_path / "model")
        elif away == "pickle":
            other = pickle.loads(pickle.dumps(other))
    assert bits(other) == bits(one)
    np.testing.assert_array_equal(np.concatenate(anchors), one.anchor_labels_[150:])
    np.testing.assert_array_equal(other.predict(views, observed=observed), one.labels_)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("consensus", CONSENSUS)
def test_predict_in_any_blocks(fitted, consensus, form):
    views, observed = data(form)
    model = fitted(consensus, form)
    np.testing.assert_array_equal(model.predict(views, observed=observed), model.labels_)
    for edges in ([1, 2, 450], list(range(37, N, 37))):
        parts = [model.predict(part, observed=seen) for part, seen in cut_at(views, observed, edges)]
        np.testing.assert_array_equal(np.concatenate(parts), model.labels_)
    np.testing.assert_array_equal(model.labels_ == -1, ~observed.any(axis=1))


def test_predict_of_blocks_without_a_view_and_of_blocks_with_extreme_rows(fitted):
    """Which kernels run depends on the whole block; the label of a row must not."""
    views, observed = data("mixed")
    model = fitted("graph", "mixed")
    observed = observed & [True, False]
    whole = model.predict(views, observed=observed)
    np.testing.assert_array_equal(model.predict([views[0], None], observed=observed), whole)
    views, observed = data("float32")
    model = fitted("graph", "float32")
    extreme = [x.copy() for x in views]
    extreme[0][0] *= np.float32(1e30)
    labels = model.predict(extreme, observed=observed)
    np.testing.assert_array_equal(labels, model.labels_)


@pytest.mark.parametrize("consensus", CONSENSUS)
def test_passes_hold_every_row_once(consensus):
    views, observed = data()
    model = anchored(consensus, n_passes=3, scale="unit").fit(views, observed=observed)
    again = anchored(consensus, n_passes=3, scale="unit", n_threads=3).fit(views, observed=observed)
    assert bits(again) == bits(model)
    held = model._learnt.model
    np.testing.assert_array_equal(held.total.flat_counts.sum(axis=1), observed.sum(axis=0))
    recounted = vp.Statistics(40, [8, 6]).add(views, model.anchor_labels_, observed=observed)
    assert recounted == held.total
    if consensus == "graph":
        n_rows = observed.any(axis=1).sum()
        assert abs(held.links.sum() / 2**30 - n_rows) < 1e-3 * n_rows


@pytest.mark.parametrize("consensus", CONSENSUS)
def test_clusters_are_sums_of_their_anchors(fitted, consensus):
    model = fitted(consensus)
    held = model._learnt.model
    assert model.consensus_ == consensus
    assert len(model.anchors_) == len(model.anchor_centers_[0]) == 40
    for v in range(2):
        counts = np.bincount(model.anchors_, held.total.counts[v], minlength=4)
        np.testing.assert_array_equal(model.counts_[v], counts)
    np.testing.assert_array_equal(
        model.stream_labels_, np.append(model.anchors_, np.int32(-1))[model.anchor_labels_]
    )
    np.testing.assert_allclose(model.objective_, model.statistics_.objective([*model.alpha_.values()]))


@pytest.mark.parametrize("consensus", CONSENSUS)
def test_distances_are_those_to_the_nearest_anchor(fitted, consensus):
    views, observed = data()
    model = fitted(consensus)
    distance = model.transform(views, observed=observed)
    assert distance.shape == (N, 4)
    assert np.isnan(distance[~observed.any(axis=1)]).all()
    every = model.cut(40).transform(views, observed=observed)
    for k in range(4):
        np.testing.assert_array_equal(distance[:, k], every[:, model.anchors_ == k].min(axis=1))
    assert model.get_feature_names_out().shape == (4,)


@pytest.mark.parametrize("consensus", CONSENSUS)
def test_another_cut_needs_no_data_and_changes_nothing_else(fitted, consensus, tmp_path):
    views, observed = data()
    model = anchored(consensus, scale="unit").fit(views, observed=observed)
    before = bits(model)
    for k in (1, 2, 7, 40):
        other = model.cut(k)
        assert len(other.cluster_centers_[0]) == k
        assert other._learnt.model.total == model._learnt.model.total
        direct = anchored(consensus, scale="unit", n_clusters=k).fit(views, observed=observed)
        np.testing.assert_array_equal(other.predict(views, observed=observed), direct.labels_)
        np.testing.assert_array_equal(other.stream_labels_, direct.stream_labels_)
        other.save(tmp_path / "cut")
        assert bits(vp.load(tmp_path / "cut")) == bits(other)
        other.partial_fit(views, observed=observed)
    assert bits(model) == before
    assert bits(model.cut("auto").cut(4)) == before
    with pytest.raises(vp.SettingError, match="from 1 to 40"):
        model.cut(41)
    with pytest.raises(vp.SettingError):
        model.cut(0)


def test_plain_clusters_can_be_merged():
    views, observed = data()
    model = vp.OPIMC(12, n_anchors=None, random_state=0, chunk_size=150).fit(views, observed=observed)
    assert (model.consensus_, model.anchors_, model.anchor_centers_, model.cluster_curve_) == (
        *("plain", None, None, None),
    )
    other = model.cut(4)
    assert other.consensus_ == "merge"
    assert sum(other.counts_[0]) == sum(model.counts_[0])
    assert other.objective_ >= model.objective_ - 12 * 2 * 0.1
    assert model.consensus_ == "plain"


@pytest.mark.parametrize("consensus", ["auto", *CONSENSUS])
def test_the_provisional_start_and_its_file(tmp_path, consensus):
    views, observed = data()
    model = anchored(consensus, warmup=400).partial_fit([x[:200] for x in views], observed=observed[:200])
    assert len(model.stream_labels_) == 200  # made of the rows so far
    model.save(tmp_path / "model")
    again = vp.load(tmp_path / "model")
    for one in (model, again):
        one.partial_fit([x[200:] for x in views], observed=observed[200:])
    assert bits(again) == bits(model)
    assert clone(model).consensus == consensus


def test_rows_without_any_view_change_nothing():
    views, observed = data()
    kept = np.flatnonzero(observed.any(axis=1))
    for consensus in CONSENSUS:
        bare, padded = anchored(consensus), anchored(consensus)
        for rows in np.array_split(np.arange(N), 4):
            padded.partial_fit([x[rows] for x in views], observed=observed[rows])
            mine = np.intersect1d(rows, kept)
            bare.partial_fit([x[mine] for x in views], observed=observed[mine])
        assert bare._learnt.model.total == padded._learnt.model.total
        if bare._learnt.model.links is not None:
            assert (bare._learnt.model.links != padded._learnt.model.links).nnz == 0
        np.testing.assert_array_equal(bare.anchors_, padded.anchors_)


@pytest.mark.parametrize(("n_clusters", "n_anchors"), [(1, 1), (1, 5), (3, 3), (4, 7), (8, 300), ("auto", 2)])
@pytest.mark.parametrize("consensus", ["auto", *CONSENSUS])
def test_any_numbers_go_together(consensus, n_clusters, n_anchors):
    views, observed = data(n_rows=60)
    model = anchored(consensus, n_clusters=n_clusters, n_anchors=n_anchors, warmup=0, chunk_size=30)
    model.fit(views, observed=observed)
    n_found = len(model.cluster_centers_[0])
    assert set(model.labels_[observed.any(axis=1)].tolist()) <= set(range(n_found))
    assert (model.labels_[~observed.any(axis=1)] == -1).all()
    assert sum(counts.sum() for counts in model.counts_) == observed.sum()
    if n_clusters != "auto":
        assert n_found == n_clusters


def test_settings_that_another_would_override_are_refused():
    views, _ = data(n_rows=60)
    for settings, message in [
        ({"n_anchors": 3, "n_clusters": 5}, "n_anchors=3 cannot form n_clusters=5"),
        ({"n_anchors": None, "consensus": "graph"}, "needs anchors, which n_anchors=None"),
        ({"init": "random", "consensus": "merge"}, "consensus='merge' would have no effect"),
        ({"init": "random", "n_anchors": 50}, "n_anchors=50 would have no effect"),
        ({"init": "random", "warmup": 5000}, "warmup=5000 would have no effect"),
        ({"init": "random", "n_clusters": "auto"}, "n_clusters='auto' would have no effect"),
        ({"init": np.zeros(60, dtype=int), "n_init": 2}, "n_init=2 would have no effect"),
    ]:
        with pytest.raises(vp.SettingError, match=message):
            vp.OPIMC(**settings).fit(views)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_labels_are_those_of_exact_distances(dtype):
    """On noise, where many rows lie between clusters."""
    rng = np.random.default_rng(0)
    views = [rng.standard_normal((2000, width)).astype(dtype) for width in (5, 3)]
    held = anchored("graph", chunk_size=4000, compute_labels=False).fit(views)._learnt.model
    chunk = Chunk.of([rng.standard_normal((40_000, width)).astype(dtype) for width in (5, 3)])
    rows = prepare(chunk, held, Workspace(1)).measure()
    exact = backend(reference=True).all_distances(
        MeasuredRows(rows.chunk, reference=True).measure().handle,
        held.centres.handle(reference=True),
        True,
        1,
    )
    labels = held.cut.of_soft_assignment(mixture(exact, rows.n_seen))
    for n_threads in (1, 2):
        np.testing.assert_array_equal(label(chunk, held, Workspace(n_threads)), labels)
    shaken = exact + rng.uniform(-1e-3, 1e-3, exact.shape)  # as from far less exact kernels
    assert (held.cut.of_soft_assignment(mixture(shaken, rows.n_seen)) != labels).any()


@pytest.mark.parametrize("consensus", CONSENSUS)
def test_labels_exist_only_where_they_were_computed(consensus):
    views, observed = data()
    model = anchored(consensus, compute_labels=False).fit(views, observed=observed)
    assert len(model.stream_labels_) == N
    assert not hasattr(model, "labels_")  # rows were not read a second time
    assert not hasattr(model.cut(3), "labels_")
    assert len(model.cut(3).stream_labels_) == N
    model.partial_fit([x[:50] for x in views], observed=observed[:50])
    np.testing.assert_array_equal(model.labels_, model.stream_labels_)
    assert len(model.labels_) == 50
    assert not hasattr(anchored(consensus, compute_labels=False).fit(views), "labels_")


def test_given_centres_are_at_unit_length():
    """Views that would be standardised by default: models from the same centres can be merged."""
    rng = np.random.default_rng(0)
    group = rng.integers(4, size=N)
    spread = np.geomspace(1e-3, 1e3, 12)
    views = [4 * rng.standard_normal((4, 12))[group] + rng.standard_normal((N, 12)) for _ in range(2)]
    views = [(x + 20) * spread for x in views]
    assert set(vp.OPIMC(4, random_state=0).fit(views).scales_.values()) == {"standard"}
    given = vp.OPIMC(4, init=[x[:4] / np.linalg.norm(x[:4], axis=1, keepdims=True) for x in views])
    assert set(given.fit(views).scales_.values()) == {"unit"}
