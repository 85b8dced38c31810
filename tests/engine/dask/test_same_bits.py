"""A chunk divided among W workers is the same chunk: labels, R, T and U, to the bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import viewpass as vp
from clusters import assert_same, made_rows, write_files
from viewpass.core import outgrown
from viewpass.engine.dask import driver
from viewpass.engine.dask.calls import Caller

REAL = {"mfeat": (10, 40), "debian_l10n": (12, 2700), "mnist70k_3v": (10, 3500)}  # clusters, rows of s
QUICK = [("mfeat", 1, 1), ("mfeat", 2, 3), ("debian_l10n", 4, 1)]
QUICK_ROWS, QUICK_ROUNDS = 600, 2
ALL = [(name, width, n_passes) for name in REAL for width in (1, 2, 4) for n_passes in (1, 3)]


def compared(client, bundle, n_clusters, size, width, n_passes, **settings):
    settings = {"n_passes": n_passes, "random_state": 0, "compute_labels": False, **settings}
    theirs = vp.OPIMC(n_clusters, chunk_size=width * size, **settings).fit(bundle)
    mine = vp.OPIMC(n_clusters, chunk_size=width * size, **settings)
    assert vp.dask.fit(mine, bundle, client=client, n_workers=width) is mine
    assert_same(mine, theirs)
    return mine


@pytest.mark.data
@pytest.mark.parametrize(("name", "width", "n_passes"), QUICK)
def test_real_data(client, data_folder, name, width, n_passes):
    bundle = vp.load_bundle(data_folder / f"{name}.npz")
    first = slice(0, min(QUICK_ROWS, bundle.n_rows))
    observed = None if bundle.observed is None else bundle.observed[first]
    rows = replace(bundle, views={view: x[first] for view, x in bundle.views.items()}, observed=observed)
    size = -(-first.stop // (QUICK_ROUNDS * width))
    settings = {} if name == "mfeat" and width == 2 else {"scale": "unit", "n_anchors": None}
    compared(client, rows, REAL[name][0], size, width, n_passes, max_iter=3, warmup=0, **settings)


@pytest.mark.data
@pytest.mark.long
@pytest.mark.parametrize(("name", "width", "n_passes"), ALL)
def test_real_data_at_length(client, data_folder, name, width, n_passes):
    n_clusters, size = REAL[name]
    bundle = vp.load_bundle(data_folder / f"{name}.npz")
    compared(client, bundle, n_clusters, size, width, n_passes)


@pytest.mark.parametrize(
    "settings",
    [
        {"init": "random"},
        {"init": "auto", "warmup": 700, "fill": None},
        {"init": "k-means++", "warmup": 10_000},
        {"init": "centres", "tol": 0.0, "scale": "unit"},
    ],
    ids=lambda settings: settings["init"],
)
def test_every_start(client, settings):
    views = made_rows(1000)
    views[1][:350] = float("nan")  # a view that shows only later
    views[0][:120], views[1][:120] = float("nan"), float("nan")
    if settings["init"] == "centres":
        settings = {
            **settings,
            "init": [x[400:404].copy() * 0 + x[[130, 131, 500, 600]] for x in made_rows(1000, missing=0.0)],
        }
    compared(client, views, 4, 60, 3, 2, max_iter=3, **settings)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "settings",
    [
        {"consensus": "graph", "scale": "standard"},
        {"consensus": "merge", "n_anchors": 12},
        {"consensus": "graph", "scale": ["euclidean", "unit"]},
        {"consensus": "graph", "scale": "standard", "adaptive_anchors": True, "n_anchors": 40},
        {"consensus": "merge", "adaptive_anchors": True, "n_anchors": 20},
        {"consensus": "graph", "scale": "standard", "projection": 5},
        {"consensus": "graph", "scale": "unit", "adaptive_anchors": True, "n_anchors": 40, "projection": 5},
        {"n_anchors": None, "scale": "euclidean", "projection": 6},
        {"adaptive_anchors": True, "n_anchors": None, "scale": "unit"},
    ],
    ids=lambda settings: ", ".join(map(str, settings.values())),
)
@pytest.mark.parametrize("n_passes", [1, 2])
def test_anchors_and_scale(client, settings, n_passes):
    compared(client, made_rows(600), 4, 60, 3, n_passes, max_iter=3, warmup=300, **settings)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("n_passes", "adaptive"), [(2, True), (1, True), (2, False)])
def test_anchors_that_are_met_by_groups(client, n_passes, adaptive):
    settings = {"consensus": "graph", "n_anchors": 520, "scale": "unit", "adaptive_anchors": adaptive}
    compared(client, made_rows(3200), 4, 200, 3, n_passes, warmup=2700, max_iter=5, **settings)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("n_passes", [1, 2])
def test_clusters_that_become_anchors(client, monkeypatch, n_passes, linked):
    monkeypatch.setattr(outgrown, "_may_link", lambda model: linked)
    rng = np.random.default_rng(0)
    group, part = np.sort(rng.integers(4, size=5000)), rng.integers(4, size=5000)
    views = [rng.standard_normal((4, 1, 9)) + rng.standard_normal((4, 4, 9)) for _ in range(2)]
    views = [x[group, part] + 0.3 * rng.standard_normal((5000, 9)) for x in views]
    views[1][::7] = float("nan")
    compared(client, views, 4, 300, 3, n_passes, warmup=800, scale="unit")


@pytest.mark.parametrize("n_passes", [1, 2])
def test_clusters_that_are_settled_on_a_sample(client, n_passes):
    rng = np.random.default_rng(0)
    truth = rng.integers(6, size=2900)
    centres = [1.2 * rng.standard_normal((6, 12)) for _ in range(2)]
    views = [u[truth] + rng.standard_normal((2900, 12)) for u in centres]
    views[1][::5] = float("nan")
    model = compared(client, views, 6, 300, 3, n_passes, warmup=2100, scale="unit")
    assert model._learnt.learning.growth.sample is not None


def test_rows_far_from_all_anchors_make_a_graph(client, monkeypatch):
    """The driver decides it, by the rows that may open anchors."""
    monkeypatch.setattr(outgrown, "_may_link", lambda model, nearly=0.9: True)
    rng = np.random.default_rng(0)
    truth = np.append(rng.integers(6, size=2700), rng.integers(6, 12, size=1500))
    views = [1.2 * rng.standard_normal((12, 12))[truth] + rng.standard_normal((4200, 12)) for _ in range(2)]
    views[1][::5] = float("nan")
    model = compared(client, views, 6, 200, 3, 1, warmup=2100, scale="unit")
    assert model.consensus_ == "graph"


def test_more_blocks_than_are_added_up_at_once(client):
    compared(client, made_rows(900), 4, 20, 20, 1, max_iter=2, warmup=0)


@pytest.fixture(scope="module")
def by_default(tmp_path_factory):
    """Files, and the model that default settings give of them here."""
    views = made_rows(18_500)  # a chunk and a half past those of the least size
    views[1][:2500] = float("nan")
    files = write_files(tmp_path_factory.mktemp("files"), views, cuts=[3100, 12_000])
    return files, vp.OPIMC(4, random_state=0).fit(files)


@pytest.mark.parametrize(("width", "together"), [(1, 2**26), (2, 0), (3, 2**20)])
def test_default_settings_give_the_local_result_for_any_number_of_workers(
    client, by_default, monkeypatch, width, together
):
    """However many of the first chunks one worker learns."""
    monkeypatch.setattr(driver, "TOGETHER_BYTES", together)
    files, theirs = by_default
    mine = vp.dask.fit(vp.OPIMC(4, random_state=0), files, client=client, n_workers=width)
    assert_same(mine, theirs)
    np.testing.assert_array_equal(mine.labels_, theirs.labels_)


def test_what_cannot_be_called_is_submitted(client, monkeypatch):
    n_called, call = [0, 0], Caller.call

    def sometimes(self, asked):
        found = call(self, asked) if sum(n_called) % 2 else None
        n_called[found is not None] += 1
        return found

    monkeypatch.setattr(Caller, "call", sometimes)
    compared(client, made_rows(1500), 4, 150, 2, 2, max_iter=3, warmup=0)
    assert min(n_called) > 5


def test_given_centres_and_the_schedule(client):
    views = made_rows(21_000)
    init = [x[:4] for x in made_rows(10, missing=0.0)]
    given = {"init": init, "scale": "unit", "random_state": 0, "compute_labels": False}
    mine = vp.dask.fit(vp.OPIMC(4, **given), views, client=client, n_workers=2)
    assert_same(mine, vp.OPIMC(4, **given).fit(views))
