"""Columns of the views: found automatically, or named in one of several ways."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import viewpass as vp
from inputs import random_csr
from tables import IDS, IMAGE, TEXT, N, lists, rows_of, table, wide


def widths(source):
    return dict(zip(source.schema.names, source.schema.widths, strict=True))


def test_every_list_column_is_a_view():
    assert widths(vp.scan(table("fixed"))) == {"image": 8, "text": 5}
    assert widths(vp.scan(table("list"))) == {"image": None, "text": None}  # only rows tell
    assert widths(vp.scan(table("list"), views={"image": ("image", 8)})) == {"image": 8}


@pytest.mark.parametrize(
    "views",
    [
        {"image": "i*", "text": "t*"},
        {"image": "i0:i7", "text": "t0:t4"},
        {"image": [f"i{j}" for j in range(8)], "text": ["t0", "t1:t3", "t4"]},
    ],
)
def test_columns_of_numbers_by_pattern_range_or_name(views):
    (image, text), _ = rows_of(vp.scan(wide(), views=views, id="id"), 100)
    np.testing.assert_array_equal(image, IMAGE)
    np.testing.assert_array_equal(text, TEXT)


def test_one_name_and_a_list_of_names_name_the_views():
    assert vp.scan(table(), views="text").schema.names == ("text",)
    assert vp.scan(table(), views=["text", "image"]).schema.names == ("text", "image")
    assert widths(vp.scan(wide(), views=["i0"])) == {"i0": 1}


def test_a_name_with_a_star_or_a_colon_is_a_name_first():
    odd = pa.table({"a*": lists(IMAGE), "a:b": lists(TEXT), "ab": [0.0] * N})
    assert vp.scan(odd, views={"x": "a*", "y": "a:b"}).schema.names == ("x", "y")


def test_columns_of_numbers_are_remembered_by_name():
    model = vp.OPIMC(3, random_state=0).fit(vp.scan(wide(), views={"image": "i*"}, id="id"))
    with pytest.raises(vp.DataError, match=r"view 'image': column 0 is 'i1' where 'i0' was expected"):
        model.predict(vp.scan(wide(), views={"image": ["i1", "i0", "i2:i7"]}))


@pytest.mark.parametrize("type", ["int8", "uint16", "int64", "float16", "bool", "float32", "float64"])
@pytest.mark.parametrize("form", ["lists", "fixed", "numbers"])
def test_numbers_of_any_type(type, form):
    x = np.random.default_rng(1).integers(0, 2, size=(40, 3)).astype(type)
    flat = pa.array(x.ravel())
    columns = {"x": pa.FixedSizeListArray.from_arrays(flat, 3)}
    if form == "lists":
        columns = {"x": columns["x"].cast(pa.list_(flat.type))}
    if form == "numbers":
        columns = {f"x{j}": pa.array(x[:, j]) for j in range(3)}
    source = vp.scan(pa.table(columns), views={"x": "x*"})
    read = np.concatenate([chunk.views[0] for chunk in source.chunks(7)])
    np.testing.assert_array_equal(read, x.astype(np.float64))
    assert read.dtype == (np.float64 if type in ("int64", "float64") else np.float32)


HOLDS = {"list": pa.ListArray, "large list": pa.LargeListArray}


@st.composite
def columns_of_lists(draw):
    """Rows (None: missing), the form they are kept in, where the batch is cut, and what a null hides."""
    width = draw(st.integers(1, 9))
    number = st.floats(-4, 4, width=32)
    row = st.none() | st.lists(number, min_size=width, max_size=width)
    rows = draw(st.lists(row, min_size=1, max_size=30))
    kind = draw(st.sampled_from(["list", "large list", "fixed", "view"]))
    return rows, width, kind, draw(st.integers(0, 5)), draw(st.integers(1, 12)), draw(st.booleans())


@settings(max_examples=75, deadline=None)
@given(columns_of_lists())
def test_lists_are_read_from_any_layout(made):
    rows, width, kind, offset, size, hidden = made
    types = {"list": pa.list_, "large list": pa.large_list, "view": pa.list_view}
    type = pa.list_(pa.float32(), width) if kind == "fixed" else types[kind](pa.float32())
    padded = [[9.0] * width] * offset + rows
    column = pa.array(padded, type)
    if hidden and kind in ("list", "large list"):  # a null list that holds values nonetheless
        filled = pa.array([[7.0] * width if row is None else row for row in padded], type)
        mask = pa.array([row is None for row in padded])
        column = HOLDS[kind].from_arrays(filled.offsets, filled.values, mask=mask)
    column = column.slice(offset)
    source = vp.scan(pa.table({"x": column}))
    for chunk in source.chunks(size):
        for place in range(chunk.n_rows):
            row = rows[chunk.start + place]
            assert chunk.wanted(0)[place] == (row is not None) or chunk.views[0] is None
            if row is not None:
                np.testing.assert_array_equal(chunk.views[0][place], np.float32(row))
            elif chunk.views[0] is None:
                assert all(rows[i] is None for i in range(chunk.start, chunk.start + chunk.n_rows))


@pytest.mark.parametrize("kind", ["list", "large list", "fixed"])
def test_lists_without_nulls_are_not_copied(kind):
    column = lists(np.nan_to_num(IMAGE), kind)
    (chunk, *_) = vp.scan(pa.table({"x": column})).chunks(100)
    assert np.shares_memory(chunk.views[0], np.frombuffer(column.values.buffers()[1], np.float32))
    assert chunk.observed is None


def test_fixed_lists_with_nulls_are_not_copied():
    column = lists(IMAGE, "fixed")
    (chunk, *_) = vp.scan(pa.table({"x": column})).chunks(100)
    assert np.shares_memory(chunk.views[0], np.frombuffer(column.values.buffers()[1], np.float32))
    np.testing.assert_array_equal(chunk.observed[:, 0], ~np.isnan(IMAGE[:100, 0]))


def test_an_empty_list_is_a_missing_view():
    source = vp.scan(pa.table({"x": [[1.0, 2.0], [], None, [3.0, 4.0]]}))
    (chunk,) = source.chunks(10)
    assert chunk.observed[:, 0].tolist() == [True, False, False, True]


# ---- sparse columns


def sparse_column(matrix, form, gaps=()):
    rows = []
    for i in range(matrix.shape[0]):
        row = matrix[[i]]
        pairs = list(zip(row.indices.tolist(), row.data.tolist(), strict=True))
        if i in gaps:
            rows.append(None)
        elif form == "struct":
            rows.append({"indices": [place for place, _ in pairs], "values": [value for _, value in pairs]})
        else:
            rows.append([{"index": place, "value": value} for place, value in pairs])
    index, value = pa.int32(), pa.float32()
    if form == "struct":
        return pa.array(rows, pa.struct([("indices", pa.list_(index)), ("values", pa.list_(value))]))
    return pa.array(rows, pa.list_(pa.struct([("index", index), ("value", value)])))


TOKENS = random_csr(np.random.default_rng(3), (N, 40), 0.1, np.float32)


@pytest.mark.parametrize("form", ["struct", "list"])
@pytest.mark.parametrize("size", [7, 64, 1000])
def test_sparse_rows_stay_sparse(form, size):
    gaps = set(range(0, N, 9))
    made = pa.table({"id": IDS, "tokens": sparse_column(TOKENS, form, gaps)})
    cut = pa.concat_tables([made.slice(0, 90), made.slice(90, 13), made.slice(103)])
    source = vp.scan(cut, views={"text": ("tokens", 40)})
    start = 0
    for chunk in source.chunks(size):
        (rows,) = chunk.views
        assert sp.issparse(rows)
        assert rows.dtype == np.float32
        kept = ~np.isin(np.arange(start, start + chunk.n_rows), list(gaps))
        np.testing.assert_array_equal(chunk.wanted(0), kept)
        expected = TOKENS[start : start + chunk.n_rows].toarray()
        np.testing.assert_array_equal(rows.toarray()[kept], expected[kept])
        start += chunk.n_rows
    assert start == N


@pytest.mark.parametrize("form", ["struct", "list"])
def test_fit_of_sparse_rows_is_that_of_csr(form):
    made = pa.table({"text": sparse_column(TOKENS, form), "image": lists(IMAGE)})
    settings = {"n_clusters": 3, "sample_size": 100, "random_state": 0}
    model = vp.ViewPass(**settings).fit(vp.scan(made, views=[("text", 40), "image"]))
    assert model.statistics_ == vp.ViewPass(**settings).fit({"text": TOKENS, "image": IMAGE}).statistics_


def test_the_width_of_a_sparse_column_may_be_metadata():
    column = sparse_column(TOKENS, "struct")
    field = pa.field("text", column.type, metadata={"width": "40"})
    source = vp.scan(pa.table([column], schema=pa.schema([field])))
    assert widths(source) == {"text": 40}


@pytest.mark.parametrize("form", ["struct", "list"])
def test_the_width_of_a_sparse_column_must_be_known(form):
    with pytest.raises(vp.DataError, match=r"column 'text' is sparse.*\('text', 30000\)"):
        vp.scan(pa.table({"text": sparse_column(TOKENS, form)}))


@pytest.mark.parametrize("form", ["struct", "list"])
def test_an_index_outside_the_width_is_refused(form):
    source = vp.scan(pa.table({"text": sparse_column(TOKENS, form)}), views={"text": ("text", 20)})
    row = next(i for i in range(N) if (TOKENS[[i]].indices >= 20).any())
    with pytest.raises(vp.DataError, match=rf"column 'text', row {row}: index \d+ lies outside the 20"):
        list(source.chunks(1000))


def test_uneven_indices_and_values_are_refused():
    type = pa.struct([("indices", pa.list_(pa.int64())), ("values", pa.list_(pa.float64()))])
    column = pa.array([{"indices": [0], "values": [1.0]}, {"indices": [0, 1], "values": [1.0]}], type)
    with pytest.raises(vp.DataError, match=r"column 'x', row 1: 2 indices and 1 values"):
        list(vp.scan(pa.table({"x": column}), views=[("x", 4)]).chunks(10))


@pytest.mark.parametrize("name", ["index", "value"])
def test_null_entries_are_refused(name):
    pair = {"index": 1, "value": 2.0, name: None}
    type = pa.list_(pa.struct([("index", pa.int64()), ("value", pa.float64())]))
    column = pa.array([None, [{"index": 0, "value": 1.0}], [pair]], type)
    with pytest.raises(vp.DataError, match=rf"column 'x', row 2: a null as {name}"):
        list(vp.scan(pa.table({"x": column}), views=[("x", 4)]).chunks(10))


# ---- what is refused by name


@pytest.mark.parametrize(
    ("views", "says"),
    [
        ({"a": "nothing"}, r"view 'a': there is no column 'nothing'; the columns are 'id', 'note', 'image'"),
        ({"a": "no*"}, r"view 'a', column 'note' holds string values"),
        ({"a": "zzz*"}, r"there is no column 'zzz\*'"),
        ({"a": "text:image"}, r"'text' comes after 'image'"),
        ({"a": ["image", "text"]}, r"view 'a', column 'image' holds list"),
        ({"a": 7}, r"view 'a': 7 was given"),
        ({"a": ("image", 0)}, r"width 0; expected a positive number"),
        ({"a": []}, r"view 'a': \[\] was given"),
        ([], r"views=\[\]"),
        (["image", "image"], r"two views are named 'image'"),
        ("id", r"column 'id' holds string values"),
    ],
)
def test_invalid_views_are_refused(views, says):
    with pytest.raises((vp.DataError, vp.SettingError), match=says):
        vp.scan(table(), views=views)


def test_a_table_without_lists_needs_names():
    with pytest.raises(vp.DataError, match=r"no column holds lists.*'i0'.*views=\{"):
        vp.scan(wide())


def test_lists_of_text_are_not_passed_over():
    with pytest.raises(vp.DataError, match=r"column 'tags' holds string values, numbers were expected"):
        vp.scan(pa.table({"x": [[1.0]], "tags": [["a"]]}))


def test_columns_of_one_name_are_refused():
    twice = pa.table([pa.array([[1.0]]), pa.array([[2.0]])], names=["x", "x"])
    with pytest.raises(vp.DataError, match=r"two columns are named 'x'"):
        vp.scan(twice)


def test_the_id_column_must_exist_and_have_no_nulls():
    with pytest.raises(vp.DataError, match=r"no column 'key' for id="):
        vp.scan(table(), id="key")
    holed = pa.table({"key": [1, None], "x": [[1.0], [2.0]]})
    with pytest.raises(vp.DataError, match=r"column 'key', row 1: the id is null"):
        list(vp.scan(holed, id="key").chunks(10))


@pytest.mark.parametrize("data", [7, None, [], object(), ["a.parquet", 7]])
def test_anything_but_a_table_is_refused(data):
    with pytest.raises(vp.DataError, match=r"vp.scan was given a"):
        vp.scan(data)


def test_fixed_lists_without_values_are_missing():
    items = pa.table({"x": pa.array([[], None, []], pa.list_(pa.float32(), 0)), "y": [[1.0], [2.0], [3.0]]})
    (chunk,) = vp.scan(items).chunks(10)
    assert chunk.views[0] is None
    assert vp.OPIMC(1).fit(vp.scan(items)).labels_.tolist() == [0, 0, 0]
