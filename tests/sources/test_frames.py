"""Data frames: rows with the same id are the same item, in any frame, order, type or library."""

from __future__ import annotations

import datetime
import uuid

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import viewpass as vp
from inputs import GAPS, IMAGE, TEXT, N, assert_same, dense, learnt, small, with_gaps

law = settings(max_examples=30, deadline=None)

KINDS = ["pandas", "pandas index", "pandas nullable", "pandas arrow", "polars", "pyarrow"]


def frame(kind, ids, x):
    """A frame of a view with its ids, and the name of the id column (None: the index)."""
    table = pd.DataFrame(x, columns=[f"c{j}" for j in range(x.shape[1])])
    if kind == "pandas index":
        return table.set_axis(pd.Index(ids), axis=0), None
    if kind == "pandas nullable":
        table = table.astype("Float64")
    if kind == "pandas arrow":
        table = table.astype("float64[pyarrow]")
    table.insert(1, "item", ids)
    if kind in ("polars", "pyarrow"):
        table = pl.from_pandas(table)
        return (table.to_arrow() if kind == "pyarrow" else table), "item"
    return table, "item"


def framed(kind, ids, views):
    """A source of frames; `ids` and `views` by name."""
    made = {name: frame(kind, ids[name], views[name]) for name in views}
    return vp.frames({name: table for name, (table, _) in made.items()}, id=next(iter(made.values()))[1])


def read(source, size=N):
    """Views with NaN where a row lacks one, as the chunks tell it."""
    out = []
    for v in range(len(source.schema.names)):
        parts = []
        for chunk in source.chunks(size):
            x = chunk.views[v]
            x = np.full((chunk.n_rows, source.schema.widths[v]), np.nan) if x is None else dense(x).copy()
            x[~chunk.observed[:, v]] = np.nan
            parts.append(x)
        out.append(np.concatenate(parts))
    return out


def expected(ids, views):
    """The union of the ids in first-seen order, and each view spread over it."""
    union = list(dict.fromkeys(i for name in views for i in ids[name]))
    place = {i: row for row, i in enumerate(union)}
    spread = []
    for name, x in views.items():
        whole = np.full((len(union), x.shape[1]), np.nan)
        whole[[place[i] for i in ids[name]]] = x
        spread.append(whole)
    return union, spread


# ---- matching


