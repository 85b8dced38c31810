"""The start: what it may look at, and that nothing of the data stays behind."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import viewpass as vp
from viewpass.core.assign import Workspace
from viewpass.core.start import CANDIDATES, compete
from viewpass.core.step import Rules
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows


def made(n_rows, rng):
    centres = rng.standard_normal((10, 40))
    rows = centres[rng.integers(10, size=n_rows)] + 3 * rng.standard_normal((n_rows, 40))
    return [rows[:, :25].copy(), rows[:, 25:].copy()], rng.random((n_rows, 2)) < 0.7


@pytest.mark.parametrize("kind", CANDIDATES)
def test_a_start_looks_at_no_more_than_thirty_thousand_rows(kind):
    rng = np.random.default_rng(0)
    views, observed = made(4000, rng)
    workspace = Workspace(2)
    rows = MeasuredRows(Chunk.of(views, observed=observed))
    compete(rows, 10, kind, Rules(0.1, 20, 1e-6, "mean"), workspace, rng, whole=False)
    assert workspace.n_looks <= 30_000


@pytest.mark.parametrize("estimator", [vp.OPIMC, vp.IMC])
def test_a_fitted_model_does_not_hold_on_to_the_data(estimator):
    views, _ = made(600, np.random.default_rng(1))
    model = estimator(10, random_state=0).fit(views)
    held = weakref.ref(views[0])
    del views
    gc.collect()
    assert held() is None
    assert model.labels_.shape == (600,)


def test_a_stream_does_not_hold_on_to_its_last_chunk():
    views, _ = made(600, np.random.default_rng(1))
    model = vp.OPIMC(10, random_state=0, init="random").partial_fit(views)
    held = weakref.ref(views[0])
    del views
    gc.collect()
    assert held() is None
    assert model.labels_.shape == (600,)
