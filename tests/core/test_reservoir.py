"""The reservoir: a uniform sample, statistics that stay those of all rows, and the same bits."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils._param_validation import InvalidParameterError

import viewpass as vp
from cases import workspace
from viewpass.core.plan import Plan, Rules
from viewpass.core.reservoir import Reservoir
from viewpass.core.state.statistics import Statistics
from viewpass.core.stream import Stream
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows

N, K, WIDTHS = 500, 5, [7, 4]
_rng = np.random.default_rng(5)
_group = _rng.integers(K, size=N)
VIEWS = [np.eye(K, width)[_group] + 0.8 * _rng.standard_normal((N, width)) for width in WIDTHS]
OBSERVED = _rng.random((N, 2)) > 0.3
OBSERVED[:3] = False
SEEN = OBSERVED.any(axis=1)
SETTINGS = {"chunk_size": 50, "warmup": 100, "scale": "unit", "random_state": 0, "n_threads": 1}
KINDS = {"plain": {"n_anchors": None}, "anchors": {"n_anchors": 15, "consensus": "graph"}}
FORMS = {
    "dense": lambda x: x,
    "float32": lambda x: x.astype(np.float32),
    "sparse": lambda x: sp.csr_array(np.where(np.abs(x) > 0.5, x, 0)),
}


def fitted(size, views=VIEWS, **settings):
    return vp.OPIMC(K, reservoir=size, **(SETTINGS | settings)).fit(views, observed=OBSERVED)


def held(model) -> Reservoir:
    return model._learnt.state.reservoir


def counted(model):
    """What rows are counted under: as the stream decided, but for those that the reservoir has moved."""
    centres = model.__dict__.get("anchor_labels_", model.__dict__.get("stream_labels_"))
    return held(model).counted(0, centres)


@pytest.mark.every_value
@pytest.mark.parametrize("n_passes", [1, 2, 3])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_sums_stay_those_of_all_rows(kind, form, n_passes):
    views = [FORMS[form](x) for x in VIEWS]
    model = fitted(80, views, n_passes=n_passes, **KINDS[kind])
    total = model._learnt.model.total
    expected = Statistics(total.n_clusters, WIDTHS).add(views, counted(model), observed=OBSERVED)
    assert total == expected
    sample = held(model)
    assert sample.n_held == 80
    assert sample.n_met == N - model.n_rows_without_views_
    assert SEEN[sample.numbers].all()
    moved = counted(model) != model.__dict__.get("anchor_labels_", model.__dict__.get("stream_labels_"))
    assert moved.any() == (n_passes == 1)  # read again, all rows hold what they were given last


def test_none_is_as_before():
    assert fitted(0).statistics_ == vp.OPIMC(K, **SETTINGS).fit(VIEWS, observed=OBSERVED).statistics_
    assert held(fitted(0)).n_held == 0


def test_labelling_again_lowers_the_objective():
    before = [fitted(0, random_state=s, n_anchors=None).objective_ for s in range(5)]
    after = [fitted(N, random_state=s, n_anchors=None).objective_ for s in range(5)]
    assert np.mean(after) < np.mean(before)


def test_every_row_is_as_likely():
    rows = MeasuredRows(Chunk.of([np.eye(60)])).measure()
    parts = [MeasuredRows(Chunk.of([np.eye(60)[part]])).measure() for part in (slice(25), slice(25, 60))]
    labels = np.zeros(60, dtype=np.int32)
    times = np.zeros((2, 60))
    for seed in range(1000):
        whole = Reservoir().drawn(rows, labels, 0, 10, np.random.default_rng(seed))
        rng = np.random.default_rng(seed)
        cut = Reservoir().drawn(parts[0], labels[:25], 0, 10, rng).drawn(parts[1], labels[25:], 25, 10, rng)
        for which, sample in enumerate((whole, cut)):
            numbers = sample.numbers[:10]
            assert len(set(numbers.tolist())) == sample.n_held == 10
            times[which, numbers] += 1
            np.testing.assert_array_equal(sample.chunk.views[0], np.eye(60)[numbers])
    assert np.abs(times / 1000 - 1 / 6).max() < 0.06  # some five standard deviations


def test_rows_keep_their_scale_whatever_form_they_come_to_have():
    """A chunk may be of other numbers than the last: what was added must still be what is subtracted."""
    plan = Plan(K, Rules(0.1, 20, 1e-6, "mean"), "k-means++", reservoir=40)
    stream = Stream(plan, np.random.default_rng(0), workspace())
    forms = [FORMS["float32"], np.asarray, sp.csr_array]
    labels, chunks = np.full(N, -1, dtype=np.int32), []
    for number, start in enumerate(range(0, N, 50)):
        part = slice(start, start + 50)
        views = [forms[(number + v) % 3](x[part]) for v, x in enumerate(VIEWS)]
        views = [None, views[1]] if number == 4 else views
        chunks.append(Chunk.of(views, observed=OBSERVED[part], start=start))
        labels[part] = stream.learn(chunks[-1]).labels
    labels = stream.state.reservoir.counted(0, labels)
    total = Statistics(K, WIDTHS)
    for chunk in chunks:
        mine = labels[chunk.start : chunk.start + 50]
        total.move(MeasuredRows(chunk).measure(), mine, 1)
    assert stream.model.total == total


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_fed_one_by_one_are_the_fit(kind):
    model = vp.OPIMC(K, reservoir=60, **(SETTINGS | KINDS[kind]))
    for start in range(0, N, 50):
        part = slice(start, start + 50)
        model.partial_fit([x[part] for x in VIEWS], observed=OBSERVED[part])
    whole = fitted(60, **KINDS[kind])
    assert model._learnt.model.total == whole._learnt.model.total
    np.testing.assert_array_equal(held(model).numbers, held(whole).numbers)


@pytest.mark.parametrize("weights", [None, [1, 0.2]])
def test_threads_do_not_matter(weights):
    one, two = (fitted(60, n_threads=n, view_weights=weights, n_passes=2) for n in (1, 2))
    assert one._learnt.model.total == two._learnt.model.total
    np.testing.assert_array_equal(one.stream_labels_, two.stream_labels_)
    np.testing.assert_array_equal(one.loss_curve_, two.loss_curve_)


@pytest.mark.parametrize("through", ["file", "pickle"])
@pytest.mark.parametrize("form", FORMS)
def test_a_model_put_away_goes_on_to_the_same_bits(form, through, tmp_path):
    parts = [[FORMS[form](x[part]) for x in VIEWS] for part in (slice(0, 300), slice(300, N))]
    model = vp.OPIMC(K, reservoir=60, view_weights="auto", **SETTINGS)
    model.partial_fit(parts[0], observed=OBSERVED[:300])
    if through == "file":
        model.save(tmp_path / "model")
        again = vp.load(tmp_path / "model")
        again.save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    else:
        again = pickle.loads(pickle.dumps(model))
    for one in (model, again):
        one.partial_fit(parts[1], observed=OBSERVED[300:])
    assert again._learnt.model.total == model._learnt.model.total
    np.testing.assert_array_equal(again.predict(VIEWS), model.predict(VIEWS))
    for name in ("labels", "numbers", "inverse"):
        np.testing.assert_array_equal(getattr(held(again), name), getattr(held(model), name))


def test_memory_is_bounded():
    model = fitted(20, chunk_size=10, n_anchors=None)
    sample = held(model)
    assert sample.chunk.n_rows == 20
    assert all(view.shape == (20, width) for view, width in zip(sample.chunk.views, WIDTHS, strict=True))
    assert len(sample.numbers) < 20 + 2 * 20 * np.log(N / 20)


@pytest.mark.parametrize("size", [-1, 2.5, "auto"])
def test_bad_sizes_are_refused(size):
    with pytest.raises(InvalidParameterError, match="The 'reservoir' parameter"):
        fitted(size)


def test_true_is_not_a_size():
    with pytest.raises(vp.SettingError, match="reservoir=True: a number was expected"):
        fitted(True)