@law
@given(data=st.data(), kind=st.sampled_from(KINDS), size=st.integers(1, 30), text=st.booleans())
@pytest.mark.filterwarnings("ignore:only .* occur in another view")  # ids drawn at random may be apart
def test_rows_are_matched_by_id_in_first_seen_order(data, kind, size, text):
    pool = [f"i{k}" for k in range(12)] if text else list(range(100, 112))
    ids, views = {}, {}
    for name, x in {"image": IMAGE, "text": TEXT, "again": IMAGE + 1}.items():
        ids[name] = data.draw(st.lists(st.sampled_from(pool), unique=True, min_size=1, max_size=12))
        views[name] = x[: len(ids[name])]
    union, spread = expected(ids, views)
    source = framed(kind, ids, views)
    assert source.row_ids.tolist() == union
    assert source.n_rows == len(union)
    for got, wanted in zip(read(source, size), spread, strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("estimator", [vp.OPIMC, vp.IMC])
def test_absent_ids_are_missing_views(kind, estimator):
    rng = np.random.default_rng(3)
    rows = {"image": rng.permutation(np.flatnonzero(GAPS[:, 0])), "text": np.flatnonzero(GAPS[:, 1])}
    names = np.array([f"item {k}" for k in range(N)])
    ids = {name: names[where].tolist() for name, where in rows.items()}
    model = small(estimator).fit(
        framed(kind, ids, {"image": IMAGE[rows["image"]], "text": TEXT[rows["text"]]})
    )
    order = [int(i.split()[1]) for i in model.row_ids_]
    assert len(order) == len(set(order)) == GAPS.any(axis=1).sum()
    plain = small(estimator).fit([x[order] for x in with_gaps()])
    mine, theirs = learnt(model), learnt(plain)
    for name in ("alpha_", "scales_", "view_weights_"):  # by other names
        assert list(mine.pop(name).values()) == list(theirs.pop(name).values())
    for name in ("row_ids_", "view_names_in_"):
        mine.pop(name), theirs.pop(name, None)
    assert_same(mine, theirs)
    assert not hasattr(plain, "row_ids_")


@pytest.mark.parametrize("kind", KINDS)
def test_frames_are_arrays_to_every_method(kind):
    ids = {"image": list(range(N)), "text": list(range(N))}
    items = framed(kind, ids, {"image": IMAGE, "text": TEXT})
    model = small().fit(items)
    np.testing.assert_array_equal(model.labels_, small().fit([IMAGE, TEXT]).labels_)
    np.testing.assert_array_equal(model.predict(items), model.predict([IMAGE, TEXT]))
    np.testing.assert_array_equal(model.transform(items), model.transform({"text": TEXT, "image": IMAGE}))
    assert model.score(items) == model.score([IMAGE, TEXT])
    np.testing.assert_array_equal(small().fit_predict(items), model.labels_)
    later = framed(kind, {name: list(range(N, 2 * N)) for name in ids}, {"image": IMAGE, "text": TEXT})
    parts = small().partial_fit(items).partial_fit(later)
    plain = small().partial_fit([IMAGE, TEXT]).partial_fit([IMAGE, TEXT])
    assert parts.statistics_ == plain.statistics_


def test_row_ids_go_when_the_data_has_none():
    items = framed("pandas", {"a": list(range(N))}, {"a": IMAGE})
    model = small().fit(items)
    assert model.row_ids_.tolist() == list(range(N))
    assert not hasattr(model.fit([IMAGE]), "row_ids_")


# ---- what may be an id

_days = pd.date_range("2026-01-30", periods=N)
IDS = {
    "integers": list(range(N)),
    "big integers": [2**62 + k for k in range(N)],
    "unsigned integers": np.arange(N, dtype=np.uint64) + 2**63,
    "floats": [k + 0.5 for k in range(N)],
    "text": [f"ä{k}" for k in range(N)],
    "empty text": ["", *map(str, range(N - 1))],
    "times": _days,
    "times with a zone": _days.tz_localize("Europe/Paris"),
    "durations": _days - _days[0],
    "dates": [day.date() for day in _days],
    "categories": pd.Categorical([f"c{k}" for k in range(N)]),
    "nullable integers": pd.array(range(N), dtype="Int64"),
    "arrow text": pd.array([f"t{k}" for k in range(N)], dtype="string[pyarrow]"),
}
PANDAS_IDS = {
    "tuples": [(k, f"t{k}") for k in range(N)],
    "uuids": [uuid.UUID(int=k) for k in range(N)],
    "periods": pd.period_range("2026", periods=N),
    "mixed": [1, "1", 1.5, (1,), datetime.date(2026, 1, 1), *map(str, range(100, 100 + N - 5))],
}


@pytest.mark.parametrize(
    ("kind", "what"),
    [(kind, what) for kind in ("pandas", "pandas index", "polars") for what in IDS]
    + [(kind, what) for kind in ("pandas", "pandas index") for what in PANDAS_IDS],
)
def test_anything_with_an_identity_is_an_id(kind, what):
    ids = (IDS | PANDAS_IDS)[what]
    order = np.random.default_rng(0).permutation(N)[: N - 3]
    views = {"image": IMAGE, "text": TEXT[order]}
    ids = pd.Series(ids) if kind != "pandas index" else pd.Index(ids, tupleize_cols=False)
    source = framed(kind, {"image": ids.array, "text": ids.array.take(order)}, views)
    assert source.n_rows == N
    text = np.full_like(TEXT, np.nan)
    text[order] = TEXT[order]
    np.testing.assert_array_equal(read(source)[1], text)
    np.testing.assert_array_equal(small().fit(source).row_ids_, source.row_ids)


def test_a_multi_index_is_an_id():
    index = pd.MultiIndex.from_product([range(6), list("abcdefgh")])
    source = vp.frames(
        {"a": pd.DataFrame(IMAGE, index=index), "b": pd.DataFrame(TEXT[::-1], index=index[::-1])}
    )
    assert source.row_ids.tolist() == index.tolist()
    np.testing.assert_array_equal(read(source)[1], TEXT)


@pytest.mark.parametrize("units", [("ns", "us"), ("s", "ns"), ("ms", "s")])
@pytest.mark.parametrize("kind", ["pandas", "pandas index"])
def test_times_match_in_whatever_unit(kind, units):
    ids = {name: _days.as_unit(unit) for name, unit in zip(("image", "text"), units, strict=True)}
    source = framed(kind, ids, {"image": IMAGE, "text": TEXT})
    assert source.n_rows == N
    np.testing.assert_array_equal(source.row_ids, _days.to_numpy())


def test_dates_match_times_at_midnight_in_polars():
    a = pl.DataFrame({"day": _days, "x": IMAGE[:, 0]}).with_columns(pl.col("day").dt.date())
    b = pl.DataFrame({"day": _days, "y": TEXT[:, 0]})
    assert vp.frames({"a": a, "b": b}, id="day").n_rows == N


@pytest.mark.parametrize(
    "types", [("int32", "int64"), ("int64", "float64"), ("uint8", "int64"), ("Int64", "int16")]
)
def test_equal_numbers_match_in_whatever_type(types):
    ids = {name: pd.array(range(N), dtype=t) for name, t in zip(("image", "text"), types, strict=True)}
    source = framed("pandas", ids, {"image": IMAGE, "text": TEXT})
    assert source.row_ids.tolist() == list(range(N))


def test_ids_of_different_number_types_stay_what_they_are():
    big = [2**63 + 1, 2**63 + 3]
    a = pd.DataFrame({"id": np.array(big, dtype=np.uint64), "x": [1.0, 2.0]})
    b = pd.DataFrame({"id": [-(2**62) - 1, 5], "y": [1.0, 2.0]})
    assert vp.frames({"a": a, "b": b}, id="id").row_ids.tolist() == [*big, -(2**62) - 1, 5]


# ---- missing within a frame


def nulled(kind, x, dtype):
    """A frame of x whose row 3 is null throughout."""
    table = pd.DataFrame(x, columns=list("abcd"))
    table = table.astype(bool).astype(dtype) if dtype == "boolean" else table.astype(dtype)
    table = table.mask(table.index.to_series() == 3)
    table.insert(0, "id", range(N))
    return table if kind == "pandas" else pl.from_pandas(table, nan_to_null=kind == "polars")


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [("pandas", d) for d in ("float64", "float32", "Float64", "Int64", "Int8", "boolean", "double[pyarrow]")]
    + [("polars", d) for d in ("float64", "float32", "Int64", "Int8", "UInt8", "boolean")]
    + [("polars NaN", "float64")],
)
def test_a_row_of_nulls_is_a_missing_view(kind, dtype):
    image = np.abs(IMAGE)
    text = pd.DataFrame(TEXT, columns=list("vwxyz")).assign(id=range(N))
    text = text if kind == "pandas" else pl.from_pandas(text)
    model = small().fit(vp.frames({"a": nulled(kind, image, dtype), "b": text}, id="id"))
    exact = (image != 0) * 1.0 if dtype == "boolean" else image
    exact[3] = np.nan
    np.testing.assert_array_equal(model.labels_, small().fit([exact, TEXT]).labels_)
    assert model.counts_[0].sum() == N - 1


