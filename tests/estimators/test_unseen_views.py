"""A row that has only views the model never saw gets label -1 and NaN distances, whatever the estimator."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import viewpass as vp
from viewpass.errors import DataWarning
from zipped import zipped

N = 90
_rng = np.random.default_rng(5)
GROUP = np.arange(N) % 3
KNOWN = np.eye(3, 6)[GROUP] + 0.2 * _rng.random((N, 6))
UNSEEN = _rng.random((N, 4)) + 0.1
WITH_NEITHER, ONLY_UNSEEN, BOTH = 0, 1, 2  # kinds of new rows; the others have the known view only
NEW = np.arange(N) % 4
NEW_ROWS = [
    np.where(np.isin(NEW, (WITH_NEITHER, ONLY_UNSEEN))[:, None], np.nan, KNOWN),
    np.where(np.isin(NEW, (ONLY_UNSEEN, BOTH))[:, None], UNSEEN, np.nan),
]
UNKNOWN = np.isin(NEW, (WITH_NEITHER, ONLY_UNSEEN))

MODELS = {
    "ViewPass": lambda: vp.ViewPass(3, random_state=0),
    "ViewPass, plain": lambda: vp.ViewPass(3, consensus="plain", random_state=0),
    "ViewPass, graph": lambda: vp.ViewPass(3, n_anchors=12, consensus="graph", random_state=0),
    "OPIMC": lambda: vp.OPIMC(3, random_state=0),
    "ViewPass, weights": lambda: vp.ViewPass(3, view_weights=[1, 2], random_state=0),
    "ViewPass, standard": lambda: vp.ViewPass(3, scale="standard", random_state=0),
    "IMC": lambda: vp.IMC(3, random_state=0),
}
MASK = np.column_stack([np.ones(N, dtype=bool), np.zeros(N, dtype=bool)])
NEVER = {
    "None": (None, None),
    "NaN": (np.full((N, 4), np.nan), None),
    "masked": (UNSEEN, MASK),
    "masked, sparse": (sp.csr_array(UNSEEN), MASK),
}


@pytest.fixture(params=MODELS)
def make(request):
    return MODELS[request.param]


few = pytest.mark.parametrize("make", ["ViewPass", "OPIMC", "IMC"], indirect=True)


def check(model):
    labels, distances = model.predict(NEW_ROWS), model.transform(NEW_ROWS)
    np.testing.assert_array_equal(labels == -1, UNKNOWN)
    np.testing.assert_array_equal(np.isnan(distances).all(axis=1), UNKNOWN)
    np.testing.assert_array_equal(np.isnan(distances).any(axis=1), UNKNOWN)
    # The unseen view changes nothing for rows that have another, nor for the score.
    without = [NEW_ROWS[0], None]
    np.testing.assert_array_equal(labels, model.predict(without))
    np.testing.assert_array_equal(distances, model.transform(without))
    assert model.score(NEW_ROWS) == model.score(without)
    return labels


@pytest.mark.parametrize(("make", "never"), zipped(MODELS, NEVER), indirect=["make"])
def test_after_a_fit_without_the_view(make, never):
    view, observed = NEVER[never]
    check(make().fit([KNOWN, view], observed=observed))


@few
def test_every_way_to_lack_a_view_gives_the_same_model(make):
    expected = make().fit([KNOWN, None])
    for view, observed in NEVER.values():
        model = make().fit([KNOWN, view], observed=observed)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        assert model.objective_ == expected.objective_


@pytest.mark.parametrize("name", ["ViewPass", "ViewPass, plain", "OPIMC"])
def test_after_chunks_without_the_view_until_one_has_it(name):
    model = MODELS[name]()
    for rows in np.split(np.arange(N), 3):
        model.partial_fit([KNOWN[rows], np.full((30, 4), np.nan)])
        check(model)
    model.partial_fit([KNOWN, UNSEEN])
    np.testing.assert_array_equal(model.predict(NEW_ROWS) == -1, NEW == WITH_NEITHER)


@few
def test_after_saving_and_loading(make, tmp_path):
    model = make().fit([KNOWN, NEVER["NaN"][0]])
    model.save(tmp_path / "model.vp")
    np.testing.assert_array_equal(check(vp.load(tmp_path / "model.vp")), check(model))


def test_faulty_rows_of_the_view_are_refused_all_the_same(make):
    model, faulty = make().fit([KNOWN, None]), UNSEEN.copy()
    faulty[7, 1] = np.nan
    for use in (model.predict, model.transform, model.score):
        with pytest.raises(vp.DataError, match="view 'view1', row 7: 1 of 4 values are NaN"):
            use([KNOWN, faulty])


def test_while_no_row_had_any_view():
    nothing = [np.full((4, 6), np.nan), np.full((4, 4), np.nan)]
    model = vp.OPIMC(3, random_state=0).partial_fit(nothing)
    assert (model.predict([KNOWN, UNSEEN]) == -1).all()
    assert np.isnan(model.transform([KNOWN, UNSEEN])).all()
    with pytest.raises(vp.DataError, match="0 samples with at least one view"):
        vp.ViewPass(3, random_state=0).partial_fit(nothing).predict([KNOWN, UNSEEN])


@pytest.mark.parametrize("consensus", ["graph", "plain"])
def test_in_label_files(commands, tmp_path, consensus):
    how = {"consensus": "plain"} if consensus == "plain" else {"n_anchors": 12, "consensus": consensus}
    model = vp.ViewPass(3, random_state=0, **how).fit({"known": KNOWN, "unseen": None})
    model.save(tmp_path / "model.vp")
    lists = {
        name: pa.array([None if np.isnan(row[0]) else row for row in x], type=pa.list_(pa.float64()))
        for name, x in zip(("known", "unseen"), NEW_ROWS, strict=True)
    }
    pq.write_table(pa.table(lists), tmp_path / "rows.parquet")
    out = tmp_path / "labels.parquet"
    ended = commands.run("predict", tmp_path / "model.vp", tmp_path / "rows.parquet", "--out", out)
    assert ended.code == 0, ended.err
    labels = pq.read_table(out)
    np.testing.assert_array_equal(
        labels["cluster"].to_numpy(), model.predict(dict(zip(lists, NEW_ROWS, strict=True)))
    )
    for name in ("distance", "margin"):
        np.testing.assert_array_equal(labels[name].is_null().to_numpy(), UNKNOWN)
    np.testing.assert_array_equal(labels["views_seen"].to_numpy() == 0, UNKNOWN)


def test_predict_without_a_view_of_the_fit_says_what_to_expect(tmp_path):
    rng = np.random.default_rng(0)
    classes = rng.integers(6, size=600)
    clear, vague = (
        rng.standard_normal((6, 8))[classes] + noise * rng.standard_normal((600, 8)) for noise in (0.2, 3.0)
    )
    model = vp.ViewPass(6, random_state=0).fit({"clear": clear, "vague": vague})
    model.save(tmp_path / "model.viewpass")
    for each in (model, vp.load(tmp_path / "model.viewpass")):
        with pytest.warns(DataWarning, match=r"no row has the view 'clear'.* about \d+%") as said:
            labels = each.predict({"vague": vague})
        expected = int(re.search(r"about (\d+)%", str(said[0].message))[1]) / 100
        assert len(said) == 1
        assert abs((labels == model.labels_).mean() - expected) < 0.1
        each.predict({"clear": clear})  # hardly a label is lost: not a word
    model.save(tmp_path / "model.viewpass", rows=False)
    with pytest.warns(DataWarning, match="no row has the view 'clear'.*labels may differ"):
        vp.load(tmp_path / "model.viewpass").predict([None, vague])
