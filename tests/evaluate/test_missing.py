from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from viewpass.errors import DataError, SettingError
from viewpass.evaluate import PROTOCOLS, make_mask

per_view, windows, partial_rows = (partial(make_mask, name) for name in ("paper", "windows", "partial-rows"))
GENERATORS = [partial(make_mask, name) for name in PROTOCOLS if name != "by-class"]
law = settings(max_examples=30, deadline=None)
seeds = st.integers(0, 2**32 - 1)
percents = st.integers(0, 100)


@st.composite
def masks(draw, most_rows=40, most_views=5, least_views=2):
    shape = (draw(st.integers(1, most_rows)), draw(st.integers(least_views, most_views)))
    return draw(arrays(np.bool_, shape))


def removed(before, after):
    assert after.dtype == np.bool_
    assert after.shape == before.shape
    assert not (after & ~before).any(), "a view that was missing came back"
    np.testing.assert_array_equal(after.any(axis=1), before.any(axis=1))
    return (before & ~after).sum(axis=0)


def can_leave_everyone_a_view(before, n_left):
    """Hall's condition: any set of views has a place for each row that has no other views."""
    for chosen in product([False, True], repeat=before.shape[1]):
        chosen = np.array(chosen)
        depending = before.any(axis=1) & ~before[:, ~chosen].any(axis=1)
        if depending.sum() > n_left[chosen].sum():
            return False
    return True


@law
@given(st.integers(1, 200), st.integers(2, 6), percents, seeds)
def test_per_view_rates_are_exact_on_complete_data(n_rows, n_views, percent, seed):
    n_removed = percent * n_rows // 100
    if n_removed * n_views > n_rows * (n_views - 1):
        with pytest.raises(SettingError, match="Lower the rate"):
            per_view(n_rows, n_views, percent / 100, seed)
        return
    after = per_view(n_rows, n_views, percent / 100, seed)
    assert (removed(np.ones((n_rows, n_views), dtype=bool), after) == n_removed).all()


@law
@given(masks(), percents, seeds)
def test_per_view_rates_are_exact_on_incomplete_data_or_refused_if_impossible(before, percent, seed):
    n_removed = percent * before.sum(axis=0) // 100
    if can_leave_everyone_a_view(before, before.sum(axis=0) - n_removed):
        after = per_view(*before.shape, percent / 100, seed, observed=before)
        np.testing.assert_array_equal(removed(before, after), n_removed)
    else:
        with pytest.raises(SettingError, match="Lower the rate"):
            per_view(*before.shape, percent / 100, seed, observed=before)


