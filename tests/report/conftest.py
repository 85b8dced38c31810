"""A small model of two views with gaps, its rows and its summary."""

from __future__ import annotations

import pytest

import viewpass as vp
from clusters import made_rows
from viewpass.estimators.report_methods import places_of_model

VIEWS = dict(zip(("image", "text"), made_rows(600, seed=4), strict=True))


@pytest.fixture(scope="session")
def views():
    return VIEWS


@pytest.fixture(scope="session")
def model():
    return vp.ViewPass(4, scale="unit", n_anchors=24, consensus="graph", random_state=0).fit(VIEWS)


@pytest.fixture(scope="session")
def found(model):
    return model.summary(VIEWS)


@pytest.fixture(scope="session")
def places(model):
    return places_of_model(model._fitted_model())
