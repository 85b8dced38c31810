"""Every path to a label agrees, and whatever `fit` accepts can be saved, loaded, explained and summarised.

A sample of random settings and awkward data; `make fuzz` takes more (tests/fuzz/labels.py).
"""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest
from tests.fuzz.labels import trial

import viewpass as vp
from label_paths import check, quiet
from odd_data import KINDS, few_kinds, frames

N_TRIALS = 3  # of each kind of data


@pytest.mark.parametrize("kind", KINDS)
def test_every_path_to_a_label_agrees(kind: str, tmp_path: Path) -> None:
    for number in range(N_TRIALS):
        trial(np.random.default_rng([zlib.crc32(kind.encode()), number]), tmp_path, kind)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"consensus": "neighbours"},
        {"consensus": "graph"},
        {"sample_size": 60},
        {"missing_entries": "local"},
    ],
)
@pytest.mark.parametrize("n_clusters", [4, 8])
def test_fewer_kinds_of_rows_than_clusters(settings: dict, n_clusters: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(n_clusters)
    kinds = rng.integers(3, size=120)
    views = [rng.standard_normal((3, width))[kinds] for width in (5, 4)]
    with quiet():
        model = vp.ViewPass(n_clusters, random_state=0, **settings).fit(views)
        check(model, views, {}, tmp_path, rng)
        check_cut = model.cut(2)
        check_cut.save(tmp_path / "cut.viewpass")
        again = vp.load(tmp_path / "cut.viewpass")
    np.testing.assert_array_equal(again.predict(views), check_cut.predict(views))


@pytest.mark.parametrize("how", ["fill", "local"])
@pytest.mark.parametrize("size", [1e-200, 1e90, 1e200])
def test_values_of_any_size_with_gaps(how: str, size: float, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    views = [size * rng.standard_normal((60, width)) for width in (5, 4)]
    views[0][rng.random(views[0].shape) < 0.1] = np.nan
    with quiet():
        model = vp.ViewPass(3, random_state=0, missing_entries=how).fit(views)
        check(model, views, {}, tmp_path, rng)


def test_a_model_that_could_not_be_loaded_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "model.viewpass"
    model = vp.ViewPass(2, random_state=0).fit(few_kinds(np.random.default_rng(3)))
    model.save(path)
    before = path.read_bytes()
    model._learnt.solved.labelled.counts[0][:] = 10**6  # more rows than were read
    with pytest.raises(vp.FileError, match=r"cannot be saved.*the sums of view 'view0' do not match"):
        model.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["model.viewpass"]


def test_frames_whose_views_are_mapped(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    with quiet():
        X = frames(rng)
        model = vp.ViewPass(2, random_state=0, consensus="graph", n_anchors=5, projection=2).fit(X)
        assert model.projections_
        check(model, X, {}, tmp_path, rng)


def test_a_sample_that_comes_to_hold_too_few_views_to_be_solved(tmp_path: Path) -> None:
    """Rows go on being read under the model of the last solve."""
    rng = np.random.default_rng(0)
    views = [rng.standard_normal((400, width)) for width in (5, 4)]
    for view in views:
        view[10:][rng.random(390) < 0.9] = np.nan
    with quiet():
        model = vp.ViewPass(8, random_state=0, sample_size=10, compute_labels=False).fit(views)
        assert model.n_samples_seen_ == 400
        check(model, views, {}, tmp_path, rng)


def test_a_bucket_of_rows_without_any_view(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    views = [rng.standard_normal((60, width)) for width in (5, 4)]
    with quiet():
        model = vp.ViewPass(2, random_state=0, view_weights=[0.0, 1.0], window=24)
        model.partial_fit(views).partial_fit([views[0][:12], None])
        model.save(tmp_path / "model.viewpass")
        again = vp.load(tmp_path / "model.viewpass")
    np.testing.assert_array_equal(again.predict(views), model.predict(views))


def test_a_stream_of_which_no_cluster_explains_a_row(tmp_path: Path) -> None:
    """None of the clusters before goes on then."""
    rng = np.random.default_rng(11)
    with quiet():
        views = few_kinds(rng)
        model = vp.ViewPass("grow", max_clusters=3, window=24, sample_size=10, random_state=0).fit(views)
        check(model, views, {}, tmp_path, rng)