@pytest.mark.parametrize("kind", ["pandas", "pandas index", "pandas nullable", "pandas arrow", "polars"])
def test_a_partly_null_row_is_refused_by_view_row_and_id(kind):
    image = IMAGE.copy()
    image[7, 2] = np.nan
    ids = {"text": [f"i{k}" for k in range(N)][::-1], "image": [f"i{k}" for k in range(N)]}
    items = framed(kind, ids, {"text": TEXT, "image": image})
    with pytest.raises(vp.DataError, match=rf"view 'image', row {N - 8} \(id 'i7'\): 1 of 4 values are NaN"):
        small().fit(items)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (range(N), "7"),
        (_days, "2026-02-06T00:00:00"),
        ([k / 2 for k in range(N)], "3.5"),
        (IDS["dates"], "datetime.date"),
    ],
)
def test_messages_show_ids_as_people_write_them(ids, message):
    image = IMAGE.copy()
    image[7, 2] = np.inf
    with pytest.raises(vp.DataError, match=rf"row 7 \(id {message}"):
        small().fit(framed("pandas", {"image": list(ids)}, {"image": image}))


# ---- columns


@pytest.mark.parametrize(
    "columns",
    [
        [0, 1, 2, 3],
        ["a", 1, 2.5, None],
        [("p", "r"), ("p", "s"), ("q", "r"), ("q", "s")],
        pd.date_range("2026", periods=4),
    ],
)
def test_columns_may_have_any_names(columns):
    table = pd.DataFrame(IMAGE)
    table.columns = pd.Index(columns)
    np.testing.assert_array_equal(read(vp.frames({"a": table}))[0], IMAGE)


