"""Chunks: checked once, cut and joined without loss, independent of the caller only after a copy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import viewpass as vp
from inputs import FORMS, GAPS, IMAGE, TEXT, N, csr, dense
from viewpass.views.checks import as_view, check_columns, check_observed, number_type
from viewpass.views.chunk import Chunk, Schema, default_names, format_id, join, unique_names

law = settings(max_examples=50, deadline=None)
ONE_DIMENSION = pytest.mark.skipif(
    sp.coo_array(IMAGE[0]).ndim == 2, reason="SciPy before 1.13 has no sparse arrays of one dimension"
)


def assert_same_rows(a, b):
    assert (a.names, a.n_rows, a.schema.widths) == (b.names, b.n_rows, b.schema.widths)
    for v, (x, y) in enumerate(zip(a.views, b.views, strict=True)):
        if x is not None:
            np.testing.assert_array_equal(dense(x)[a.wanted(v)], dense(y)[b.wanted(v)])
        np.testing.assert_array_equal(a.wanted(v), b.wanted(v))


# ---- cutting and joining


@law
@given(
    cuts=st.sets(st.integers(1, N - 1), max_size=6),
    sparse=st.tuples(st.booleans(), st.booleans()),
    dtypes=st.tuples(*[st.sampled_from([np.float32, np.float64])] * 2),
    masked=st.booleans(),
    ids=st.booleans(),
)
def test_joining_undoes_cutting(cuts, sparse, dtypes, masked, ids):
    views = [
        csr(x.astype(dtype)) if as_csr else x.astype(dtype)
        for x, as_csr, dtype in zip((IMAGE, TEXT), sparse, dtypes, strict=True)
    ]
    names = np.array([f"i{k}" for k in range(N)])
    bounds = [0, *sorted(cuts), N]
    chunks = [
        Chunk.of(
            [x[start:stop] for x in views],
            observed=GAPS[start:stop] if masked else None,
            start=start,
            row_ids=names[start:stop] if ids else None,
        )
        for start, stop in pairwise(bounds)
    ]
    joined = join(chunks)
    assert_same_rows(joined, Chunk.of(views, observed=GAPS if masked else None))
    assert [x.dtype for x in joined.views] == list(dtypes)
    assert [sp.issparse(x) for x in joined.views] == list(sparse)
    assert joined.start == 0
    assert (joined.row_ids is None) == (not ids)
    if ids:
        np.testing.assert_array_equal(joined.row_ids, names)


def test_chunks_of_different_forms_join():
    first, second, third = slice(0, 10), slice(10, 20), slice(20, N)
    joined = join(
        [
            Chunk.of([IMAGE[first], None]),
            Chunk.of([csr(IMAGE[second]), TEXT[second].astype(np.float32)], observed=GAPS[second]),
            Chunk.of([IMAGE[third].astype(np.float32), csr(TEXT[third])]),
        ]
    )
    np.testing.assert_array_equal(dense(joined.views[0]), IMAGE)
    np.testing.assert_array_equal(dense(joined.views[1])[10:], TEXT[10:])
    assert not dense(joined.views[1])[first].any()
    np.testing.assert_array_equal(joined.observed[first], np.tile([True, False], (10, 1)))
    np.testing.assert_array_equal(joined.observed[second], GAPS[second])
    assert join([Chunk.of([IMAGE, None]), Chunk.of([IMAGE, None])]).views[1] is None


@law
@given(rows=st.lists(st.integers(0, N - 1), max_size=20), sparse=st.booleans(), masked=st.booleans())
def test_taking_rows_is_indexing(rows, sparse, masked):
    rows = np.array(rows, dtype=np.int64)
    form = csr if sparse else np.array
    observed = GAPS if masked else None
    taken = Chunk.of([form(IMAGE), form(TEXT)], observed=observed).take(rows)
    assert_same_rows(taken, Chunk.of([IMAGE[rows], TEXT[rows]], observed=observed[rows] if masked else None))


@pytest.mark.parametrize("form", ["array", "csr_array", "Fortran order"])
def test_a_copy_owns_its_memory(form):
    image, observed, ids = FORMS[form](IMAGE), GAPS.copy(), np.arange(N)
    chunk = Chunk.of([image, None], observed=observed, start=5, row_ids=ids, columns=(tuple("abcd"), None))
    copied = chunk.copy()
    before = dense(copied.views[0]).copy()
    for array in (*((image.data, image.indices) if sp.issparse(image) else (image,)), observed, ids):
        array[:] = 0
    np.testing.assert_array_equal(dense(copied.views[0]), before)
    np.testing.assert_array_equal(copied.observed, GAPS)
    np.testing.assert_array_equal(copied.row_ids, np.arange(N))
    assert (copied.names, copied.n_rows, copied.start, copied.columns) == (chunk.names, N, 5, chunk.columns)


# ---- checks


def test_views_without_columns_are_absent():
    chunk = Chunk.of([IMAGE, np.empty((N, 0)), sp.csr_array((N, 0))])
    assert chunk.views[1:] == (None, None)
    assert chunk.schema == Schema(("view0", "view1", "view2"), (4, None, None))
    nothing = Chunk.of([np.empty((N, 0))])
    assert (nothing.n_rows, nothing.views) == (N, (None,))


def test_inconsistent_views_are_refused():
    with pytest.raises(vp.DataError, match="every view is None"):
        Chunk.of([None, None])
    with pytest.raises(vp.DataError, match=rf"view 'view1' has {N - 1} rows, view 'view0' has {N}"):
        Chunk.of([IMAGE, TEXT[1:]])
    with pytest.raises(vp.DataError, match="observed has shape"):
        Chunk.of([IMAGE, TEXT], observed=GAPS[1:])


@pytest.mark.parametrize("wrong", [-1, 4, 2**40])
def test_columns_that_a_mask_hides_must_exist_too(wrong):
    rows = csr(IMAGE)
    rows.indices = rows.indices.astype(np.int64)
    rows.indices[rows.indptr[9]] = wrong
    hidden = np.ones((N, 1), dtype=bool)
    hidden[9] = False
    with pytest.raises(
        vp.DataError, match=r"view 'view0', row 109: a column number .* outside its 4 columns"
    ):
        Chunk.of([rows], observed=hidden, start=100)
    with pytest.raises(vp.DataError, match=r"here, row 9: a column number"):
        check_columns(rows, "here")


@pytest.mark.parametrize("form", ["csc", "bsr", "csr_array"])
def test_sparse_matrices_with_invalid_indices_are_refused(form):
    x = FORMS[form](IMAGE)
    x.indices[3] = 10**6  # converting would write outside the memory of the result
    if form == "csr_array":
        with pytest.raises(vp.DataError, match="row 0: a column number"):
            check_columns(as_view(x, "a"), "view 'a'")
    else:
        with pytest.raises(vp.DataError, match="view 'a' is not a valid sparse matrix"):
            as_view(x, "a")


@pytest.mark.parametrize("harm", ["short indptr", "long indptr", "falling", "negative", "short data"])
def test_invalid_row_pointers_are_refused(harm):
    x = csr(IMAGE)
    if harm == "short indptr":
        x.indptr = x.indptr[:-1]
    elif harm == "long indptr":
        x.indptr[-1] += 1
    elif harm == "falling":
        x.indptr[5] = x.indptr[7]
    elif harm == "negative":
        x.indptr[0] = -1
    else:
        x.data = x.data[:-1]
    with pytest.raises(vp.DataError, match="view 'a'"):
        as_view(x, "a")


@pytest.mark.parametrize(
    ("dtype", "read_as"),
    [(t, "f4") for t in ("?", "i1", "u1", "i2", "u2", "f2", "f4", ">f4", "<f4")]
    + [(t, "f8") for t in ("i4", "u4", "i8", "u8", "f8", ">f8", "<f8", "longdouble", ">i4")],
)
def test_numbers_are_read_in_the_float_that_holds_them(dtype, read_as):
    assert number_type(np.dtype(dtype), "a") == np.dtype(read_as)
    assert number_type(np.dtype(dtype), "a").isnative


@pytest.mark.parametrize("dtype", ["c8", "c16", "U3", "S3", "M8[s]", "m8[s]", "V4"])
def test_other_types_are_refused(dtype):
    with pytest.raises(vp.DataError, match=r"view 'a' holds .* values, numbers were expected"):
        as_view(np.zeros((2, 2), dtype=dtype), "a")


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.ma.masked_array(IMAGE, mask=IMAGE > 0), r"view 'a' is a masked array\. Fill it with NaN"),
        (IMAGE[0], "view 'a' has 1 dimension"),
        (IMAGE[None], "view 'a' has 3 dimension"),
        pytest.param(sp.coo_array(IMAGE[0]), "view 'a' has 1 dimension", marks=ONE_DIMENSION),
        (5.0, "view 'a' is a float; a 2-D array or CSR matrix was expected"),
        ("text", "view 'a' is a str"),
        ({"x": IMAGE}, "view 'a' is a dict"),
        ([[1, 2], [3]], "view 'a' cannot be read as numbers .*equal lengths"),
        ([["1", "2"]], "view 'a' holds <U1 values"),
        (np.array([["1", 2]], dtype=object), r"view 'a' cannot be read as numbers \(it holds text\)"),
        (np.array([[b"1", 2]], dtype=object), "it holds text"),
        (np.array([[10**400, 2]], dtype=object), "view 'a' cannot be read as numbers .*too large"),
        (np.array([[1j, 2]], dtype=object), "view 'a' cannot be read as numbers"),
        (np.array([[[1], 2]], dtype=object), "view 'a' cannot be read as numbers"),
    ],
)
def test_anything_but_a_matrix_of_numbers_is_refused(x, message):
    with pytest.raises(vp.DataError, match=message):
        as_view(x, "a")


@pytest.mark.parametrize(
    "observed", [GAPS.tolist(), GAPS.astype(np.int8), GAPS.astype(float), np.asfortranarray(GAPS)]
)
def test_masks_in_any_form(observed):
    mask = check_observed(observed, N, 2)
    assert mask.dtype == bool
    np.testing.assert_array_equal(mask, GAPS)


@pytest.mark.parametrize(
    "observed",
    [
        *(GAPS[:-1], GAPS.T, GAPS[:, 0], GAPS[:, [0, 1, 1]], GAPS * 2, GAPS * np.nan, GAPS * -1.0),
        *(GAPS.astype(str), GAPS.astype(object), [[True], [True, False]], None, "all", 1),
    ],
)
def test_invalid_masks_are_refused(observed):
    with pytest.raises(vp.DataError, match="observed"):
        check_observed(observed, N, 2)


# ---- what a chunk says of itself


def test_rows_are_described_by_their_number_in_the_data():
    assert Chunk.of([IMAGE], start=100).place(3) == "row 103"
    for ids, shown in ((np.arange(N), "3"), ([f"i{k}" for k in range(N)], "'i3'"), (np.arange(N) / 2, "1.5")):
        assert Chunk.of([IMAGE], start=100, row_ids=np.asarray(ids)).place(3) == f"row 103 (id {shown})"
    assert format_id(np.datetime64("2026-01-31")) == "2026-01-31"
    assert format_id(("a", 1)) == "('a', 1)"


def test_names():
    assert default_names(2) == ("view0", "view1")
    assert unique_names(["a", 1, None]) == ("a", "1", "None")
    with pytest.raises(vp.DataError, match="two views are named '1'"):
        unique_names([1, "a", "1"])


widths = st.lists(st.one_of(st.none(), st.integers(1, 3)), min_size=2, max_size=2).map(tuple)


@law
@given(first=widths, second=widths, third=widths)
def test_schemas_grow_and_never_change(first, second, third):
    def merged(*schemas):
        try:
            whole = Schema(("a", "b"), schemas[0])
            for other in schemas[1:]:
                whole = whole.merged(Schema(("a", "b"), other))
        except vp.DataError:
            return None
        return whole

    assert merged(first, first) == merged(first)
    assert merged(first, second) == merged(second, first)
    one, other = merged(first, second, third), merged(third, first, second)
    assert one == other
    agree = all(len({w[v] for w in (first, second, third)} - {None}) <= 1 for v in range(2))
    assert (one is not None) == agree


def test_errors_say_how_schemas_differ():
    mine = Schema(("a", "b"), (4, None))
    with pytest.raises(vp.DataError, match="view 'a': 5 columns where 4 were expected"):
        mine.merged(Schema(("a", "b"), (5, 2)))
    with pytest.raises(vp.DataError, match="view 'c' is unknown; the views are 'a', 'b'"):
        mine.merged(Schema(("a", "c"), (4, 2)))
    with pytest.raises(vp.DataError, match="'b', 'a' come in another order than 'a', 'b'"):
        mine.merged(Schema(("b", "a"), (None, 4)))
    with pytest.raises(vp.DataError, match=r"1 views \('a'\) where 2 .* Pass None"):
        mine.merged(Schema(("a",), (4,)))


def test_columns_that_are_known_must_stay():
    named = Schema(("a", "b"), (2, None), (("x", "y"), None))
    assert Schema(("a", "b"), (2, None)).merged(named) == named
    assert named.merged(Schema(("a", "b"), (2, None))) == named
    grown = named.merged(Schema(("a", "b"), (None, 1), (None, (7,))))
    assert grown == Schema(("a", "b"), (2, 1), (("x", "y"), (7,)))
    with pytest.raises(vp.DataError, match="view 'a': column 1 is 'z' where 'y' was expected"):
        grown.merged(Schema(("a", "b"), (2, None), (("x", "z"), None)))
