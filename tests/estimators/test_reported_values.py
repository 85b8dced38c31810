"""Values that say the same agree: objectives of starts, the score, frames as output."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import viewpass as vp
from inputs import IMAGE, TEXT

HARD = {"unconverged": {"max_iter": 1}, "loose": {"tol": 0.1}}


@pytest.mark.filterwarnings("ignore:only .* clusters have rows")
@pytest.mark.parametrize("settings", HARD.values(), ids=HARD)
@pytest.mark.parametrize("n_clusters", [4, 25])
def test_the_objective_is_that_of_the_best_start_and_minus_the_score(settings, n_clusters):
    rng = np.random.default_rng(1)
    views, observed = [rng.standard_normal((60, 4)), rng.standard_normal((60, 3))], rng.random((60, 2)) < 0.6
    observed[:, 0] |= ~observed.any(axis=1)
    model = vp.IMC(n_clusters, random_state=0, **settings).fit(views, observed=observed)
    assert model.objective_ == model.objectives_.min()
    assert model.objective_ == pytest.approx(-model.score(views, observed=observed))


@pytest.mark.parametrize("kind", [vp.ViewPass, vp.IMC])
def test_frames_keep_their_index_and_nothing_else_changes(kind):
    index = [f"item{i}" for i in range(len(IMAGE))]
    image, text = (pd.DataFrame(np.abs(x), index=index) for x in (IMAGE, TEXT))
    plain = kind(n_clusters=3, random_state=0).fit([image, text])
    framed = kind(n_clusters=3, random_state=0).set_output(transform="pandas").fit([image, text])
    named = {"view0": image, "view1": text}
    for X in ([image, text], named, vp.frames(named)):
        found = framed.transform(X)
        assert found.index.tolist() == index
        np.testing.assert_array_equal(found, plain.transform(X))
        np.testing.assert_array_equal(framed.predict(X), plain.predict(X))
        assert framed.score(X) == plain.score(X)
    assert framed.fit_transform([image, text]).index.tolist() == index
    assert framed.transform([np.abs(IMAGE), np.abs(TEXT)]).index.tolist() == list(range(len(IMAGE)))
