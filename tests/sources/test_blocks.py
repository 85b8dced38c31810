"""One 2-D array cut into views gives the same results as the list of its blocks."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import viewpass as vp
from inputs import GAPS, IMAGE, TEXT, N, assert_same, csr, dense, learnt, small
from viewpass.sources.blocks import block_widths, cut

law = settings(max_examples=40, deadline=None)

BOTH = np.hstack([IMAGE, TEXT])


@law
@given(n_columns=st.integers(0, 60), n_views=st.integers(1, 70))
def test_near_equal_blocks_differ_by_one_at_most(n_columns, n_views):
    widths = block_widths(n_views, n_columns)
    assert len(widths) == n_views
    assert sum(widths) == n_columns
    assert max(widths) - min(widths) <= 1
    assert widths == sorted(widths, reverse=True)


@law
@given(widths=st.lists(st.integers(0, 9), min_size=1), data=st.data())
def test_minus_one_takes_the_rest(widths, data):
    rest = data.draw(st.integers(0, len(widths) - 1))
    asked = [-1 if v == rest else width for v, width in enumerate(widths)]
    assert block_widths(asked, sum(widths)) == widths
    assert block_widths(np.array(asked), sum(widths)) == widths
    assert block_widths(tuple(np.int32(width) for width in asked), sum(widths)) == widths
    assert block_widths(widths, sum(widths)) == widths


@law
@given(widths=st.lists(st.integers(0, 4), min_size=1, max_size=5), sparse=st.booleans())
def test_the_blocks_side_by_side_are_the_array(widths, sparse):
    n_columns = sum(widths)
    x = np.arange(3.0 * n_columns).reshape(3, n_columns)
    blocks = cut(sp.csr_array(x) if sparse else x, widths)
    assert [0 if block is None else block.shape[1] for block in blocks] == widths
    present = [dense(block) for block in blocks if block is not None]
    np.testing.assert_array_equal(np.hstack(present) if present else np.empty((3, 0)), x)


def test_none_is_one_view():
    assert block_widths(None, 7) == [7]


@pytest.mark.parametrize(
    "views",
    [
        *(0, -1, True, False, 2.0, "2", b"22", [], (), [-1, -1], [-2, 11], [2.5, 6.5], ["4", "5"], [True, 8]),
        *({4, 5}, {4: 5, 5: 4}, np.array(2), np.array([[4, 5]]), np.array([4.0, 5.0]), [None, 9]),
    ],
    ids=repr,
)
def test_invalid_views_are_refused(views):
    with pytest.raises(vp.SettingError, match="views="):
        block_widths(views, 9)
    with pytest.raises(vp.SettingError, match="views="):
        small(views=views).fit(BOTH)


@pytest.mark.parametrize("views", [[4, 4], [4, 6], [10, -1], [9, 1], [0], [1]])
def test_widths_that_do_not_add_up_are_refused(views):
    with pytest.raises(vp.DataError, match=r"do not add up to the 9 columns of X.*-1"):
        small(views=views).fit(BOTH)


@pytest.mark.parametrize(
    ("estimator", "views", "form"),
    [
        (vp.ViewPass, [4, 5], np.array),
        (vp.IMC, [4, -1], csr),
        (vp.ViewPass, [-1, 5], sp.csc_array),
        (vp.IMC, (4, 5), np.asfortranarray),
        (vp.ViewPass, np.array([4, 5]), lambda x: csr(x, flip=True)),
    ],
)
def test_a_cut_array_is_the_list_of_its_blocks(estimator, views, form):
    model = small(estimator, views=views).fit(form(BOTH))
    plain = small(estimator, views=views).fit([IMAGE, TEXT])
    assert_same(learnt(model), learnt(plain))
    np.testing.assert_array_equal(model.predict(form(BOTH)), model.predict([IMAGE, TEXT]))
    np.testing.assert_array_equal(plain.predict(form(BOTH)), plain.predict([IMAGE, TEXT]))
    np.testing.assert_array_equal(model.transform(form(BOTH)), model.transform([IMAGE, TEXT]))
    assert model.score(form(BOTH)) == model.score([IMAGE, TEXT])


def test_missing_views_of_a_cut_array():
    plain = small().fit([IMAGE, TEXT], observed=GAPS)
    gaps = BOTH.copy()
    gaps[:, :4][~GAPS[:, 0]] = np.nan
    gaps[:, 4:][~GAPS[:, 1]] = np.nan
    for x, observed in ((BOTH, GAPS), (gaps, None), (np.nan_to_num(gaps), None), (csr(BOTH), GAPS)):
        model = small(views=[4, 5]).fit(x, observed=observed)
        np.testing.assert_array_equal(model.labels_, plain.labels_)
        np.testing.assert_array_equal(model.predict(x, observed=observed), plain.labels_)


def test_an_empty_block_is_an_absent_view():
    model = small(views=[4, 0, 5]).fit(BOTH)
    np.testing.assert_array_equal(model.labels_, small().fit([IMAGE, None, TEXT]).labels_)
    assert [counts.sum() for counts in model.counts_] == [N, 0, N]
    np.testing.assert_array_equal(model.predict(BOTH), model.labels_)
    wide = small(views=12).fit(BOTH)
    assert [width is None for width in wide._fitted_model().schema.widths] == [False] * 9 + [True] * 3
    np.testing.assert_array_equal(wide.predict(BOTH), wide.labels_)


def test_nested_lists_are_an_array():
    model = small(views=2).fit(BOTH.tolist())
    np.testing.assert_array_equal(model.labels_, small(views=2).fit(BOTH).labels_)


@pytest.mark.parametrize("wrong", [-1, 9, 2**40])
@pytest.mark.parametrize("views", [None, [4, 5], 9])
def test_columns_outside_a_sparse_array_are_not_cut_away(wrong, views):
    rows = csr(BOTH, index=np.int64)
    entry = rows.indptr[7]  # the first entry of row 7
    rows.indices = rows.indices.astype(np.int64)
    rows.indices[entry] = wrong
    with pytest.raises(
        vp.DataError, match=r"row 7: a column number of the CSR matrix lies outside its 9 columns"
    ):
        small(views=views).fit(rows)


def test_another_width_is_refused():
    model = small(views=[4, 5]).fit(BOTH)
    with pytest.raises(ValueError, match="X has 8 features, but ViewPass is expecting 9"):
        model.predict(BOTH[:, :8])
