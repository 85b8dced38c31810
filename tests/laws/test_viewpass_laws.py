"""Laws of sample, solve, tally: whatever the chunks, the order of rows with ids, the source and the file."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import viewpass as vp
from viewpass.errors import SettingError
from viewpass.sample.keys import id_keys, number_keys
from viewpass.sample.sample import Sample, Sampler, Size, united
from viewpass.views.chunk import Chunk

N_ROWS = 1200
SETTINGS: list[dict[str, Any]] = [
    {},
    {"sample_size": 400, "scale": "unit", "consensus": "plain"},
    {"sample_size": 400, "consensus": "neighbours"},
    {"sample_size": 400, "scale": "unit", "consensus": "graph"},
]


@pytest.fixture(scope="module")
def views() -> list[np.ndarray]:
    """Two views of six clusters, a third of each missing."""
    rng = np.random.default_rng(5)
    classes = rng.integers(6, size=N_ROWS)
    found = []
    for width in (12, 8):
        view = rng.standard_normal((6, width))[classes] + 0.8 * rng.standard_normal((N_ROWS, width))
        found.append(view)
    gone = rng.random(N_ROWS)
    found[0][gone < 0.3] = np.nan
    found[1][gone > 0.7] = np.nan
    return found


@pytest.mark.parametrize("settings", SETTINGS)
def test_labels_are_predict_and_counts_are_labels(views: list[np.ndarray], settings: dict[str, Any]) -> None:
    model = vp.ViewPass(6, random_state=0, **settings).fit(views)
    assert np.array_equal(model.labels_, model.predict(views))
    for v, view in enumerate(views):
        there = ~np.isnan(view[:, 0])
        assert np.array_equal(model.counts_[v], np.bincount(model.labels_[there], minlength=6))


@pytest.mark.parametrize("settings", SETTINGS)
def test_with_ids_the_order_of_rows_does_not_matter(
    views: list[np.ndarray], settings: dict[str, Any]
) -> None:
    found = []
    for order in (np.arange(N_ROWS), np.random.default_rng(1).permutation(N_ROWS)):
        frames = {f"view{v}": pd.DataFrame(view[order], index=order).dropna() for v, view in enumerate(views)}
        model = vp.ViewPass(6, random_state=0, **settings).fit(vp.frames(frames))
        found.append(pd.Series(model.labels_, index=model.row_ids_).sort_index())
    assert found[0].equals(found[1])


@pytest.mark.parametrize("settings", SETTINGS)
def test_the_chunks_of_partial_fit_do_not_matter(views: list[np.ndarray], settings: dict[str, Any]) -> None:
    found = []
    for size in (N_ROWS, 333, 57):
        model = vp.ViewPass(6, random_state=0, **settings)
        for start in range(0, N_ROWS, size):
            model.partial_fit([view[start : start + size] for view in views])
            if size == 333:
                model.predict(views)  # looking changes nothing
        found.append((model.predict(views), model.inertia_, [c.tolist() for c in model.counts_]))
    for other in found[1:]:
        assert np.array_equal(found[0][0], other[0])
        assert found[0][1:] == other[1:]


@pytest.mark.parametrize("settings", SETTINGS)
def test_saved_is_loaded(views: list[np.ndarray], settings: dict[str, Any], tmp_path: Path) -> None:
    model = vp.ViewPass(6, random_state=0, **settings).fit(views)
    model.save(tmp_path / "model.viewpass")
    again = vp.load(tmp_path / "model.viewpass")
    assert np.array_equal(again.predict(views), model.labels_)
    assert np.array_equal(again.confidence(views), model.confidence(views))
    more = [view[:100] for view in views]
    assert np.array_equal(again.partial_fit(more).predict(views), model.partial_fit(more).predict(views))


def test_equal_rows_keep_their_cluster() -> None:
    rng = np.random.default_rng(0)
    classes = np.append(rng.integers(4, size=4000), np.full(1000, 4))
    centres = rng.standard_normal((5, 10))
    rows = centres[classes] + 0.5 * rng.standard_normal((5000, 10))
    rows[classes == 4] = centres[4]  # a placeholder: all equal
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = vp.ViewPass(5, random_state=0, sample_size=1000).fit([rows, rows[:, ::2]])
    mine = model.labels_[classes == 4]
    assert len(np.unique(mine)) == 1
    assert (model.labels_[classes != 4] == mine[0]).mean() < 0.01


def test_a_sample_of_a_union_is_the_union_of_samples() -> None:
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((500, 4))
    ids = rng.permutation(500)
    size = Size(60)

    def sample(which: np.ndarray) -> Sample:
        sampler = Sampler(Sample(size))
        for part in np.array_split(which, 3):
            if len(part):
                sampler.add(Chunk.of([rows[part]], row_ids=ids[part]))
        return sampler.sample

    everyone = sample(np.arange(500))
    parts = [sample(part) for part in np.array_split(rng.permutation(500), 4)]
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        both = united([parts[place] for place in order])
        assert both.chunk is not None
        assert everyone.chunk is not None
        assert np.array_equal(both.keys, everyone.keys)
        assert np.array_equal(both.chunk.views[0], everyone.chunk.views[0])


def test_keys_are_uniform_and_of_identity() -> None:
    keys = number_keys(np.arange(10_000)).astype(np.float64) / 2.0**64
    assert abs(keys.mean() - 0.5) < 0.02
    texts = np.array([f"item {n}" for n in range(100)])
    assert np.array_equal(id_keys(texts), id_keys(texts.astype(object)))
    assert np.array_equal(id_keys(texts), id_keys(texts.astype("U40")))
    assert len(np.unique(id_keys(texts))) == 100
    pairs = np.empty(100, dtype=object)
    pairs[:] = [("a", n) for n in range(100)]
    assert len(np.unique(id_keys(pairs))) == 100


@pytest.mark.parametrize("settings", [{"consensus": "plain"}, {"consensus": "graph"}])
def test_a_sample_that_is_just_full_holds_all_rows(settings, monkeypatch):
    monkeypatch.setattr("viewpass.solve.centres.SEARCHED", 0)
    rows = np.random.default_rng(0).standard_normal((600, 3))
    full, roomy = (
        vp.ViewPass(5, sample_size=size, random_state=0, projection=None, **settings).fit([rows])
        for size in (600, 601)
    )
    assert np.array_equal(full.labels_, roomy.labels_)
    assert np.array_equal(full.cluster_centers_[0], roomy.cluster_centers_[0])


def test_a_sample_too_small_for_the_clusters_is_refused():
    with pytest.raises(SettingError, match="sample_size=4 rows cannot form n_clusters=5"):
        vp.ViewPass(5, sample_size=4).fit([np.eye(9)])
