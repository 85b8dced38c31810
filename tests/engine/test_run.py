"""Fits give the same bits for any number of threads, storage and number of chunks processed together."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse

import viewpass as vp
from viewpass.engine import run as loop

SIZE, N_CHUNKS = 300, 11  # more chunks than are processed together, the last one shorter
WIDE = {"n_rows": SIZE * N_CHUNKS - 70, "widths": (500, 200), "noise": 3.0}  # enough work for two threads
SETTINGS = {"init": "random", "scale": "unit", "n_anchors": None, "compute_labels": False}


def made(kind, dtype, *, n_rows=900, widths=(40, 300, 7), noise=1.0):
    """12 groups in several views, a third of each missing; some rows twice, so that there are ties."""
    rng = np.random.default_rng(0)
    groups = rng.integers(12, size=n_rows)
    views = []
    for width in widths:
        x = rng.standard_normal((12, width))[groups] + noise * rng.standard_normal((n_rows, width))
        x = x.astype(dtype)
        x[n_rows // 2 : n_rows // 2 + 20] = x[:20]
        gone = rng.random(n_rows) < 0.3
        if kind == "sparse":
            x[rng.random(x.shape) < 0.8] = 0.0
            x[gone] = 0.0
            views.append(scipy.sparse.csr_array(x))
        else:
            x[gone] = np.nan
            views.append(x)
    return views


def learnt(model):
    return [
        *(model.loss_curve_, model.n_iter_, model.statistics_.flat),
        *(*model.cluster_centers_, *model.counts_),
    ]


def fitted(views, n_clusters=12, observed=None, **settings):
    model = vp.OPIMC(n_clusters, random_state=0, **settings).fit(views, observed=observed)
    return [model.stream_labels_, *([model.labels_] if model.compute_labels else []), *learnt(model)]


def fitted_chunk_by_chunk(views, **settings):
    model, labels = vp.OPIMC(12, random_state=0, **settings), []
    for first in range(0, views[0].shape[0], SIZE):
        model.partial_fit([x[first : first + SIZE] for x in views])
        labels.append(model.stream_labels_)
    return [np.concatenate(labels), *learnt(model)]


def assert_same(found, expected):
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.every_value
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "settings",
    [
        {"init": "random", "chunk_size": 300},
        {"init": "random", "scale": "unit", "chunk_size": 300, "n_passes": 3, "n_clusters": 33},
        {"init": "auto", "scale": "unit", "chunk_size": 30, "n_passes": 2, "fill": None},
        {"init": "random", "scale": "unit", "chunk_size": 30, "fill": "zero-filled-mean", "alpha": 5.0},
        {"init": "k-means++", "scale": "unit", "chunk_size": 200, "max_iter": 1},
    ],
)
@pytest.mark.filterwarnings("ignore:only .* clusters have rows")
def test_threads_do_not_matter(kind, dtype, settings):
    views = made(kind, dtype)
    one, five = (fitted(views, n_threads=n_threads, n_anchors=None, **settings) for n_threads in (1, 5))
    assert_same(five, one)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_threads_do_not_matter_for_further_passes_over_wide_views(kind):
    views = made(kind, np.float32, **WIDE)
    one, two = (fitted(views, chunk_size=SIZE, n_passes=3, n_threads=n, **SETTINGS) for n in (1, 2))
    assert_same(one, two)


def test_views_of_different_kinds():
    dense, sparse = made("dense", np.float64), made("sparse", np.float64)
    mixed = [dense[0], sparse[1], dense[2].astype(np.float32).astype(np.float64)]
    alike = [dense[0], sparse[1].toarray(), mixed[2]]
    settings = {"chunk_size": 300, "scale": "unit"}  # what would suit them differs
    assert_same(fitted(mixed, **settings), fitted(alike, **settings))


@pytest.mark.every_value
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("n_passes", [1, 3])
def test_small_chunks_together_equal_one_after_another(kind, n_passes, monkeypatch):
    views = made(kind, np.float32)
    observed = np.ones((900, 3), dtype=bool)
    observed[100:140] = False  # two chunks without any row
    settings = {"observed": observed, "init": "random", "chunk_size": 20, "n_passes": n_passes}
    together = fitted(views, **settings)
    monkeypatch.setattr(loop, "SMALL_STEP_ROWS", 1)
    assert_same(together, fitted(views, **settings))


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("kind", "dtype"), [("dense", np.float32), ("dense", np.float64), ("sparse", np.float64)]
)
@pytest.mark.parametrize("n_threads", [1, 2])
def test_several_chunks_equal_partial_fit_of_each(kind, dtype, n_threads):
    views, settings = made(kind, dtype, **WIDE), SETTINGS | {"n_threads": n_threads}
    assert_same(fitted(views, chunk_size=SIZE, **settings), fitted_chunk_by_chunk(views, **settings))


def test_unusual_rows_among_several_chunks():
    """A chunk without any view, values that must be rescaled, a view that comes late."""
    views = made("dense", np.float64, **WIDE)
    views[0][: 2 * SIZE] = np.nan
    views[1][:SIZE] = np.nan_to_num(views[1][:SIZE])
    for x in views:
        x[4 * SIZE : 5 * SIZE] = np.nan
        x[6 * SIZE + 5] = np.nan_to_num(x[6 * SIZE + 5]) * 1e-200
    together = fitted(views, chunk_size=SIZE, n_threads=2, **SETTINGS)
    assert_same(together, fitted_chunk_by_chunk(views, **SETTINGS))


def test_an_error_names_its_row_in_whichever_chunk_it_is():
    views = made("dense", np.float32, **WIDE)
    row = 5 * SIZE + 17
    views[0][row] = 1.0
    views[0][row, 3] = np.nan
    with pytest.raises(vp.DataError, match=rf"row {row}\b"):
        fitted(views, chunk_size=SIZE, n_threads=2, **SETTINGS)


def test_concurrent_fits_do_not_wait_for_each_other():
    views = made("dense", np.float32, n_rows=4000)
    settings = {"chunk_size": 1000, "scale": "unit", "n_anchors": None}
    expected = fitted(views, n_threads=1, **settings)
    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(fitted, views, n_threads=4, **settings) for _ in range(8)]
        for run in runs:
            assert_same(run.result(timeout=600), expected)
