"""Chunks that lie in memory are worked on several at a time: the same as one after another."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import viewpass as vp

SIZE, N_CHUNKS, N_CLUSTERS = 300, 11, 12  # more chunks than go together, the last one shorter
SETTINGS = {"init": "random", "scale": "unit", "n_anchors": None, "random_state": 0, "compute_labels": False}


def views(kind: str, seed: int = 0) -> list:
    """Clusters in two views with gaps; enough work for two threads."""
    rng = np.random.default_rng(seed)
    n_rows = SIZE * N_CHUNKS - 70
    classes = rng.integers(N_CLUSTERS, size=n_rows)
    made = []
    for width in (500, 200):
        x = rng.standard_normal((N_CLUSTERS, width))[classes] + 3 * rng.standard_normal((n_rows, width))
        gone = rng.random(n_rows) < 0.3
        if kind == "csr":
            x[rng.random(x.shape) < 0.9] = 0
            x[gone] = 0
            made.append(scipy.sparse.csr_array(x))
        else:
            x[gone] = np.nan
            made.append(x.astype(kind))
    return made


def fitted(data, **settings):
    return vp.OPIMC(N_CLUSTERS, chunk_size=SIZE, **(SETTINGS | settings)).fit(data)


@pytest.mark.parametrize("kind", ["float32", "float64", "csr"])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_several_are_the_same_as_one_after_another(kind, n_threads):
    data = views(kind)
    together = fitted(data, n_threads=n_threads)
    single = vp.OPIMC(N_CLUSTERS, **SETTINGS, n_threads=n_threads)
    labels = []
    for first in range(0, data[0].shape[0], SIZE):
        single.partial_fit([x[first : first + SIZE] for x in data])
        labels.append(single.stream_labels_)
    assert np.array_equal(together.stream_labels_, np.concatenate(labels))
    assert together._learnt.model.total == single._learnt.model.total
    for mine, theirs in zip(together.cluster_centers_, single.cluster_centers_, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert np.array_equal(together.loss_curve_, single.loss_curve_)
    assert together.n_iter_ == single.n_iter_


@pytest.mark.parametrize("kind", ["float32", "csr"])
def test_further_passes_do_not_depend_on_threads(kind):
    data = views(kind)
    one, two = (fitted(data, n_passes=3, n_threads=n_threads) for n_threads in (1, 2))
    assert np.array_equal(one.stream_labels_, two.stream_labels_)
    assert one._learnt.model.total == two._learnt.model.total
    assert np.array_equal(one.loss_curve_, two.loss_curve_)


def test_rows_out_of_the_ordinary_among_several():
    """A chunk that nobody has, values that must be rescaled, a view that comes late."""
    data = views("float64")
    data[0][: 2 * SIZE] = np.nan
    data[1][:SIZE] = np.nan_to_num(data[1][:SIZE])
    for x in data:
        x[4 * SIZE : 5 * SIZE] = np.nan
        x[6 * SIZE + 5] = np.nan_to_num(x[6 * SIZE + 5]) * 1e-200
    together = fitted(data, n_threads=2)
    single = vp.OPIMC(N_CLUSTERS, **SETTINGS)
    for first in range(0, len(data[0]), SIZE):
        single.partial_fit([x[first : first + SIZE] for x in data])
    assert together._learnt.model.total == single._learnt.model.total
    assert np.array_equal(together.loss_curve_, single.loss_curve_)


def test_a_fault_names_its_row_whichever_chunk_it_is_in():
    data = views("float32")
    row = 5 * SIZE + 17
    data[0][row] = 1.0
    data[0][row, 3] = np.nan
    with pytest.raises(vp.DataError, match=rf"row {row}\b"):
        fitted(data, n_threads=2)
