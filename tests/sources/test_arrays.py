"""Arrays: every form of the same numbers gives the same result."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import viewpass as vp
from inputs import (
    DENSE,
    FORMS,
    GAPS,
    IMAGE,
    SPARSE,
    TEXT,
    N,
    assert_same,
    csr,
    dense,
    learnt,
    small,
    with_gaps,
)
from viewpass.sources.arrays import ArraySource
from zipped import zipped

law = settings(max_examples=30, deadline=None)


def rows_of(source, size=N):
    """What all chunks hold, put together again."""
    chunks = list(source.chunks(size))
    views = [
        None if chunks[0].views[v] is None else np.concatenate([dense(chunk.views[v]) for chunk in chunks])
        for v in range(len(chunks[0].names))
    ]
    return chunks, views


# ---- forms


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_form_is_read_as_the_same_numbers(form, dtype):
    x = IMAGE.astype(dtype)
    _, (read,) = rows_of(ArraySource([FORMS[form](x)]), size=7)
    np.testing.assert_array_equal(read, x)


@pytest.mark.parametrize(
    "form", sorted(FORMS.keys() - {"objects", "nested lists", "nested tuples", "long double"})
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_data_keeps_its_own_float(form, dtype):
    chunks, _ = rows_of(ArraySource([FORMS[form](IMAGE.astype(dtype))]), size=7)
    assert {chunk.views[0].dtype for chunk in chunks} == {np.dtype(dtype)}


@pytest.mark.parametrize("form", FORMS)
def test_sparse_stays_sparse_and_dense_dense(form):
    chunks, _ = rows_of(ArraySource([FORMS[form](IMAGE)]), size=7)
    assert {sp.issparse(chunk.views[0]) for chunk in chunks} == {form in SPARSE}


@pytest.mark.parametrize(("form", "estimator"), zipped(FORMS, [vp.ViewPass, vp.IMC]))
def test_every_form_gives_the_same_clusters(form, estimator):
    plain = small(estimator).fit([IMAGE, TEXT])
    other = small(estimator).fit([FORMS[form](IMAGE), FORMS[form](TEXT)])
    assert_same(learnt(other), learnt(plain))
    np.testing.assert_array_equal(other.transform([FORMS[form](IMAGE), TEXT]), plain.transform([IMAGE, TEXT]))


@pytest.mark.parametrize("dtype", ["?", "b", "B", "h", "H", "i", "I", "l", "L", "q", "Q", "e"])
def test_integers_bools_and_halves_are_numbers(dtype):
    x = np.abs(IMAGE).astype(dtype)
    model = small().fit([x.astype(np.float64), TEXT])
    for form in (np.array,) if dtype == "e" else (np.array, sp.csr_array):  # SciPy has no sparse float16
        np.testing.assert_array_equal(small().fit([form(x), TEXT]).labels_, model.labels_)
        np.testing.assert_array_equal(model.predict([form(x), TEXT]), model.labels_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_read_only_memory_maps(tmp_path, dtype):
    paths = [tmp_path / "image.npy", tmp_path / "text.npy"]
    for path, x in zip(paths, (IMAGE, TEXT), strict=True):
        np.save(path, x.astype(dtype))
    maps = [np.load(path, mmap_mode="r") for path in paths]
    model = small().fit(maps)
    assert_same(learnt(model), learnt(small().fit([IMAGE.astype(dtype), TEXT.astype(dtype)])))
    np.testing.assert_array_equal(model.predict(maps), model.labels_)


def test_contiguous_floats_are_not_copied():
    for x in (IMAGE, IMAGE.astype(np.float32)):
        for chunk in ArraySource([x]).chunks(10):
            assert np.shares_memory(chunk.views[0], x)


def test_lists_tuples_dicts_and_mixtures_of_forms():
    labels = small().fit([IMAGE, TEXT]).labels_
    for views in (
        (IMAGE, TEXT),
        {"image": IMAGE, "text": TEXT},
        [IMAGE.tolist(), TEXT.tolist()],
        [csr(IMAGE), TEXT.tolist()],
        {"image": IMAGE.astype(np.float32), "text": sp.csc_array(TEXT)},
        {1: IMAGE, None: TEXT},
    ):
        np.testing.assert_array_equal(small().fit(views).labels_, labels)


# ---- chunks


@law
@given(n_rows=st.integers(1, 40), size=st.integers(1, 50), masked=st.booleans(), sparse=st.booleans())
def test_chunks_put_together_are_the_data(n_rows, size, masked, sparse):
    x, observed = IMAGE[:n_rows], GAPS[:n_rows, :1] if masked else None
    chunks, (read,) = rows_of(ArraySource([csr(x) if sparse else x], observed), size)
    np.testing.assert_array_equal(read, x)
    assert [chunk.start for chunk in chunks] == list(range(0, n_rows, size))
    assert [chunk.n_rows for chunk in chunks[:-1]] == [size] * (len(chunks) - 1)
    if masked:
        np.testing.assert_array_equal(np.concatenate([chunk.observed for chunk in chunks]), observed)


def test_a_source_can_be_read_again():
    source = ArraySource([IMAGE, csr(TEXT)], GAPS)
    for _ in range(2):
        _, (image, text) = rows_of(source, 9)
        np.testing.assert_array_equal(image, IMAGE)
        np.testing.assert_array_equal(text, TEXT)


# ---- names and order


@law
@given(
    order=st.permutations(["a", "b", "c"]),
    kept=st.sets(st.sampled_from("abc"), min_size=1),
    masked=st.booleans(),
)
def test_views_are_found_by_name_and_absent_where_not_given(order, kept, masked):
    data = {"a": IMAGE, "b": TEXT, "c": csr(IMAGE)}
    names = [name for name in order if name in kept]
    mask = np.column_stack([np.arange(N) % (3 + ord(name) % 3) > 0 for name in "abc"])
    mine = mask[:, ["abc".index(name) for name in names]] if masked else None
    source = ArraySource({name: data[name] for name in names}, mine).arranged(("a", "b", "c"))
    (chunk,) = source.chunks(N)
    assert chunk.names == ("a", "b", "c")
    for v, name in enumerate("abc"):
        if name in kept:
            np.testing.assert_array_equal(dense(chunk.views[v]), dense(data[name]))
            if masked:
                np.testing.assert_array_equal(chunk.observed[:, v], mask[:, v])
        else:
            assert chunk.views[v] is None


def test_a_dict_in_another_order_or_without_a_view():
    model = small().fit({"image": IMAGE, "text": TEXT})
    assert model.view_names_in_ == ("image", "text")
    np.testing.assert_array_equal(model.predict({"text": TEXT, "image": IMAGE}), model.labels_)
    np.testing.assert_array_equal(model.predict([IMAGE, TEXT]), model.labels_)
    np.testing.assert_array_equal(model.predict({"text": TEXT}), model.predict([None, TEXT]))
    np.testing.assert_array_equal(
        model.transform({"text": TEXT}), model.transform({"image": None, "text": TEXT})
    )
    flipped = model.predict({"text": TEXT, "image": IMAGE}, observed=GAPS[:, ::-1])
    np.testing.assert_array_equal(flipped, model.predict([IMAGE, TEXT], observed=GAPS))


def test_views_that_no_row_has_are_absent():
    n = len(IMAGE)
    for absent in (None, np.empty((n, 0)), sp.csr_array((n, 0)), np.full((n, 3), np.nan), np.zeros((n, 3))):
        model = small().fit([IMAGE, absent])
        np.testing.assert_array_equal(model.labels_, small().fit([IMAGE, None]).labels_)
        assert model.counts_[1].sum() == 0
    model = small().fit([IMAGE, TEXT])
    for absent in (None, np.empty((n, 0)), sp.csr_array((n, 0)), np.full((n, 5), np.nan)):
        np.testing.assert_array_equal(model.predict([IMAGE, absent]), model.predict([IMAGE, None]))


def test_a_view_may_come_later():
    late = small().partial_fit([IMAGE[:20], None]).partial_fit([IMAGE[20:], TEXT[20:]])
    nan = np.full((20, 5), np.nan)
    first = small().partial_fit([IMAGE[:20], nan]).partial_fit([IMAGE[20:], TEXT[20:]])
    np.testing.assert_array_equal(late.stream_labels_, first.stream_labels_)
    assert late.statistics_ == first.statistics_


# ---- missing, in all its forms


MISSING = {
    "NaN rows": lambda: (with_gaps(np.nan), None),
    "zero rows": lambda: (with_gaps(0.0), None),
    "mask": lambda: ([IMAGE, TEXT], GAPS),
    "mask of 0 and 1": lambda: ([IMAGE, TEXT], GAPS.astype(int)),
    "mask as lists": lambda: ([IMAGE, TEXT], GAPS.tolist()),
    "mask over NaN": lambda: (with_gaps(np.nan), GAPS),
    "mask over inf": lambda: (with_gaps(np.inf), GAPS),
    "mask and NaN, half each": lambda: ([with_gaps(np.nan)[0], TEXT], GAPS | [True, False]),
    "NaN rows, sparse": lambda: ([csr(x) for x in with_gaps(np.nan)], None),
    "empty rows, sparse": lambda: ([csr(x) for x in with_gaps(0.0)], None),
    "mask, sparse": lambda: ([csr(IMAGE), csr(TEXT)], GAPS),
    "None in objects": lambda: (
        [np.where(np.isnan(x), None, x.astype(object)) for x in with_gaps(np.nan)],
        None,
    ),
}


@pytest.mark.parametrize(("how", "estimator"), zipped(MISSING, [vp.ViewPass, vp.OPIMC, vp.IMC]))
def test_all_ways_to_mark_missing_views_are_equivalent(how, estimator):
    views, observed = MISSING[how]()
    plain = small(estimator).fit([IMAGE, TEXT], observed=GAPS)
    model = small(estimator).fit(views, observed=observed)
    assert_same(learnt(model), learnt(plain))
    for method in ("predict", "transform", "score"):
        mine = getattr(model, method)(views, observed=observed)
        np.testing.assert_array_equal(mine, getattr(plain, method)([IMAGE, TEXT], observed=GAPS))
    if estimator is not vp.IMC:
        mine = small(estimator).partial_fit(views, observed=observed)
        assert_same(learnt(mine), learnt(small(estimator).partial_fit([IMAGE, TEXT], observed=GAPS)))


@pytest.mark.parametrize("estimator", [vp.ViewPass, vp.OPIMC])
def test_what_a_mask_hides_in_a_sparse_matrix_may_be_inf(estimator):
    model = small(estimator).fit([csr(x) for x in with_gaps(np.inf)], observed=GAPS)
    assert_same(learnt(model), learnt(small(estimator).fit([IMAGE, TEXT], observed=GAPS)))


@law
@given(st.integers(0, 2**32 - 1))
def test_a_row_without_any_view_gets_minus_one_and_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    unseen = rng.random(N) < 0.3
    seen = np.flatnonzero(~unseen)
    gap = rng.choice([np.nan, 0.0])
    views = [np.where(unseen[:, None], gap, x) for x in (IMAGE, TEXT)]
    model = small(vp.OPIMC, init=np.arange(N) % 3).fit(views)
    plain = small(vp.OPIMC, init=seen % 3).fit([IMAGE[seen], TEXT[seen]])
    assert (model.labels_[unseen] == -1).all()
    assert (model.stream_labels_[unseen] == -1).all()
    assert model.n_rows_without_views_ == unseen.sum()
    assert np.isnan(model.transform(views)[unseen]).all()
    assert (model.predict(views) == -1).tolist() == unseen.tolist()
    np.testing.assert_array_equal(model.labels_[seen], plain.labels_)
    assert model.statistics_ == plain.statistics_
    assert model.score(views) == model.score([IMAGE[seen], TEXT[seen]])


# ---- the direction of a row is all that counts


@pytest.mark.parametrize(
    ("form", "dtype", "exponent"),
    zipped(
        ["array", "csr_array", "Fortran order"],
        [(np.float64, e) for e in (-1066, -1030, -600, -500, 500, 600, 1018)]
        + [(np.float32, e) for e in (-140, 120)],
    ),
)
def test_rows_of_any_size_are_labelled_by_their_direction(form, dtype, exponent):
    model = small().fit([IMAGE, TEXT])
    image = IMAGE.astype(dtype)
    image[::2] = np.ldexp(image[::2], exponent)
    views = [FORMS[form](image), TEXT]
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    np.testing.assert_array_equal(model.transform(views), model.transform([IMAGE, TEXT]))
    other = small().fit(views)
    assert_same(learnt(other), learnt(small().fit([IMAGE, TEXT])))


@pytest.mark.parametrize("form", ["array", "csr_array"])
@pytest.mark.parametrize("exponent", [-1066, -600, 600])
def test_rows_of_any_size_seed_by_their_direction(form, exponent):
    image = IMAGE.copy()
    image[::2] = np.ldexp(image[::2], exponent)
    model = small().fit([FORMS[form](image), TEXT])
    assert_same(learnt(model), learnt(small().fit([IMAGE, TEXT])))


@pytest.mark.parametrize(
    ("form", "exponent"), [("csr, columns unsorted", -600), ("csr, values in halves", 600)]
)
def test_unsorted_rows_of_any_size(form, exponent):
    model = small().fit([IMAGE, TEXT])
    image = IMAGE.copy()
    image[::2] = np.ldexp(image[::2], exponent)
    np.testing.assert_array_equal(model.predict([SPARSE[form](image), TEXT]), model.labels_)


@pytest.mark.parametrize("form", DENSE)
def test_forms_may_change_between_fit_and_predict(form):
    model = small().fit([csr(IMAGE), TEXT])
    np.testing.assert_array_equal(model.predict([DENSE[form](IMAGE), csr(TEXT)]), model.labels_)