def test_an_id_column_may_have_any_name():
    table = pd.DataFrame(np.column_stack([np.arange(N), IMAGE]))
    source = vp.frames({"a": table, "b": table[::-1]}, id=0)
    assert source.n_rows == N
    np.testing.assert_array_equal(read(source)[1], IMAGE)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_columns_must_be_those_of_the_fit_in_their_order(kind):
    ids = {"image": list(range(N)), "text": list(range(N))}
    items = framed(kind, ids, {"image": IMAGE, "text": TEXT})
    model = small().fit(items)
    table = frame(kind, ids["image"], IMAGE)[0]
    columns = ["item", "c1", "c0", "c2", "c3"]
    swapped = vp.frames({"image": table[columns] if kind == "pandas" else table.select(columns)}, id="item")
    for method in (model.predict, model.transform, model.score, model.partial_fit):
        with pytest.raises(vp.DataError, match=r"view 'image': column 0 is 'c1' where 'c0' was expected"):
            method(swapped)
    np.testing.assert_array_equal(model.predict(items), model.labels_)
    imc = small(vp.IMC).fit(items)
    with pytest.raises(vp.DataError, match=r"column 0 is 'c1'"):
        imc.predict(swapped)


def test_views_in_another_order_or_absent():
    ids = {"image": list(range(N)), "text": list(range(N))[::-1]}
    model = small().fit(framed("pandas", ids, {"image": IMAGE, "text": TEXT}))
    again = framed("pandas", ids, {"text": TEXT, "image": IMAGE})
    labels = dict(zip(again.row_ids.tolist(), model.predict(again).tolist(), strict=True))
    assert [labels[i] for i in model.row_ids_.tolist()] == model.labels_.tolist()
    only = framed("pandas", ids, {"text": TEXT})
    np.testing.assert_array_equal(model.predict(only), model.predict([None, TEXT]))
    empty = pd.DataFrame(
        {"item": pd.Series([], dtype=int), **{f"c{j}": pd.Series([], dtype=float) for j in range(4)}}
    )
    whole = vp.frames({"image": empty, "text": frame("pandas", ids["text"], TEXT)[0]}, id="item")
    np.testing.assert_array_equal(model.predict(whole), model.predict([None, TEXT]))


# ---- what is refused

_ok = pd.DataFrame(TEXT, columns=list("vwxyz")).assign(id=range(N))


def _bad(**columns):
    return pd.DataFrame(IMAGE, columns=list("abcd")).assign(**{"id": range(N), **columns})


