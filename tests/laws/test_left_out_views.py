"""A view of weight 0, and one that no row has, are the same as leaving the view out, to the bit."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import viewpass as vp

N_ROWS = 400


@pytest.fixture(scope="module")
def views() -> list[np.ndarray]:
    """Three views of five clusters; the middle one is wide noise, and some rows have nothing else."""
    rng = np.random.default_rng(0)
    classes = rng.integers(5, size=N_ROWS)
    widths, noises = (8, 200, 6), (1.0, 50.0, 1.5)
    found = [
        rng.standard_normal((5, width))[classes] + noise * rng.standard_normal((N_ROWS, width))
        for width, noise in zip(widths, noises, strict=True)
    ]
    gone = rng.random(N_ROWS)
    found[0][gone < 0.3] = np.nan
    found[2][(gone > 0.2) & (gone < 0.5)] = np.nan
    return found


@pytest.mark.parametrize("how", ["weight 0", "None"])
@pytest.mark.parametrize(
    "settings",
    [{}, {"consensus": "neighbours"}, {"consensus": "graph"}, {"sample_size": 150}, {"n_clusters": "auto"}],
)
@pytest.mark.filterwarnings("ignore:n_clusters='auto'")
def test_a_view_without_weight_is_left_out(
    views: list[np.ndarray], settings: dict[str, Any], how: str
) -> None:
    settings = {"n_clusters": 5, "random_state": 0, **settings}
    less = {"a": views[0], "c": views[2]}
    middle = {"weight 0": views[1], "None": None}[how]
    more = {"a": views[0], "b": middle, "c": views[2]}
    weights = {"view_weights": {"b": 0}} if how == "weight 0" else {}
    one, two = vp.ViewPass(**settings).fit(less), vp.ViewPass(**settings, **weights).fit(more)
    assert [(c.what, c.chosen, c.scores, c.reason) for c in one.choices_] == [
        (c.what, c.chosen, c.scores, c.reason) for c in two.choices_
    ]
    np.testing.assert_array_equal(one.labels_, two.labels_)
    for v, w in ((0, 0), (1, 2)):
        np.testing.assert_array_equal(one.cluster_centers_[v], two.cluster_centers_[w])
        np.testing.assert_array_equal(one.counts_[v], two.counts_[w])
    for name in ("transform", "predict_proba", "outlier_score"):
        np.testing.assert_array_equal(getattr(one, name)(less), getattr(two, name)(more), name)
    np.testing.assert_array_equal(one.explain(less).views, two.explain(more).views[:, [0, 2]])
    assert one._learnt.sample.n_rows == two._learnt.sample.n_rows


def test_a_summary_has_no_view_without_weight(views: list[np.ndarray]) -> None:
    given = dict(zip("abc", views, strict=True))
    model = vp.ViewPass(5, random_state=0, view_weights={"a": 1, "b": 0, "c": 1}).fit(given)
    found = model.summary(given)
    assert list(found["views"]) == ["a", "c"]
    assert "'b'" not in json.dumps(found["patterns"])
    assert "b 0 %" not in repr(model)
    assert "missing 100" not in repr(model)
