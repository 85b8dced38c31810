"""Laws of the ridge: one for each view, estimated from sums alone, the same however rows are read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import viewpass as vp
from cases import cases, workspace
from clusters import made_rows
from viewpass.evaluate import nmi
from viewpass.solve.centres import ridged
from viewpass.solve.plan import Plan
from viewpass.solve.ridge import FIRST_ALPHA, MAX_ALPHA, estimated_alpha
from viewpass.sums.chunk_step import ChunkStep
from viewpass.sums.rules import Rules
from viewpass.sums.statistics import Statistics
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows

RULES = Rules(FIRST_ALPHA, 20, 1e-6, "mean")
PLAIN = {"scale": "unit", "consensus": "plain", "random_state": 0}
VIEWS = made_rows(600, widths=(12, 7, 9), seed=5)


def total_of(case) -> Statistics:
    total = Statistics(case.n_clusters, [x.shape[1] for x in case.views])
    return total.add(case.views, case.labels(), case.observed)


# ---- the estimate


@given(cases())
def test_it_is_the_mean_product_of_two_rows_of_a_cluster(case):
    total, labels, unit = total_of(case), case.labels(), case.unit()
    for v, alpha in enumerate(estimated_alpha(total, None, 1)):
        products = []
        for k in range(case.n_clusters):
            rows = unit[v][(labels == k) & case.present[:, v]]
            products.append((rows @ rows.T)[~np.eye(len(rows), dtype=bool)])
        found = np.concatenate(products)
        if not len(found):
            assert alpha == FIRST_ALPHA
        elif found.mean() <= 1.001 / MAX_ALPHA:
            assert alpha >= 0.99 * MAX_ALPHA
        else:
            rho = found.mean()
            np.testing.assert_allclose(alpha, (1 - rho) / rho, rtol=1e-4, atol=1e-6)


@given(cases(), st.randoms())
def test_it_does_not_depend_on_other_views(case, shuffle):
    order = list(range(len(case.views)))
    shuffle.shuffle(order)
    total = total_of(case)
    other = replace(case, views=[case.views[v] for v in order], observed=case.observed[:, order])
    other_total = Statistics(case.n_clusters, [x.shape[1] for x in other.views])
    other_total.add(other.views, case.labels(), other.observed)
    alphas = estimated_alpha(total, None, 1)
    assert estimated_alpha(other_total, None, 1) == tuple(alphas[v] for v in order)


@given(cases())
def test_rows_in_a_unit_are_the_same_rows(case):
    one, other = total_of(case), total_of(case)
    other.flat *= 1024
    other.flat_counts *= 1024
    assert estimated_alpha(other, None, 1024) == tuple(1024 * a for a in estimated_alpha(one, None, 1))


@given(cases(), st.sampled_from([1.0, 0.25, 0.01]))
def test_view_weights_cancel_out(case, weight):
    weights = (1.0,) + (weight,) * (len(case.views) - 1)
    chunk = Chunk.of(case.views, observed=case.observed)
    total = Statistics(case.n_clusters, [x.shape[1] for x in case.views])
    total.move(MeasuredRows(chunk, weights=weights).measure(), case.labels().astype(np.int32), 1)
    expected = np.array(estimated_alpha(total_of(case), None, 1))
    found = np.array(estimated_alpha(total, weights, 1))
    certain = expected < 0.5 * MAX_ALPHA  # beyond, the rounding of short rows shows
    np.testing.assert_allclose(found[certain], expected[certain], rtol=1e-3, atol=1e-5)


def test_equal_rows_have_no_ridge_and_opposite_ones_the_largest():
    rows = np.repeat(np.eye(2), 6, axis=0)
    total = Statistics(2, [2]).add([rows], np.repeat([0, 1], 6))
    assert estimated_alpha(total, None, 1) == (0.0,)
    total = Statistics(2, [2]).add([rows * np.tile([[1], [-1]], (6, 1))], np.repeat([0, 1], 6))
    assert estimated_alpha(total, None, 1) == (MAX_ALPHA,)


# ---- its use


@settings(max_examples=30)
@given(case=cases(), whole=st.booleans())
def test_rows_of_weight_w_are_w_rows(case, whole):
    weights = np.random.default_rng(case.seed).integers(0, 4, size=case.n_rows)
    assume(case.present[weights > 0].any())
    repeated = np.repeat(np.arange(case.n_rows), weights)
    chunk = Chunk.of(case.views, observed=case.observed)
    plan = Plan(case.n_clusters, RULES, auto_alpha=True)
    found = []
    for rows, copies in ((np.arange(case.n_rows), weights), (repeated, None)):
        given = MeasuredRows(replace(chunk.take(rows), copies=copies))
        labels = case.labels()[rows].astype(np.int32)
        first = ChunkStep(RULES, workspace()).from_labels(given, labels, case.n_clusters)
        found.append(ridged(given, plan, first, workspace(), whole=whole))
    (one, mine), (other, theirs) = found
    assert mine == theirs
    assert one.total == other.total
    np.testing.assert_array_equal(np.repeat(one.labels, weights), other.labels)


def test_the_same_view_twice_has_the_same_ridge():
    model = vp.ViewPass(4, **PLAIN).fit([VIEWS[0], VIEWS[0], VIEWS[1]])
    one, two, other = model.alpha_.values()
    assert one == two != other
    assert model.alpha == "auto"


def test_views_in_another_order_take_their_ridge_with_them():
    named = dict(zip("abc", VIEWS, strict=True))
    one = vp.ViewPass(4, **PLAIN).fit(named).alpha_
    other = vp.ViewPass(4, **PLAIN).fit({name: named[name] for name in "cab"}).alpha_
    assert list(other) == ["c", "a", "b"]
    for name, alpha in one.items():
        assert other[name] == pytest.approx(alpha, rel=1e-9)


@pytest.mark.parametrize("kind", [vp.OPIMC, vp.IMC, vp.ViewPass])
def test_a_number_is_the_ridge_of_every_view(kind):
    model = kind(4, alpha=2, random_state=0).fit(VIEWS)
    assert model.alpha_ == dict.fromkeys(model.view_names_in_, 2.0)


def test_the_ridge_is_that_of_the_last_solve():
    model = vp.ViewPass(4, sample_size=150, **PLAIN).partial_fit([x[:150] for x in VIEWS])
    before = model.alpha_
    assert model.partial_fit([x[150:220] for x in VIEWS]).alpha_ == before
    assert model.partial_fit([x[220:] for x in VIEWS]).alpha_ != before


def test_anchors_have_a_ridge_of_their_own():
    settings = {"n_anchors": 40, "consensus": "graph", "projection": None, "random_state": 0}
    model = vp.ViewPass(4, scale="unit", **settings).fit(VIEWS)
    total = model._fitted_model().total
    for alpha, estimate in zip(model.alpha_.values(), estimated_alpha(total, None, 1), strict=True):
        assert 0.5 * estimate <= alpha <= 2 * estimate


def test_many_noisy_clusters_are_found():
    rng = np.random.default_rng(0)
    truth, observed = rng.integers(160, size=8_000), rng.random((8_000, 2)) >= 0.3
    views = []
    for width in (400, 300):
        centres = rng.standard_normal((160, width), dtype=np.float32)
        views.append(centres[truth] + 3 * rng.standard_normal((8_000, width), dtype=np.float32))
    model = vp.ViewPass(160, **PLAIN).fit(views, observed=observed)
    seen = observed.any(axis=1)
    assert nmi(truth[seen], model.labels_[seen]) > 0.9, model.alpha_
