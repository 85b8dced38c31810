"""Model files of the baselines: the same predictions, without the rows of the fit."""

from __future__ import annotations

import numpy as np
import pytest

import viewpass as vp
from inputs import IMAGE, TEXT
from store.models import FACTORS, FRAME


@pytest.fixture(params=FACTORS)
def model(request):
    return FACTORS[request.param]()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.viewpass"


def shown(model):
    names = (
        "components_",
        "cluster_centers_",
        "objective_",
        "objective_curve_",
        "n_iter_",
        "n_rows_without_views_",
    )
    return [getattr(model, name) for name in (*names, "view_names_in_", "n_features_in_")]


def rows(model):
    if model.view_names_in_ == ("a",):
        return vp.frames({"a": FRAME.iloc[:, :4]})
    return [IMAGE, TEXT]


def test_load_restores_the_model(model, path, tmp_path):
    model.save(path)
    again = vp.load(path)
    assert type(again) is type(model)
    np.testing.assert_equal(shown(again), shown(model))
    np.testing.assert_array_equal(again.transform(rows(model)), model.transform(rows(model)))
    np.testing.assert_array_equal(again.predict(rows(model)), model.predict(rows(model)))
    again.save(tmp_path / "again")
    assert path.read_bytes() == (tmp_path / "again").read_bytes()


@pytest.mark.filterwarnings("ignore:view")
def test_a_file_does_not_hold_the_rows_of_the_fit(model, path):
    model.save(path)
    again = vp.load(path)
    with pytest.raises(AttributeError, match="does not hold the rows"):
        again.labels_  # noqa: B018
    with pytest.raises(AttributeError, match="does not hold the rows"):
        again.consensus_  # noqa: B018
    if hasattr(again, "partial_fit"):
        with pytest.raises(vp.SettingError, match="cannot learn more rows"):
            again.partial_fit(rows(model))


@pytest.mark.filterwarnings("ignore:view")
def test_what_cannot_be_saved_is_refused_without_a_file(path):
    for name in ("ONMF", "MIC"):
        model = FACTORS[name]()
        changed = model.set_params(**({"n_components": 7} if name == "ONMF" else {"n_clusters": 7}))
        with pytest.raises(vp.FileError, match="was changed after the fit"):
            changed.save(path)
    assert list(path.parent.iterdir()) == []
