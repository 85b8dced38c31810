"""Conversion of `random_state` parameters to NumPy generators."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from viewpass.errors import SettingError

Seed: TypeAlias = int | np.integer[Any] | np.random.RandomState | np.random.Generator | None


def as_generator(random_state: Seed = None) -> np.random.Generator:
    """Convert a seed to a generator.

    Parameters
    ----------
    random_state : None, int, numpy.random.RandomState or numpy.random.Generator
        None takes fresh entropy from the system. A non-negative int gives the same generator each
        time. A RandomState is advanced by four draws, so that using it twice gives two different
        generators. A Generator is returned itself, and drawing from it advances it.

    Returns
    -------
    numpy.random.Generator

    Raises
    ------
    SettingError
        If `random_state` is anything else.

    Examples
    --------
    >>> from viewpass.views.seeds import as_generator
    >>> bool(as_generator(7).random() == as_generator(7).random())
    True
    """
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    if isinstance(random_state, np.random.RandomState):
        words = random_state.randint(0, 2**32, size=4, dtype=np.uint32)
        return np.random.default_rng(words)
    return np.random.default_rng(_checked_int(random_state))


def own_generator(number: int = 0) -> np.random.Generator:
    """A generator for draws that no user's seed decides.

    Not that of seed 0, which users take for draws of their own: the rows that they drew, to lack a view or
    to be in a test set, would be drawn again here.
    """
    return np.random.default_rng((0x76696577, number))


def _checked_int(seed: object) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise SettingError(
            f"random_state is of type {type(seed).__name__}. "
            "Pass None, an int, a numpy.random.RandomState or a numpy.random.Generator."
        )
    if seed < 0:
        raise SettingError(f"random_state is {seed}. Pass an int that is 0 or more.")
    return int(seed)
