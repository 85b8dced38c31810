"""Seeds of every accepted kind give reproducible generators."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewpass.errors import SettingError
from viewpass.views.seeds import as_generator

law = settings(max_examples=30, deadline=None)


def draws(random_state):
    return as_generator(random_state).integers(2**62, size=4).tolist()


@law
@given(st.integers(min_value=0, max_value=2**130))
def test_an_int_always_gives_the_same_draws(seed):
    assert draws(seed) == draws(seed)
    assert draws(seed) == np.random.default_rng(seed).integers(2**62, size=4).tolist()


@law
@given(st.integers(min_value=0, max_value=2**31 - 1))
def test_numpy_integers_seed_like_python_integers(seed):
    for kind in (np.int32, np.uint32, np.int64, np.uint64):
        assert draws(kind(seed)) == draws(seed)


def test_none_is_fresh_each_time():
    assert draws(None) != draws(None)


def test_a_generator_is_returned_as_it_is():
    rng = np.random.default_rng(3)
    assert as_generator(rng) is rng


def test_a_random_state_is_repeatable_and_moves_on():
    assert draws(np.random.RandomState(5)) == draws(np.random.RandomState(5))
    assert draws(np.random.RandomState(5)) != draws(np.random.RandomState(6))
    shared = np.random.RandomState(5)
    assert draws(shared) != draws(shared)


def test_a_random_state_gives_exactly_four_words():
    used, twin = np.random.RandomState(5), np.random.RandomState(5)
    as_generator(used)
    twin.randint(0, 2**32, size=4, dtype=np.uint32)
    assert used.randint(2**31) == twin.randint(2**31)


def test_the_global_state_is_left_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    draws(None)
    draws(1)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize("wrong", ["7", 7.0, True, np.True_, [1, 2], np.random, np.array(3)])
def test_anything_else_is_refused_with_what_is_accepted(wrong):
    with pytest.raises(SettingError, match=r"None, an int, .*RandomState .*Generator"):
        as_generator(wrong)


def test_a_negative_seed_is_refused():
    with pytest.raises(SettingError, match=r"-1.*0 or more"):
        as_generator(-1)
