"""The race of candidates: who is scored how often."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from viewpass.solve.question.comparison import race
from viewpass.solve.question.hidden_views import TEST_SHARE, Score

ROWS = 400


def n_folds_of(*means):
    """In how many folds candidates with these mean scores take part, the simplest first."""
    asked = []

    def scorer(number, mean):
        def score(fold):
            asked.append((number, fold))
            rng = np.random.default_rng(fold)  # the rows are the same for all candidates
            return Score(mean + rng.normal(0, 1, ROWS), np.ones(ROWS, dtype=np.int64))

        return score

    question = SimpleNamespace(folds=range)
    found = race(question, [scorer(*each) for each in enumerate(means)])
    assert len(asked) == len(set(asked))  # nobody is asked twice
    assert asked == sorted(asked, key=lambda each: each[1])  # fold after fold
    return [len(each) for each in found]


def test_candidates_that_are_alike_take_part_in_all_folds():
    assert n_folds_of(1.0, 1.0, 1.0) == [TEST_SHARE] * 3


def test_a_candidate_far_behind_takes_part_once():
    assert n_folds_of(1.0, 0.2, 1.0) == [TEST_SHARE, 1, TEST_SHARE]
    assert n_folds_of(0.2, 1.0, 1.0) == [1, TEST_SHARE, TEST_SHARE]


def test_the_race_ends_with_one_left():
    assert n_folds_of(0.2, 1.0, 0.1) == [1, 1, 1]
    assert n_folds_of(1.0) == [1]
