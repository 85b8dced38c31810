"""Clusters settled on a sample: the order of rows, chunks, seeds and engines do not change them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import viewpass as vp
from graphs import bits
from viewpass.core import outgrown
from viewpass.core.state.sample import Sample, lowest, row_hashes
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows

N_ROWS, N_CLUSTERS = 2600, 6


def measured(views: list[np.ndarray], copies: np.ndarray | None = None) -> MeasuredRows:
    chunk = Chunk.of(views)
    object.__setattr__(chunk, "copies", copies)
    return MeasuredRows(chunk).measure()


def overlapping(seed: int = 0, n_rows: int = N_ROWS) -> list[np.ndarray]:
    """Clusters that overlap, in two views with gaps: the first rows do not find them well separated."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(N_CLUSTERS, size=n_rows)
    views = [
        1.2 * rng.standard_normal((N_CLUSTERS, 12))[truth] + rng.standard_normal((n_rows, 12)) for _ in "ab"
    ]
    gaps = rng.random((n_rows, 2)) < 0.25
    gaps[gaps.all(axis=1)] = False
    return [np.where(gaps[:, [v]], np.nan, view).astype(np.float32) for v, view in enumerate(views)]


def fitted(views: list[np.ndarray], **settings: object) -> vp.OPIMC:
    given = {"random_state": 0, "warmup": 2100, "chunk_size": 100, "scale": "unit", **settings}
    return vp.OPIMC(N_CLUSTERS, **given).fit(views)


def same(one: Sample, other: Sample) -> bool:
    assert one.chunk is not None
    assert other.chunk is not None
    pairs = zip(one.chunk.views, other.chunk.views, strict=True)
    return (
        np.array_equal(one.hashes, other.hashes)
        and np.array_equal(one.chunk.copies, other.chunk.copies)
        and all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)
    )


@pytest.mark.parametrize("most", [50, 700, 5000])
def test_a_sample_does_not_depend_on_order_or_parts(most: int) -> None:
    views = overlapping()
    views = [np.vstack([view, view[:300]]) for view in views]  # some rows twice
    whole = Sample(most).with_rows(measured(views))
    order = np.random.default_rng(1).permutation(len(views[0]))
    parts = Sample(most)
    for some in np.array_split(order, 7):
        parts = parts.with_rows(measured([view[some] for view in views]))
    assert same(whole, parts)
    halves = [lowest(measured([view[some] for view in views]), most) for some in np.array_split(order, 3)]
    assert same(whole, halves[2].joined(halves[0]).joined(halves[1]))


def test_a_sample_with_room_holds_every_row_as_often_as_it_was_read() -> None:
    views = overlapping()
    sample = Sample(10_000).with_rows(measured([np.vstack([view, view[:300]]) for view in views]))
    assert sample.n_rows == N_ROWS
    assert sample.chunk is not None
    assert sample.chunk.n_copies == N_ROWS + 300


def test_rows_far_from_all_anchors_make_a_graph(monkeypatch, tmp_path) -> None:
    """And neither threads, calls nor files change it."""
    monkeypatch.setattr(outgrown, "_may_link", lambda model, nearly=0.9: True)
    later = overlapping(7, 1800)  # around centres of their own
    views = [np.vstack([first, then]) for first, then in zip(overlapping(), later, strict=True)]
    given = {"chunk_size": 600, "n_threads": 1}
    model = fitted(views, **given)
    assert model.consensus_ == "graph"
    assert [choice.chosen for choice in model.choices_ if choice.what == "consensus"] == ["plain", "graph"]
    assert fitted(overlapping(), **given).consensus_ == "plain"
    assert bits(fitted(views, **(given | {"n_threads": 3}))) == bits(model)
    parts = vp.OPIMC(N_CLUSTERS, random_state=0, warmup=2100, scale="unit", **given)
    for start in range(0, len(views[0]), 600):
        parts.partial_fit([view[start : start + 600] for view in views])
        parts.save(tmp_path / "model")
        parts = vp.load(tmp_path / "model")
    assert bits(parts) == bits(model)


def test_a_sample_is_fair() -> None:
    """The lowest hashes are not those of particular values."""
    rng = np.random.default_rng(0)
    rows = np.repeat([[1.0, 0.0], [0.0, 1.0]], 5000, axis=0) + 1e-3 * rng.standard_normal((10_000, 2))
    sample = Sample(1000).with_rows(measured([rows]))
    assert sample.chunk is not None
    share = (np.asarray(sample.chunk.views[0])[:, 0] > 0.5).mean()
    assert abs(share - 0.5) < 4 * np.sqrt(0.25 / 1000)


def test_hashes_are_of_values_and_views() -> None:
    rng = np.random.default_rng(0)
    view = rng.standard_normal((200, 5)).astype(np.float32)
    view[rng.random(view.shape) < 0.5] = 0.0
    view[:, 0] = 1.0
    plain = row_hashes(measured([view]))
    assert np.array_equal(plain, row_hashes(measured([view.astype(np.float64)])))
    sparse = MeasuredRows(Chunk.of([scipy.sparse.csr_array(view)])).measure()
    assert np.array_equal(plain, row_hashes(sparse))
    missing = np.full_like(view, np.nan)
    two = [row_hashes(measured(each)) for each in ([view, missing], [missing, view])]
    assert not np.isin(two[0], two[1]).any()


def test_labels_do_not_depend_on_order_chunks_and_seed() -> None:
    views = overlapping()
    first = fitted(views)
    assert first._learnt.learning.growth is not None
    assert first._learnt.learning.growth.sample is not None, first.choices_
    order = np.random.default_rng(2).permutation(N_ROWS)
    again = fitted([view[order] for view in views], random_state=5, chunk_size=170)
    assert first.consensus_ == again.consensus_ == "plain"
    assert np.array_equal(first.labels_[order], again.labels_)
    for a, b in zip(first.cluster_centers_, again.cluster_centers_, strict=True):
        assert np.array_equal(a, b)


def test_sums_are_those_of_all_rows() -> None:
    views = overlapping()
    model = fitted(views)
    present = [int((~np.isnan(view[:, 0])).sum()) for view in views]
    assert [int(counts.sum()) for counts in model.counts_] == present
    assert all((counts > 0).any() for counts in model.counts_)
    assert np.array_equal(
        np.bincount(model.stream_labels_, minlength=N_CLUSTERS) > 0, np.ones(N_CLUSTERS, bool)
    )
    assert np.array_equal(model.labels_, model.predict(views))


def test_calls_of_partial_fit_threads_and_files_give_the_same(tmp_path: object) -> None:
    views = overlapping()
    whole = fitted(views)
    parts = vp.OPIMC(N_CLUSTERS, random_state=0, warmup=2100, scale="unit", n_threads=2)
    for start in range(0, N_ROWS, 100):
        parts.partial_fit([view[start : start + 100] for view in views])
        if start == 2300:
            parts.save(f"{tmp_path}/model")
            parts = vp.load(f"{tmp_path}/model")
    assert np.array_equal(parts.predict(views), whole.labels_)
    assert np.array_equal(parts.labels_, whole.stream_labels_[-100:])
    for a, b in zip(whole.cluster_centers_, parts.cluster_centers_, strict=True):
        assert np.array_equal(a, b)


def test_the_published_procedure_has_no_sample() -> None:
    views = overlapping()
    for model in (vp.OPIMC.published(N_CLUSTERS, random_state=0), vp.OPIMC(N_CLUSTERS, n_anchors=None)):
        learnt = model.fit(views)._learnt.learning
        assert learnt.growth is None or learnt.growth.sample is None
