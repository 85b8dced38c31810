"""The criterion: what labels tell about hidden views, by counting; fits that explain noise gain nothing."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from cases import workspace
from viewpass.solve.plan import Plan
from viewpass.solve.question import hidden_views
from viewpass.solve.question.comparison import Difference, difference
from viewpass.solve.question.hidden_views import MIN_TESTED, Asked, Question, Score
from viewpass.sums.rules import Rules
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows


def asked(views, n_clusters=4, observed=None):
    rows = MeasuredRows(Chunk.of(views, observed=observed)).measure()
    plan = Plan(n_clusters, Rules(0.1, 20, 1e-6, "mean"), auto_alpha=True)
    return Question(rows, plan, workspace())


def clusters(n_rows=600, n_views=3, size=4.0, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(4, size=n_rows)
    views = [size * np.eye(4, 9)[group] + rng.standard_normal((n_rows, 9)) for _ in range(n_views)]
    return views, group


def information(labels, places):
    return Asked.of(labels >= 0, places).information(labels)


def _information(labels, places):
    """One test alone."""
    return information(labels, places[:, None])[:, 0]


def test_tests_are_counted_apart():
    rng = np.random.default_rng(0)
    labels, places = rng.integers(-1, 5, size=300), rng.integers(-1, 7, size=(300, 3))
    places[:295, 2] = -1  # too few rows
    together = information(labels, places)
    for test in range(3):
        np.testing.assert_array_equal(together[:, test], _information(labels, places[:, test]))


def test_labels_equal_to_what_was_hidden_tell_all_of_it():
    places = np.repeat(np.arange(4), 250).astype(np.int32)
    found = _information(places, places)
    assert found.mean() == pytest.approx(np.log(4), abs=0.02)
    assert _information(np.zeros(1000, dtype=np.int32), places).mean() == pytest.approx(0, abs=0.01)


def test_random_labels_tell_nothing_however_many_there_are():
    rng = np.random.default_rng(0)
    places = rng.integers(20, size=1000).astype(np.int32)
    for n_labels in (2, 10, 100):
        labels = rng.integers(n_labels, size=1000).astype(np.int32)
        assert _information(labels, places).mean() < 0.02


def test_rows_without_a_label_or_place_are_not_tested():
    labels, places = np.zeros(40, dtype=np.int32), np.arange(40, dtype=np.int32) % 3
    labels[:5], places[5:9] = -1, -1
    assert np.flatnonzero(np.isnan(_information(labels, places))).tolist() == list(range(9))
    assert np.isnan(_information(labels[: MIN_TESTED - 1], places[: MIN_TESTED - 1])).all()


def test_the_names_of_labels_and_places_do_not_matter():
    rng = np.random.default_rng(1)
    labels, places = rng.integers(5, size=300), rng.integers(7, size=300)
    renamed = _information(9 - labels, places * 3 + 1)
    np.testing.assert_array_equal(_information(labels, places), renamed)


def test_no_row_is_both_fitted_and_tested():
    views, _ = clusters()
    question = asked(views)
    for number in range(8):
        fold = question.fold(number)
        assert not set(fold._fitted) & set(fold._tested)
        assert set(fold._fitted) | set(fold._tested) == set(range(600))
    for turn in (0, 4):  # every row is tested once in turn
        tested = np.concatenate([question.fold(number)._tested for number in range(turn, turn + 4)])
        assert sorted(tested) == list(range(600))
    assert not np.array_equal(question.fold(0)._tested, question.fold(4)._tested)


def test_every_view_is_hidden_once_and_in_few_groups():
    views, _ = clusters(n_views=11)
    question = asked(views)
    assert sorted(v for group in question.groups for v in group) == list(range(11))
    assert len(question.groups) == hidden_views.MAX_GROUPS


@pytest.mark.parametrize("sparse", [False, True])
def test_columns_are_hidden_where_rows_have_one_view(sparse):
    views, _ = clusters(n_views=1)
    question = asked([sp.csr_array(views[0])] if sparse else views)
    assert question.by_columns
    assert question.groups == [[0], [1]]
    widths = [view.shape[1] for view in question.chunk.views]
    assert widths == [5, 4]
    assert question.names(["standard"]) == ("standard", "standard")
    observed = np.zeros((600, 2), dtype=bool)
    observed[:300, 0] = observed[300:, 1] = True
    apart = asked(clusters(n_views=2)[0], observed=observed)
    assert apart.by_columns
    assert apart.groups == [[0, 2], [1, 3]]


def test_what_cannot_be_asked_is_known_beforehand():
    views, _ = clusters()
    assert asked(views).can_be_asked
    assert not asked([x[:30] for x in views]).can_be_asked  # too few rows
    assert not asked([views[0][:, :1]]).can_be_asked  # one column
    assert not asked(views, n_clusters=1).can_be_asked


def test_the_error_of_equal_candidates_is_nothing():
    score = Score(np.arange(20.0), np.ones(20, dtype=np.int64))
    found = difference([(score, score)] * 3)
    assert (found.gain, found.error) == (0.0, 0.0)
    assert not found.better
    assert found.score == found.other == score.mean


def test_the_error_falls_with_rows_and_folds():
    rng = np.random.default_rng(0)

    def pair(n_rows):
        ones = np.ones(n_rows, dtype=np.int64)
        return Score(rng.normal(1.1, 1, n_rows), ones), Score(rng.normal(1.0, 1, n_rows), ones)

    few, many = difference([pair(100)]), difference([pair(10_000)])
    assert many.error < few.error / 5
    assert many.better
    assert difference([pair(100) for _ in range(8)]).error < few.error


def test_where_labels_tell_little_a_difference_must_be_clear():
    assert Difference(0.2, 0.1, 0.3, 0.1).better
    assert not Difference(0.2, 0.1, -0.1, -0.3).better
    assert Difference(0.5, 0.1, -0.1, -0.6).better
    assert not Difference(0.05, 0.1, 0.3, 0.25).better
