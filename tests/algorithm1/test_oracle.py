"""The product against an independent implementation: same first V, same labels, on all rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
import viewpass as vp
from cases import cases
from inputs import PUBLISHED
from viewpass.evaluate import make_mask

# Random rows may be too few for the clusters asked for.
pytestmark = pytest.mark.filterwarnings("ignore:only .* clusters have rows")
DIGIT = ("fou", "fac", "kar", "pix", "zer")


def soft(n_rows, n_clusters, rng):
    memberships = rng.random((n_rows, n_clusters))
    return memberships / memberships.sum(axis=1, keepdims=True)


@settings(max_examples=30, deadline=None)
@given(
    cases(ties=False, min_rows=10),
    st.integers(3, 40),
    st.integers(1, 3),
    st.sampled_from(["mean", "zero-filled-mean", None]),
)
def test_random_data_gives_what_the_oracle_gives(case, chunk_size, n_passes, fill):
    first = min(chunk_size, case.n_rows)
    if not case.present[:first].any() or case.present.any(axis=1).sum() < case.n_clusters:
        return
    start = soft(first, case.n_clusters, case.rng)
    expected = oracle.opimc(
        [x.astype(np.float64) for x in case.views],
        case.present,
        case.n_clusters,
        alpha=case.alpha,
        chunk_size=chunk_size,
        n_passes=n_passes,
        start=start,
        fill=fill,
    )
    model = vp.OPIMC(
        case.n_clusters,
        alpha=case.alpha,
        chunk_size=chunk_size,
        n_passes=n_passes,
        **{**PUBLISHED, "init": start, "fill": fill},
    ).fit(case.views, observed=case.observed)
    if expected.min_margin.min() < 1e-7:  # a near tie: either answer is right, and they go apart
        return
    np.testing.assert_array_equal(model.stream_labels_, expected.labels)
    np.testing.assert_allclose(model.loss_curve_, expected.loss_curve, rtol=1e-7, atol=1e-8)
    if case.n_clusters > 1:  # for K = 1 our V is 1-of-K from the first, and settled a step earlier
        assert model.n_iter_ == expected.n_iter
    for v in range(len(case.views)):
        np.testing.assert_allclose(model.statistics_.sums(v), expected.sums[v], atol=1e-7)
        np.testing.assert_array_equal(model.counts_[v], expected.counts[v])
        if case.present[:, v].any():
            np.testing.assert_allclose(model.cluster_centers_[v], expected.centres[v], atol=1e-7)
    np.testing.assert_allclose(model.objective_, expected.objective, rtol=1e-6, atol=1e-6)


@settings(max_examples=50, deadline=None)
@given(cases(ties=False, min_rows=10))
def test_random_data_offline(case):
    if case.present.any(axis=1).sum() < case.n_clusters:
        return
    start = soft(case.n_rows, case.n_clusters, case.rng)
    expected = oracle.imc(
        [x.astype(np.float64) for x in case.views],
        case.present,
        case.n_clusters,
        alpha=case.alpha,
        start=start,
    )
    model = vp.IMC(case.n_clusters, alpha=case.alpha, init=start).fit(case.views, observed=case.observed)
    if expected.min_margin.min() < 1e-7:
        return
    np.testing.assert_array_equal(model.labels_, expected.labels)


@pytest.mark.data
@pytest.mark.parametrize("rate", [0.3, pytest.param(0.4, marks=pytest.mark.long)])
def test_digit_gives_what_the_oracle_gives(data_folder, rate):
    bundle = vp.load_bundle(data_folder / "mfeat.npz")
    rng = np.random.default_rng(7)
    order = rng.permutation(bundle.n_rows)
    views = [bundle.views[name][order] for name in DIGIT]
    observed = make_mask("paper", bundle.n_rows, len(views), rate, rng)
    compare(views, views, observed, n_clusters=10, alpha=0.1, chunk_size=50, rng=rng)


@pytest.mark.data
def test_webkb_gives_what_the_oracle_gives(data_folder):
    bundle = vp.load_bundle(data_folder / "webkb.npz")
    rng = np.random.default_rng(8)
    order = rng.permutation(bundle.n_rows)
    views = [x[order] for x in bundle.views.values()]
    observed = make_mask("paper", bundle.n_rows, len(views), 0.3, rng)
    dense = [x.toarray() for x in views]
    compare(views, dense, observed, n_clusters=2, alpha=10.0, chunk_size=50, rng=rng)


def compare(views, dense, observed, *, n_clusters, alpha, chunk_size, rng):
    start = soft(chunk_size, n_clusters, rng)
    present = observed & np.column_stack([x.any(axis=1) for x in dense])
    expected = oracle.opimc(
        [x.astype(np.float64) for x in dense],
        present,
        n_clusters,
        alpha=alpha,
        chunk_size=chunk_size,
        n_passes=3,
        start=start,
    )
    settings = {**PUBLISHED, "alpha": alpha, "chunk_size": chunk_size, "init": start}
    for n_passes in (1, 3):
        model = vp.OPIMC(n_clusters, n_passes=n_passes, **settings).fit(views, observed=observed)
        labels = expected.labels_per_pass[n_passes - 1]
        np.testing.assert_array_equal(model.stream_labels_, labels)
    np.testing.assert_allclose(model.loss_curve_, expected.loss_curve, rtol=1e-8)
