"""The choice between centres and anchor graph: the graph for arcs, centres for clouds and noise."""

from __future__ import annotations

import numpy as np
import pytest

from viewpass.core.auto.shape import views_prefer_graph
from viewpass.core.step.workspace import Workspace
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows

N_ROWS = 1500


def measured(views, observed=None):
    names = [f"view{v}" for v in range(len(views))]
    return MeasuredRows(Chunk.of(views, names=names, observed=observed)).measure()


def arcs(rng, group):
    """Arcs of a circle with gaps between them: where on its arc a row lies, a view says for itself."""
    starts, lengths = np.array([0.0, 4.2, 5.4]), np.array([4.0, 1.0, 0.7])
    angle = starts[group] + lengths[group] * rng.random(len(group))
    return np.column_stack([f(k * angle) for k in (1, 2) for f in (np.cos, np.sin)])


def clouds(rng, group):
    return 8 * np.eye(3, 6)[group] + rng.standard_normal((len(group), 6))


def noise(rng, group):
    return rng.standard_normal((len(group), 6))


@pytest.mark.parametrize(("make", "expected"), [(arcs, True), (clouds, False), (noise, False)])
def test_the_graph_is_preferred_where_views_agree_better_on_it(make, expected):
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=N_ROWS)
    observed = rng.random((N_ROWS, 2)) < 0.8
    rows = measured([make(rng, group) for _ in range(2)], observed)
    assert views_prefer_graph(rows, 3, Workspace(1)) is expected


def test_the_choice_does_not_depend_on_threads_and_counts_its_distance_passes():
    rng = np.random.default_rng(1)
    group = rng.integers(3, size=N_ROWS)
    rows = measured([arcs(rng, group) for _ in range(3)])
    one, two = Workspace(1), Workspace(2)
    assert views_prefer_graph(rows, 3, one) == views_prefer_graph(rows, 3, two)
    assert one.n_compared == two.n_compared > 0


def test_there_is_no_preference_where_no_two_views_can_be_compared():
    rng = np.random.default_rng(2)
    group = rng.integers(3, size=N_ROWS)
    x = clouds(rng, group)
    assert views_prefer_graph(measured([x]), 3, Workspace(1)) is None
    never_both = np.zeros((N_ROWS, 2), dtype=bool)
    never_both[::2, 0] = never_both[1::2, 1] = True
    assert views_prefer_graph(measured([x, x], never_both), 3, Workspace(1)) is None
    few = measured([x[:20], x[:20]])
    assert views_prefer_graph(few, 3, Workspace(1)) is None