@pytest.mark.parametrize(("n_views", "rate"), [(2, 0.5), (3, 2 / 3), (4, 0.75), (5, 0.8)])
def test_the_tightest_rate_leaves_everyone_exactly_one_view(n_views, rate):
    after = per_view(60_000, n_views, rate, random_state=1)
    assert (after.sum(axis=1) == 1).all()
    assert (after.sum(axis=0) == 60_000 // n_views).all()


@pytest.mark.parametrize("seed", range(20))
def test_views_are_swapped_along_chains_where_no_single_swap_helps(seed):
    # There is one place a row, so each kind of row must end in views the kind before it cannot use.
    before = np.repeat([[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 1]], 200, axis=0).astype(bool)
    after = per_view(600, 4, 0.5, seed, observed=before)
    assert removed(before, after).tolist() == [200, 200, 100, 100]
    assert after[:200, 0].all()
    assert after[200:400, 1].all()
    assert (after[400:].sum(axis=1) == 1).all()


def test_views_given_back_are_spread_over_the_views():
    after = per_view(30_000, 3, 0.6, random_state=0)
    views_of_single_rows = after[after.sum(axis=1) == 1].sum(axis=0)
    assert views_of_single_rows.min() > 0.95 * views_of_single_rows.max()


def test_a_refused_rate_says_which_views_and_how_many_rows():
    before = np.array([[1, 0, 0], [1, 0, 0], [1, 1, 1], [0, 1, 1]], dtype=bool)
    with pytest.raises(SettingError, match=r"rate is 0\.7: 2 rows have no view but 0, .*only 1 val"):
        per_view(4, 3, 0.7, observed=before)


@law
@given(st.integers(1, 200), st.integers(2, 6), percents, seeds)
def test_windows_follow_one_order_and_spare_row_zero(n_rows, n_views, percent, seed):
    if percent * n_views > 100 * (n_views - 1):
        with pytest.raises(SettingError, match="Lower the rate"):
            windows(n_rows, n_views, percent / 100, seed)
        return
    after = windows(n_rows, n_views, percent / 100, seed)
    n_removed = removed(np.ones((n_rows, n_views), dtype=bool), after)
    assert after[0].all()
    block = -(-percent * n_rows // 100)
    if n_views * block <= (n_views - 1) * (n_rows - 1):
        assert (n_removed == block).all()
        losses = (~after[1:]).sum(axis=1)
        assert losses.max(initial=0) - losses.min(initial=n_views) <= 1
    else:
        assert (n_removed <= block).all()
        given_back = n_views * min(block, n_rows - 1) - n_removed.sum()
        assert given_back < 2 * n_views


def test_windows_of_two_views_do_not_overlap_below_half():
    after = windows(1001, 2, 0.4, random_state=3)
    assert (~after).sum(axis=0).tolist() == [401, 401]
    assert not (~after).all(axis=1).any()


@law
@given(masks(), percents, seeds)
def test_windows_on_incomplete_data_never_remove_more_than_the_block(before, percent, seed):
    n_rows, n_views = before.shape
    rate = percent / 100 * (n_views - 1) / n_views
    after = windows(n_rows, n_views, rate, seed, observed=before)
    assert (removed(before, after) <= np.ceil(rate * n_rows)).all()
    np.testing.assert_array_equal(after[0], before[0])


@law
@given(masks(), percents, seeds)
def test_exactly_a_share_of_the_rows_becomes_partial(before, percent, seed):
    after = partial_rows(*before.shape, percent / 100, seed, observed=before)
    removed(before, after)
    changed = (before != after).any(axis=1)
    eligible = before.sum(axis=1) >= 2
    assert not (changed & ~eligible).any()
    assert changed.sum() == percent * eligible.sum() // 100


@law
@given(st.integers(1, 50), st.integers(2, 5), percents, percents, seeds)
def test_a_higher_share_only_removes_more(n_rows, n_views, one, other, seed):
    low, high = sorted((one, other))
    less = partial_rows(n_rows, n_views, low / 100, seed)
    more = partial_rows(n_rows, n_views, high / 100, seed)
    assert not (more & ~less).any()


def test_every_proper_subset_is_equally_likely():
    after = partial_rows(60_000, 3, 1.0, random_state=0)
    _, counts = np.unique(after, axis=0, return_counts=True)
    assert len(counts) == 6
    assert counts.min() > 9_500
    assert counts.max() < 10_500


@pytest.mark.parametrize("generate", GENERATORS)
@law
@given(seed=seeds)
def test_the_same_seed_gives_the_same_mask(generate, seed):
    first = generate(30, 3, 0.5, seed)
    np.testing.assert_array_equal(first, generate(30, 3, 0.5, random_state=np.uint32(seed)))
    from_generator = generate(30, 3, 0.5, np.random.default_rng(seed))
    np.testing.assert_array_equal(first, from_generator)


@pytest.mark.parametrize("generate", GENERATORS)
def test_seeds_differ_and_other_random_states_work(generate):
    assert (generate(100, 3, 0.5, 0) != generate(100, 3, 0.5, 1)).any()
    assert (generate(100, 3, 0.5) != generate(100, 3, 0.5)).any()
    twins = [generate(100, 3, 0.5, np.random.RandomState(4)) for _ in range(2)]
    np.testing.assert_array_equal(*twins)


@pytest.mark.parametrize("generate", GENERATORS)
@law
@given(before=masks(), seed=seeds)
def test_removing_nothing_gives_the_starting_mask_as_a_copy(generate, before, seed):
    before.setflags(write=False)
    after = generate(*before.shape, 0, seed, observed=before)
    np.testing.assert_array_equal(after, before)
    assert not np.shares_memory(after, before)


@pytest.mark.parametrize("generate", GENERATORS)
@pytest.mark.parametrize("rate", [-0.1, 1.1, np.nan, "0.3", None, True])
def test_a_share_outside_zero_to_one_is_refused(generate, rate):
    with pytest.raises(SettingError, match=r"rate is .*from 0 to 1"):
        generate(10, 3, rate)


@pytest.mark.parametrize("generate", GENERATORS)
@pytest.mark.parametrize(
    ("shape", "message"),
    [((0, 2), "n_rows is 0"), ((3.0, 2), r"n_rows is 3\.0"), ((5, 0), "n_views is 0")],
)
def test_a_shape_that_makes_no_sense_is_refused(generate, shape, message):
    with pytest.raises(SettingError, match=message):
        generate(*shape, 0.1)


@pytest.mark.parametrize("generate", GENERATORS)
@pytest.mark.parametrize("observed", [np.ones((3, 2), bool), np.ones((2, 2)), [True, True]])
def test_a_starting_mask_of_another_shape_or_type_is_refused(generate, observed):
    with pytest.raises(DataError, match=r"observed is of type .*shape \(2, 2\)"):
        generate(2, 2, 0.1, observed=observed)


def test_one_view_cannot_be_removed():
    with pytest.raises(SettingError, match="n_views is 1"):
        partial_rows(10, 1, 0.5)


def test_a_share_means_the_decimal_number_written():
    assert 0.29 * 100 < 29
    assert (~per_view(100, 2, 0.29, 0)).sum(axis=0).tolist() == [29, 29]
    assert 0.07 * 100 > 7
    assert (~windows(100, 2, 0.07, 0)).sum(axis=0).tolist() == [7, 7]
