"""Whole fits give the same bits for any threads, storage and number of chunks handed over together."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse

import viewpass as vp
from viewpass.engine import run as loop


def made(kind, dtype, *, n_rows=900, n_groups=12, seed=0):
    """Groups seen in three views, a third of each missing; some rows twice, so that there are ties."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(n_groups, size=n_rows)
    views = []
    for width in (40, 300, 7):
        centres = rng.standard_normal((n_groups, width))
        x = (centres[groups] + rng.standard_normal((n_rows, width))).astype(dtype)
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


def fitted(views, n_clusters=12, observed=None, **settings):
    model = vp.OPIMC(n_clusters, random_state=0, **settings).fit(views, observed=observed)
    return [
        *(model.stream_labels_, model.labels_, model.loss_curve_, model.n_iter_),
        *(model.statistics_.flat, *model.cluster_centers_, *model.counts_),
    ]


def assert_same(found, expected):
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "settings",
    [
        {"init": "random", "chunk_size": 300},
        {"init": "random", "chunk_size": 300, "n_passes": 3, "n_clusters": 33},
        {"init": "auto", "chunk_size": 30, "n_passes": 2, "fill": None},
        {"init": "random", "chunk_size": 30, "fill": "zero-filled-mean", "alpha": 5.0},
        {"init": "k-means++", "chunk_size": 200, "max_iter": 1},
    ],
)
def test_threads_do_not_matter(kind, dtype, settings):
    views = made(kind, dtype)
    expected = fitted(views, n_threads=1, **settings)
    for n_threads in (2, 5):
        assert_same(fitted(views, n_threads=n_threads, **settings), expected)


def test_views_of_different_kinds():
    dense, sparse = made("dense", np.float64), made("sparse", np.float64)
    mixed = [dense[0], sparse[1], dense[2].astype(np.float32).astype(np.float64)]
    alike = [dense[0], sparse[1].toarray(), mixed[2]]
    assert_same(fitted(mixed, chunk_size=300), fitted(alike, chunk_size=300))


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


def test_crews_that_share_a_pool_do_not_wait_for_each_other():
    views = made("dense", np.float32, n_rows=4000)
    expected = fitted(views, chunk_size=1000, n_threads=1)
    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(fitted, views, chunk_size=1000, n_threads=4) for _ in range(8)]
        for run in runs:
            assert_same(run.result(timeout=120), expected)
