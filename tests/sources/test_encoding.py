"""Columns that hold no numbers: one-hot in any kind of frame, with the levels of the fit in `predict`."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

import viewpass as vp
from viewpass.errors import DataWarning

SEX = ["f", "m", "m", "f", "m", "f"]
SMOKES = [True, False, True, True, False, False]
AGE = [40.0, 60.0, 50.0, 30.0, 80.0, 20.0]


def frame(kind, sex=SEX):
    if kind == "polars":
        return pl.DataFrame({"id": range(6), "age": AGE, "sex": sex, "smokes": SMOKES})
    made = pd.DataFrame({"id": range(6), "age": AGE, "sex": sex, "smokes": SMOKES})
    if kind == "pandas categories":
        made["sex"] = pd.Categorical(sex, categories=["m", "x", "f"])
    return made.convert_dtypes(dtype_backend="pyarrow") if kind == "pandas arrow" else made


KINDS = ["pandas", "pandas categories", "pandas arrow", "polars"]


def rows(source):
    return np.concatenate([chunk.views[0] for chunk in source.chunks(4)])


@pytest.mark.parametrize("kind", KINDS)
def test_levels_are_columns(kind):
    source = vp.frames({"a": frame(kind)}, id="id", encode=True)
    assert source.schema.columns == (("age", "sex=f", "sex=m", "smokes=False", "smokes=True"),)
    hot = np.array([[s == "f", s == "m", not b, b] for s, b in zip(SEX, SMOKES, strict=True)])
    np.testing.assert_array_equal(rows(source), np.column_stack([AGE, hot]))


@pytest.mark.parametrize("kind", KINDS)
def test_predict_takes_the_levels_of_the_fit(kind, tmp_path):
    model = vp.IMC(2, scale="standard", random_state=0).fit(
        vp.frames({"a": frame(kind)}, id="id", encode=True)
    )
    model.save(tmp_path / "model")
    loaded = vp.load(tmp_path / "model")
    some = vp.frames({"a": frame(kind)[:2]}, id="id", encode=True)
    assert (loaded.predict(some) == model.labels_[:2]).all()
    other = vp.frames({"a": frame(kind, ["f", "m", "x", "x", "m", "f"])}, id="id", encode=True)
    if kind != "pandas categories":
        with pytest.warns(DataWarning, match=r"column 'sex': 'x' did not occur.* ignored in 2 rows"):
            assert (model.predict(other) >= 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_nulls_are_missing_values(kind):
    source = vp.frames({"a": frame(kind, ["f", None, "m", "f", "m", "f"])}, id="id", encode=True)
    assert np.isnan(rows(source)[1, 1:3]).all()
    with pytest.raises(vp.DataError, match=r"row 1 .*2 of 5 values are NaN"):
        vp.IMC(2).fit(source)
    model = vp.ViewPass(2, scale="standard", missing_entries="fill", random_state=0).fit(source)
    assert (model.labels_ >= 0).all()
    assert model.n_gaps_["a"].values == 2


def test_what_is_no_category_is_refused():
    dates = pd.DataFrame({"day": [datetime.datetime(2026, 1, day) for day in (1, 2)]})
    with pytest.raises(vp.DataError, match=r"column 'day' holds .*days since a date.*TableVectorizer"):
        vp.frames({"a": dates}, encode=True)
    names = pd.DataFrame({"name": [f"n{i}" for i in range(300)]})
    with pytest.raises(vp.DataError, match="has 300 levels"):
        vp.frames({"a": names}, encode=True)
    with pytest.raises(vp.DataError, match="holds a tuple"):
        vp.frames({"a": pd.DataFrame({"t": [(1, 2), (3, 4)]})}, encode=True)
    with pytest.raises(vp.DataError, match=r"encode=True of vp\.frames"):
        vp.frames({"a": frame("pandas")}, id="id")


def test_numbers_alone_are_not_changed():
    numbers = pd.DataFrame(np.arange(12.0).reshape(4, 3), columns=["a", "b", "c"])
    plain, encoded = vp.frames({"x": numbers}), vp.frames({"x": numbers}, encode=True)
    assert plain.schema == encoded.schema
    np.testing.assert_array_equal(rows(plain), rows(encoded))
