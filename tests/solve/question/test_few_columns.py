"""Rows in few columns: distances are kept where rows have few directions, lengths are never longer."""

from __future__ import annotations

import numpy as np

from viewpass.solve.few_columns import WORTH_MAPPING, in_few_columns
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows
from viewpass.views.scaling import Scaling

MOST = 8


def measured(views, observed=None, scales=None):
    rows = MeasuredRows(Chunk.of(views, observed=observed)).measure()
    if scales is None:
        return rows
    return MeasuredRows(Scaling.learn(rows, scales).apply(rows.chunk)).measure()


def few_directions(n_rows, n_columns, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_rows, MOST - 1)) @ rng.standard_normal((MOST - 1, n_columns))


def test_distances_of_rows_with_few_directions_stay():
    views = [few_directions(300, 50), few_directions(300, 40, seed=3)]
    for scales in (None, ["euclidean", "euclidean"], ["euclidean", "unit"]):
        wide = measured(views, scales=scales)
        narrow = MeasuredRows(in_few_columns(wide, MOST, 1)).measure()
        assert narrow.widths == [MOST - 1, MOST - 1]
        for v in range(2):
            pair = wide.unit(v), narrow.unit(v)
            apart = [np.linalg.norm(each[:, None] - each[None], axis=2) for each in pair]
            np.testing.assert_allclose(*apart, atol=1e-6)


def test_rows_are_never_longer_and_missing_views_stay_missing():
    rng = np.random.default_rng(1)
    observed = rng.random((200, 2)) < 0.7
    wide = measured(
        [rng.standard_normal((200, 60)), rng.standard_normal((200, WORTH_MAPPING * MOST - 1))], observed
    )
    narrow = MeasuredRows(in_few_columns(wide, MOST, 1)).measure()
    assert narrow.widths == [MOST, WORTH_MAPPING * MOST - 1]  # the other is not wide enough
    np.testing.assert_array_equal(narrow.inverse > 0, wide.inverse > 0)
    assert (np.linalg.norm(narrow.unit(0), axis=1) <= 1 + 1e-9).all()
    np.testing.assert_array_equal(narrow.unit(1), wide.unit(1))
