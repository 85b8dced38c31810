"""Protocols by name: exact counts, at least one view per row, and what `audit` says of a mask."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import viewpass as vp
from viewpass.evaluate import PROTOCOLS, make_mask
from viewpass.evaluate.protocols import RULES

law = settings(max_examples=30, deadline=None)
SHAPE = {"n_rows": st.integers(2, 150), "n_views": st.integers(2, 6)}
seeds = st.integers(0, 2**32 - 1)
low = st.integers(0, 40).map(lambda percent: percent / 100)  # every protocol can leave each row a view


def mask(protocol, n_rows, n_views, rate, seed, observed=None):
    return make_mask(protocol, n_rows, n_views, rate, seed, labels=np.arange(n_rows) % 2, observed=observed)


def test_every_protocol_has_a_rule_and_a_description():
    assert {*RULES, "by-class"} == set(PROTOCOLS)


@law
@given(st.sampled_from(sorted(PROTOCOLS)), *SHAPE.values(), low, seeds, st.data())
def test_a_row_that_had_a_view_keeps_one_and_none_comes_back(protocol, n_rows, n_views, rate, seed, data):
    before = np.ones((n_rows, n_views), dtype=bool)
    if protocol in ("P1", "P2", "P3", "P4", "partial-rows"):  # the exact rates of the others may not fit
        gaps = data.draw(st.lists(st.integers(0, n_rows * n_views - 1), max_size=20))
        before.flat[gaps] = False
    after = mask(protocol, n_rows, n_views, rate, seed, before)
    assert not (after & ~before).any()
    np.testing.assert_array_equal(after.any(axis=1), before.any(axis=1))
    np.testing.assert_array_equal(after, mask(protocol, n_rows, n_views, rate, seed, before))


@law
@given(*SHAPE.values(), st.integers(0, 100).map(lambda percent: percent / 100), seeds)
def test_p1_takes_one_view_from_exactly_its_share_of_rows(n_rows, n_views, rate, seed):
    lost = (~mask("P1", n_rows, n_views, rate, seed)).sum(axis=1)
    assert lost.max() <= 1
    assert lost.sum() == round(rate * n_rows)


@law
@given(*SHAPE.values(), st.integers(0, 100).map(lambda percent: percent / 100), seeds)
def test_p4_takes_exactly_its_share_of_cells_as_far_as_rows_keep_one(n_rows, n_views, rate, seed):
    lost = int((~mask("P4", n_rows, n_views, rate, seed)).sum())
    assert lost == min(round(rate * n_rows * n_views), n_rows * (n_views - 1))


@law
@given(*SHAPE.values(), low, seeds)
def test_unbalanced_rates_rise_and_have_the_mean_of_the_rate(n_rows, n_views, rate, seed):
    lost = (~mask("unbalanced", n_rows, n_views, rate, seed)).sum(axis=0)
    assert (np.diff(lost) >= 0).all()
    assert abs(lost.sum() - rate * n_rows * n_views) <= n_views  # each view's count is rounded down


@law
@given(st.integers(2, 40), st.integers(2, 6), low, seeds)
def test_rates_by_class_are_exact_within_each_class(per_class, n_views, rate, seed):
    classes = np.repeat([3, 7, 9], per_class)
    found = make_mask("by-class", len(classes), n_views, rate, seed, labels=classes)
    lost = np.array([(~found[classes == name]).sum(axis=0) for name in (3, 7, 9)])
    assert (lost == lost[:, :1]).all()
    assert (np.diff(lost[:, 0]) >= 0).all()
    assert lost[1, 0] == int(rate * per_class + 1e-9)


@pytest.mark.parametrize(
    ("protocol", "missing", "complete"),
    [("P1", 0.5 / 6, 0.5), ("P2", 0.5 / 6, 0.9**5), ("P3", 0.5 - 0.5**6 / 6, 0.5**6), ("paper", 0.5, 0.5**6)],
)
def test_one_nominal_rate_has_the_shares_that_the_audit_of_the_field_states(protocol, missing, complete):
    found = vp.audit(mask(protocol, 20_000, 6, 0.5, 0))
    assert found.missing == pytest.approx(missing, abs=0.003)
    assert found.complete == pytest.approx(complete, abs=0.01)


@law
@given(*SHAPE.values(), seeds)
def test_the_audit_counts(n_rows, n_views, seed):
    observed = np.random.default_rng(seed).random((n_rows, n_views)) < 0.6
    found = vp.audit(observed)
    counts = observed.sum(axis=1)
    assert found.missing == pytest.approx((~observed).mean())
    shares = [(counts == n).mean() for n in (n_views, 1, 0)]
    assert [found.complete, found.single, found.without] == pytest.approx(shares)
    assert list(found.views.values()) == pytest.approx((~observed).mean(axis=0))
    for i in range(n_views):
        for j in range(n_views):
            assert found.pairs[i][j] == pytest.approx((observed[:, i] & observed[:, j]).mean())


def test_what_makes_no_sense_is_refused():
    with pytest.raises(vp.SettingError, match="Choose one of paper, P1"):
        make_mask("P5", 10, 2, 0.5)
    with pytest.raises(vp.SettingError, match="n_views is 1"):
        make_mask("P3", 10, 1, 0.5)
    with pytest.raises(vp.DataError, match="needs labels"):
        make_mask("by-class", 10, 2, 0.5)
    with pytest.raises(vp.DataError, match="bool array of rows x views"):
        vp.audit([[1, 0]])
    with pytest.raises(vp.DataError, match="1 names for 2 views"):
        vp.audit([[True, False]], ["image"])
