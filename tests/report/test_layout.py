"""The map: the same for the same model, and neighbours stay neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.manifold import trustworthiness

import viewpass as vp
from viewpass.estimators.report_methods import places_of_model
from viewpass.model.model import distances, prepare
from viewpass.report.layout import LANDMARKS, centre_places, nearness, places_of, row_places
from viewpass.sums.centres import Centres
from viewpass.sums.rules import Workspace
from viewpass.views.chunk import Chunk


@pytest.mark.parametrize("number", [1, 2, 3, 4, 7, 40])
def test_places_are_in_the_unit_square_and_the_same_again(number):
    rng = np.random.default_rng(number)
    centres = Centres.of([rng.normal(size=(number, 5)), rng.normal(size=(number, 3))])
    places = centre_places(centres, np.ones(number, dtype=int))
    assert places.shape == (number, 2)
    assert places.min() >= -1e-9
    assert places.max() <= 1 + 1e-9
    np.testing.assert_array_equal(places, centre_places(centres, np.ones(number, dtype=int)))


def test_the_same_centre_many_times():
    places = centre_places(Centres.of([np.ones((12, 4))]), np.ones(12, dtype=int))
    assert np.isfinite(places).all()


def test_centres_beyond_the_landmarks_lie_between_them(monkeypatch):
    monkeypatch.setattr("viewpass.report.layout.LANDMARKS", 30)
    assert LANDMARKS > 30
    rng = np.random.default_rng(0)
    groups = np.repeat(np.eye(5) * 4, 20, axis=0) + 0.1 * rng.normal(size=(100, 5))
    places = centre_places(Centres.of([groups]), rng.permutation(100))
    assert trustworthiness(groups, places, n_neighbors=5) > 0.9


def test_weights_add_up_and_fall_with_the_distance():
    found = np.random.default_rng(0).random((50, 20)) + 0.1
    near, weights = nearness(found)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    assert (np.diff(weights, axis=1) <= 1e-12).all()
    nearest = np.take_along_axis(found, near, axis=1)
    np.testing.assert_array_equal(nearest, np.sort(found, axis=1)[:, : near.shape[1]])
    perplexity = np.exp(-(weights * np.log(weights)).sum(axis=1))
    np.testing.assert_allclose(perplexity, 3.0, atol=0.01)


def test_a_row_at_a_centre_is_at_its_place():
    places = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    near, weights = np.array([[1, 0, 2]]), np.array([[1.0, 0.0, 0.0]])
    np.testing.assert_allclose(row_places(near, weights, places), [[1.0, 0.0]], atol=0.01)
    np.testing.assert_allclose(places_of([[1], []], [[1.0], []], places)[0], [1.0, 0.0], atol=0.01)


def on_the_map(model, views, observed):
    """Places of rows, and their distances over the views that both of a pair have."""
    learnt, work = model._fitted_model(), Workspace(1)
    rows = prepare(Chunk.of(views, names=model.view_names_in_, observed=observed), learnt, work).measure(1)
    near, weights = nearness(distances(rows, learnt.centres, work))
    total, shared = np.zeros((rows.n_rows, rows.n_rows)), np.zeros((rows.n_rows, rows.n_rows))
    for v in range(rows.n_views):
        own = rows.present(v).astype(float)
        unit = np.nan_to_num(rows.unit(v)) * own[:, None]
        squares = (unit * unit).sum(axis=1)
        both = np.outer(own, own)
        total += both * np.maximum(squares[:, None] + squares[None, :] - 2 * unit @ unit.T, 0)
        shared += both
    apart = np.divide(total, shared, out=np.full_like(total, 1.5 * total.max()), where=shared > 0)
    np.fill_diagonal(apart, 0.0)
    return row_places(near, weights, places_of_model(learnt).centres), apart


@pytest.mark.data
@pytest.mark.long
@pytest.mark.parametrize("consensus", ["auto", "plain"])
def test_digit_keeps_its_neighbourhoods(data_folder, consensus):
    with np.load(data_folder / "mfeat.npz", allow_pickle=False) as file:
        views = {name: file[f"view_{name}"].astype(float) for name in ("fou", "fac", "kar", "pix", "zer")}
    order = np.random.default_rng(0).permutation(2000)
    views = {name: view[order] for name, view in views.items()}
    model = vp.ViewPass(10, consensus=consensus, random_state=0).fit(views)
    places, apart = on_the_map(model, list(views.values()), np.ones((2000, 5), dtype=bool))
    assert trustworthiness(apart, places, n_neighbors=15, metric="precomputed") >= 0.85


@pytest.mark.data
@pytest.mark.long
def test_tate_keeps_its_neighbourhoods(data_folder):
    import pyarrow.parquet as pq

    path = data_folder / "tate.parquet"
    model = vp.ViewPass(30, random_state=0).fit(vp.scan(str(path), id="acno"))
    table = pq.read_table(path, columns=list(model.view_names_in_))
    table = table.take(np.random.default_rng(0).choice(len(table), 2000, replace=False))
    views, observed = [], []
    for name in table.column_names:
        lists = table[name].to_pylist()
        width = len(next(values for values in lists if values is not None))
        observed.append([values is not None for values in lists])
        views.append(np.array([values or [0.0] * width for values in lists]))
    seen = np.array(observed).T
    some = seen.any(axis=1)
    places, apart = on_the_map(model, [view[some] for view in views], seen[some])
    assert trustworthiness(apart, places, n_neighbors=15, metric="precomputed") >= 0.8