REFUSED = {
    "not a dict": (lambda: [_bad(), _ok], "takes a dict of frames"),
    "no frame": (dict, "takes a dict of frames"),
    "an array": (lambda: {"a": IMAGE}, "view 'a' is a ndarray; a pandas or polars DataFrame was expected"),
    "None": (lambda: {"a": None, "b": _ok}, "view 'a' is a NoneType"),
    "a series": (lambda: {"a": _bad()["a"]}, "view 'a' is a Series"),
    "a lazy frame": (lambda: {"a": pl.from_pandas(_bad()).lazy()}, "view 'a' is a LazyFrame.*collect"),
    "two kinds": (
        lambda: {"a": _bad(), "b": pl.from_pandas(_ok)},
        r"pandas \('a'\) and polars \('b'\).*the same kind",
    ),
    "no id column": (lambda: {"a": _bad().drop(columns="id"), "b": _ok}, "view 'a' has no column 'id'"),
    "only ids": (lambda: {"a": _bad()[["id"]]}, "view 'a' has no column besides the id"),
    "equal names": (lambda: {1: _bad(), "1": _ok}, "two views are named '1'"),
    "equal columns": (
        lambda: {"a": _bad().set_axis([*"aabc", "id"], axis=1)},
        "view 'a'.*unique.*'a' 2 times",
    ),
    "equal ids": (
        lambda: {"a": _bad(id=[*range(N - 1), 0])},
        f"view 'a': id 0 appears in rows 0 and {N - 1}",
    ),
    "equal ids, text": (lambda: {"a": _bad(id=["x"] * N)}, "view 'a': id 'x' appears in rows 0 and 1"),
    "equal ids, times": (
        lambda: {"a": _bad(id=_days.where(_days != _days[2], _days[1]))},
        "id 2026-01-31.*rows 1 and 2",
    ),
    "equal ids, polars": (
        lambda: {"a": pl.from_pandas(_bad(id=[*range(N - 1), 5]))},
        "id 5 appears in rows 5 and",
    ),
    "null id": (lambda: {"a": _bad(id=[0, None, *range(2, N)])}, "view 'a', row 1: the id is null"),
    "null id, text": (
        lambda: {"a": _bad(id=["a", None, *map(str, range(2, N))])},
        "view 'a', row 1: the id is null",
    ),
    "null id, time": (lambda: {"a": _bad(id=[pd.NaT, *_days[1:]])}, "view 'a', row 0: the id is null"),
    "null id, polars": (
        lambda: {"a": pl.from_pandas(_bad(id=["a", None, *map(str, range(2, N))]))},
        "row 1: the id is null",
    ),
    "NaN id, polars": (
        lambda: {"a": pl.DataFrame({"id": [0.0, float("nan")], "x": [1, 2]})},
        "row 1: the id is null",
    ),
    "a list as id": (
        lambda: {"a": _bad(id=[[k] for k in range(N)])},
        "view 'a', row 0: a list cannot be an id",
    ),
    "a struct as id": (
        lambda: {"a": pl.from_pandas(_bad()).with_columns(id=pl.struct("a"))},
        "cannot be an id",
    ),
    "7 and '7'": (
        lambda: {"a": _bad(), "b": _ok.assign(id=list(map(str, range(N))))},
        "numbers, .* text: none .* match",
    ),
    "numbers and times": (
        lambda: {"a": _bad(), "b": _ok.assign(id=_days)},
        "'a' are numbers, those of view 'b' times",
    ),
    "text": (
        lambda: {"a": _bad(q="x")},
        "view 'a', column 'q' holds (str|object) values, numbers were expected",
    ),
    "numbers as text": (lambda: {"a": _bad(q="1")}, "column 'q' holds (str|object) values"),
    "objects": (lambda: {"a": _bad(q=np.array([1.5] * N, dtype=object))}, "column 'q' holds object values"),
    "categories": (lambda: {"a": _bad(q=pd.Categorical([1] * N))}, "column 'q' holds category values"),
    "times": (lambda: {"a": _bad(q=_days)}, "column 'q' holds datetime64"),
    "complex": (lambda: {"a": _bad(q=1j)}, "column 'q' holds complex128 values"),
    "text, polars": (lambda: {"a": pl.from_pandas(_bad(q="x"))}, "column 'q' holds String values"),
    "categories, polars": (
        lambda: {"a": pl.from_pandas(_bad(q="x")).with_columns(pl.col("q").cast(pl.Categorical))},
        "column 'q' holds Categorical values",
    ),
    "lists, polars": (
        lambda: {"a": pl.from_pandas(_bad()).with_columns(q=pl.concat_list("a"))},
        r"'q' holds List\(Float64\)",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_matched_or_read_is_refused(what):
    make, message = REFUSED[what]
    with pytest.raises(vp.DataError, match=message):
        vp.frames(make(), id="id")


@pytest.mark.parametrize(
    "index", [[np.nan, *range(1, N)], [None, *map(str, range(1, N))], [pd.NaT, *_days[1:]]], ids=str
)
def test_a_null_in_the_index_is_refused(index):
    with pytest.raises(vp.DataError, match=r"view 'a', row 0: the id is null"):
        vp.frames({"a": pd.DataFrame(IMAGE, index=index)})


def test_a_polars_frame_has_no_index():
    with pytest.raises(vp.DataError, match=r"view 'a': a polars frame has no index .*id="):
        vp.frames({"a": pl.from_pandas(_ok)})


def test_frames_without_rows_and_masks_for_frames():
    with pytest.raises(vp.DataError, match="no rows"):
        small().fit(vp.frames({"a": _ok[:0]}, id="id"))
    with pytest.raises(vp.DataError, match="observed= is for arrays"):
        small().fit(vp.frames({"a": _ok}, id="id"), observed=np.ones((N, 1), dtype=bool))


def test_unknown_views_and_other_widths_are_refused():
    model = small().fit(vp.frames({"a": _bad(), "b": _ok}, id="id"))
    with pytest.raises(vp.DataError, match="view 'q' is unknown; the views are 'a', 'b'"):
        model.predict(vp.frames({"q": _ok}, id="id"))
    with pytest.raises(vp.DataError, match="view 'b': 4 columns where 5 were expected"):
        model.predict(vp.frames({"b": _bad()}, id="id"))


# ---- frames in a list or dict: matched by place


def test_frames_in_a_list_are_matched_by_place():
    labels = small().fit([IMAGE, TEXT]).labels_
    image, text = pd.DataFrame(IMAGE), pd.DataFrame(TEXT)
    for views in (
        [image, text],
        {"a": image, "b": TEXT},
        [pl.DataFrame(IMAGE), text],
        [image.astype("Float64"), text],
    ):
        np.testing.assert_array_equal(small().fit(views).labels_, labels)


def test_frames_whose_indexes_differ_are_not_matched_by_place():
    with pytest.raises(
        vp.DataError, match=r"'view0' and 'view1' are frames with different indexes.*vp\.frames"
    ):
        small().fit([pd.DataFrame(IMAGE), pd.DataFrame(TEXT[::-1], index=range(N)[::-1])])


@pytest.mark.parametrize("what", ["text", "categories", "numbers as text", "times", "text, polars"])
def test_frames_in_a_list_must_hold_numbers(what):
    make, message = REFUSED[what]
    with pytest.raises(vp.DataError, match=message.replace("view 'a'", "view 'view0'")):
        small().fit([make()["a"], TEXT])


# ---- ids that hardly match

_table = {"image": pd.DataFrame(IMAGE).add_prefix("i"), "text": pd.DataFrame(TEXT).add_prefix("t")}
_patients = pd.Index([f"P{k}" for k in range(N)])


def _indexed(image, text):
    return {"image": _table["image"].set_axis(image), "text": _table["text"].set_axis(text)}


APART = {
    "lower case": (
        _indexed(_patients, _patients.str.lower()),
        ["only 0 of the 48 ids", "'P0', 'P1'", "'p0', 'p1'"],
    ),
    "numbered anew": (_indexed(range(1000, 1000 + N), range(N)), ["0 of the 48", "1000, 1001", "0, 1, 2 in"]),
    "hardly": (
        _indexed(_patients, [*_patients[:2], *_patients[2:].str.lower()]),
        ["only 2 of the 48 ids of view 'image' and 2 of the 48", "'P0', 'P1', 'p2' in view 'text'"],
    ),
    "transposed": (
        {name: table.set_axis(_patients).T for name, table in _table.items()},
        ["0 of the 4 ids of view 'image'", "'i0', 'i1', 'i2'", "'t0', 't1', 't2'", "transposed (`.T`)"],
    ),
    "one transposed": (
        {"image": _table["image"].set_axis(_patients), "text": _table["text"].set_axis(_patients).T},
        ["of the 5 ids of view 'text'", "'P0', 'P1', 'P2' in view 'image'", "transposed (`.T`)"],
    ),
    "one of three": (
        {**_indexed(_patients, _patients), "sound": _table["text"].set_axis(_patients.str.lower())},
        ["only 0 of the 48 ids of view 'sound' occur in another view"],
    ),
}


@pytest.mark.parametrize("what", APART)
def test_ids_that_hardly_match_are_warned_of_with_counts_and_examples(what):
    frames, parts = APART[what]
    with pytest.warns(UserWarning, match="occur in another view") as said:
        vp.frames(frames)
    assert len(said) == 1
    assert all(part in str(said[0].message) for part in parts)
    assert said[0].filename == __file__


def test_a_transposed_frame_without_names_of_columns_is_refused():
    turned = _table["text"].set_axis(range(5), axis=1).set_axis(_patients).T
    with pytest.raises(vp.DataError, match=r"'image' are text, .* 'text' numbers: .* transposed \(`\.T`\)"):
        vp.frames({"image": _table["image"].set_axis(_patients), "text": turned})


def test_ids_that_match_in_part_are_missing_views_and_no_warning():
    vp.frames(_indexed(_patients, [*_patients[:3], *_patients[3:].str.lower()]))  # above the limit
    few = {"image": _table["image"].set_axis(_patients), "text": _table["text"][:3].set_axis(_patients[-3:])}
    assert vp.frames(few).n_rows == N  # a small view within a large one
    vp.frames(
        {
            name: table[:2].set_axis([name, "b"]).rename(index={"b": name + "b"})
            for name, table in _table.items()
        }
    )
    vp.frames({"image": _table["image"]})
    vp.frames({"image": _table["image"], "text": _table["text"][:0]})
