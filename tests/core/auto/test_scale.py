"""The choice of a scale: the one under which views agree better, unit length without a clear gain."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from cases import workspace
from viewpass.core.auto.scale import agreed_scaling
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows


def chosen(views, names=None, n_clusters=4, observed=None):
    rows = MeasuredRows(Chunk.of(views, observed=observed)).measure()
    return agreed_scaling(rows, names or ["auto"] * len(views), n_clusters, workspace()).names


def clusters(rng, n_rows=800, n_views=2, spread=None):
    """The same clusters in each view; columns in units of their own if `spread`."""
    group = rng.integers(4, size=n_rows)
    views = []
    for _ in range(n_views):
        x = 4 * rng.standard_normal((4, 12))[group] + rng.standard_normal((n_rows, 12))
        views.append(x if spread is None else x * spread + 20 * spread)
    return views


def test_columns_of_mixed_units_are_standardised():
    rng = np.random.default_rng(0)
    views = clusters(rng, spread=np.geomspace(1e-3, 1e3, 12))
    assert chosen(views) == ("standard", "standard")
    assert chosen(views, observed=rng.random((800, 2)) > 0.4) == ("standard", "standard")
    assert chosen(views, ["unit", "unit"]) == ("unit", "unit")
    assert chosen(views, ["auto", "unit"])[1] == "unit"  # a given scale is kept


def test_views_that_agree_stay_as_they_are():
    assert chosen(clusters(np.random.default_rng(1))) == ("unit", "unit")


def test_noise_decides_nothing_but_the_same_every_time():
    views = [np.random.default_rng(2).standard_normal((300, 5)) for _ in range(3)]
    assert chosen(views) == chosen(views)
    assert set(chosen(views)) in ({"unit"}, {"standard"})  # all together


def test_a_single_view_is_standardised_where_its_columns_differ_tenfold():
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((500, 20))
    assert chosen([rows]) == ("unit",)
    assert chosen([rows * np.geomspace(1, 5, 20)]) == ("unit",)
    assert chosen([rows * np.geomspace(1, 1000, 20)]) == ("standard",)
    assert chosen([sp.csr_array(rows * (rng.random(rows.shape) < 0.1))]) == ("unit",)


@pytest.mark.parametrize("n_rows", [1, 2, 15])
def test_few_rows_are_accepted(n_rows):
    rng = np.random.default_rng(4)
    assert len(chosen([rng.standard_normal((n_rows, 3)) for _ in range(2)])) == 2


def test_rows_that_share_no_view_cannot_be_compared():
    rng = np.random.default_rng(5)
    observed = np.zeros((400, 2), dtype=bool)
    observed[:200, 0] = observed[200:, 1] = True
    assert chosen(clusters(rng, 400), observed=observed) == ("unit", "unit")
