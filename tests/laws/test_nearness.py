"""A row's distance and margin in label files are those of `transform`, for any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import cases, workspace
from inputs import random_csr
from viewpass.labels.columns import cluster_rows
from viewpass.model.model import Model, assign, distances
from viewpass.sums.centres import Centres
from viewpass.sums.rules import Workspace
from viewpass.sums.statistics import Statistics
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows
from viewpass.views.scaling import Scaling


def parts(views, observed, centres):
    rows = MeasuredRows(Chunk.of(views, observed=observed)).measure()
    labels, _ = assign(rows, centres, workspace())
    exact = distances(rows, centres, workspace())
    return rows, labels, exact


def nearness(rows, centres, labels, workspace):
    chunk, n_clusters = rows.chunk, centres.n_clusters
    scaling, alpha = Scaling.none(len(chunk.names)), (0.1,) * len(chunk.names)
    model = Model(chunk.schema, Statistics(n_clusters, rows.widths), centres, scaling, alpha)
    found = cluster_rows(chunk, model, workspace)
    np.testing.assert_array_equal(found.clusters, labels)
    return [np.asarray(found.columns[name]) for name in ("distance", "margin")]


def check(rows, labels, exact, centres, **allowed):
    distance, margin = nearness(rows, centres, labels, workspace())
    seen = rows.n_seen > 0
    assert np.isnan(distance[~seen]).all()
    assert np.isnan(margin[~seen]).all()
    own = exact[seen, labels[seen]]
    np.testing.assert_allclose(distance[seen], own, **allowed)
    if exact.shape[1] == 1:
        assert np.isnan(margin).all()
    else:
        others = exact[seen].copy()
        others[np.arange(len(own)), labels[seen]] = np.inf
        np.testing.assert_allclose(margin[seen], others.min(axis=1) - own, **allowed)
        assert (margin[seen] >= 0).all()


@given(cases(), st.booleans())
def test_distance_and_margin_are_those_of_transform(case, sparse):
    rng = case.rng
    units = [rng.standard_normal((case.n_clusters, x.shape[1])) for x in case.views]
    centres = Centres.of([u / np.linalg.norm(u, axis=1, keepdims=True) for u in units])
    views = case.sparse() if sparse else case.views
    check(*parts(views, case.observed, centres), centres, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_number_of_threads_gives_the_same_bits(dtype):
    rng = np.random.default_rng(1)
    n_rows = 3 * 192 + 77
    views = [rng.standard_normal((n_rows, d)).astype(dtype) for d in (17, 64)]
    views.append(random_csr(rng, (n_rows, 40), 0.1, dtype))
    centres = Centres.of([rng.standard_normal((7, x.shape[1])) for x in views])
    rows, labels, _ = parts(views, rng.random((n_rows, 3)) > 0.3, centres)
    alone = nearness(rows, centres, labels, workspace())
    for n_threads in (2, 5):
        for mine, theirs in zip(nearness(rows, centres, labels, Workspace(n_threads)), alone, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_absent_rows_may_hold_anything_and_large_ones_do_not_overflow():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((60, 5)).astype(np.float32)
    x[10:20] *= np.float32(1e38)
    x[20:30] = np.nan
    x[30:35] *= np.float32(1e-40)
    hidden = np.ones((60, 2), dtype=bool)
    hidden[40:50, 0] = False
    x[40:50] = np.inf
    x[35] = 0
    y = rng.standard_normal((60, 3)) * 1e300
    centres = Centres.of([np.eye(3, 5), np.eye(3, 3)])
    check(*parts([x, y], hidden, centres), centres, rtol=1e-5, atol=1e-5)


def test_one_cluster_has_no_margin():
    centres = Centres.of([np.ones((1, 2)) / 2])
    check(*parts([np.eye(2)], None, centres), centres, rtol=1e-5, atol=1e-6)
