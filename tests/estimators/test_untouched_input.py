"""The caller's data is read, never written, and not needed after the call."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import viewpass as vp
from inputs import FORMS, GAPS, IMAGE, TEXT, N, assert_same, csr, learnt, read_only, small
from zipped import zipped

ESTIMATORS = {
    "ViewPass": lambda **more: small(**more),
    "ViewPass, solved again": lambda **more: small(sample_size=20, **more),
    "OPIMC": lambda **more: small(vp.OPIMC, **more),
    "IMC": lambda **more: small(vp.IMC, n_init=2, **more),
    "ViewPass, idf": lambda **more: small(scale="idf", **more),
}
HOLDERS = sorted(FORMS.keys() - {"nested lists", "nested tuples"})  # forms that hold memory of their own


def memory(x):
    """The arrays that a form of a matrix consists of."""
    if sp.issparse(x) and x.format in ("csr", "csc", "bsr"):
        return [x.data, x.indices, x.indptr]
    if sp.issparse(x):
        return [np.array(x.toarray())]
    if isinstance(x, pd.DataFrame):
        return [x.to_numpy(copy=True), x.index.to_numpy(copy=True), x.columns.to_numpy(copy=True)]
    if isinstance(x, pl.DataFrame):
        return [x.to_numpy(writable=True)]
    return [x]


def snapshot(x):
    """What the caller could notice: contents, types, places in memory, flags."""
    shot = [(array.copy(), array.dtype, array.__array_interface__["data"][0]) for array in memory(x)]
    if sp.issparse(x) and x.format == "csr":
        return [*shot, x.shape, {name for name in vars(x) if "sorted" in name or "canonical" in name}]
    return [pair[:2] for pair in shot] if not isinstance(x, np.ndarray) else [*shot, x.flags.writeable]


def use(model, views, observed):
    model.fit(views, observed=observed)
    model.predict(views, observed=observed)
    model.transform(views, observed=observed)
    model.score(views, observed=observed)
    model.fit_predict(views, observed=observed)
    model.fit_transform(views, observed=observed)
    if hasattr(model, "partial_fit"):
        model.partial_fit(views, observed=observed).partial_fit(views, observed=observed)


@pytest.mark.parametrize(("form", "estimator"), zipped(HOLDERS, ESTIMATORS))
def test_no_method_writes_to_its_input(estimator, form):
    views = [FORMS[form](IMAGE), FORMS[form](TEXT.astype(np.float32))]
    observed = GAPS.copy()
    before = [snapshot(x) for x in [*views, observed]]
    use(ESTIMATORS[estimator](), views, observed)
    np.testing.assert_equal([snapshot(x) for x in [*views, observed]], before)


@pytest.mark.parametrize("form", list(HOLDERS)[::3])
def test_centring_does_not_write_to_its_input(form):
    views = [FORMS[form](IMAGE), FORMS[form](TEXT.astype(np.float32))]
    before = [snapshot(x) for x in views]
    use(small(scale="standard"), views, GAPS)
    np.testing.assert_equal([snapshot(x) for x in views], before)


@pytest.mark.parametrize("form", ["array", "csr_array", "csr, columns unsorted", "csr, values in halves"])
@pytest.mark.parametrize("estimator", ["OPIMC", "IMC"])
def test_rescaling_and_sorting_rows_is_done_on_a_copy(estimator, form):
    image = IMAGE.copy()
    if "," not in form:
        image[::3] = np.ldexp(image[::3], -1066)
    views = [FORMS[form](image), FORMS[form](TEXT)]
    before = [snapshot(x) for x in views]
    use(ESTIMATORS[estimator](), views, None)
    np.testing.assert_equal([snapshot(x) for x in views], before)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_dict_a_2d_array_and_a_list_stay_as_they_are(estimator):
    views = {"image": IMAGE.copy(), "text": csr(TEXT)}
    both = np.hstack([IMAGE, TEXT])
    listed = [IMAGE.copy(), TEXT.copy()]
    kept = list(views.values()), list(listed), both.copy()
    for x in (views, listed):
        use(ESTIMATORS[estimator](), x, None)
    use(ESTIMATORS[estimator](views=[4, 5]), both, None)
    assert list(views) == ["image", "text"]
    assert all(a is b for a, b in zip(views.values(), kept[0], strict=True))
    assert all(a is b for a, b in zip(listed, kept[1], strict=True))
    np.testing.assert_array_equal(both, kept[2])


@pytest.mark.parametrize(("kind", "estimator"), zipped(["pandas", "polars", "pandas nullable"], ESTIMATORS))
def test_frames_stay_as_they_are(estimator, kind):
    image = pd.DataFrame(IMAGE, columns=list("abcd")).assign(id=range(N))
    text = pd.DataFrame(TEXT, columns=list("vwxyz")).assign(id=range(N))[::-1]
    if kind == "pandas nullable":
        image = image.astype("Float64")
    if kind == "polars":
        image, text = pl.from_pandas(image), pl.from_pandas(text)
    before = [x.clone() if kind == "polars" else x.copy(deep=True) for x in (image, text)]
    use(ESTIMATORS[estimator](), vp.frames({"image": image, "text": text}, id="id"), None)
    for x, y in zip((image, text), before, strict=True):
        if kind == "polars":
            assert x.equals(y)
        else:
            pd.testing.assert_frame_equal(x, y)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_refused_input_stays_as_it_is(estimator):
    image = IMAGE.copy()
    image[40, 1] = np.nan
    for views in ([image, TEXT.copy()], [csr(image), csr(TEXT, flip=True)]):
        before = [snapshot(x) for x in views]
        with pytest.raises(vp.DataError, match="row 40"):
            ESTIMATORS[estimator]().fit(views)
        np.testing.assert_equal([snapshot(x) for x in views], before)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_everything_may_be_read_only(estimator):
    views, observed = [read_only(IMAGE), read_only(TEXT)], read_only(GAPS)
    model, writable = ESTIMATORS[estimator](), ESTIMATORS[estimator]()
    use(model, views, observed)
    use(writable, [IMAGE, TEXT], GAPS)
    assert_same(learnt(model), learnt(writable))
    rows = [sp.csr_array((read_only(r.data), read_only(r.indices), read_only(r.indptr)), shape=r.shape)
            for r in (csr(IMAGE), csr(TEXT))]  # fmt: skip
    model, writable = ESTIMATORS[estimator](), ESTIMATORS[estimator]()
    use(model, rows, observed)
    use(writable, [csr(IMAGE), csr(TEXT)], GAPS)
    assert_same(learnt(model), learnt(writable))


# ---- no reference to the caller's data is kept


def spoil(*given):
    for x in given:
        for array in [x.data, x.indices, x.indptr] if sp.issparse(x) else [x]:
            array[...] = 1


SPOILABLE = [
    "array",
    "Fortran order",
    "strided",
    "big-endian",
    "csr_array",
    "csr, long indices",
    "csr, values in halves",
]


@pytest.mark.parametrize(
    ("form", "settings"),
    zipped(SPOILABLE, [{}, {"sample_size": 25}, {"consensus": "plain"}, {"scale": "idf"}]),
)
def test_a_chunk_may_be_overwritten_after_partial_fit(settings, form):
    model, twin = small(**settings), small(**settings)
    for rows in (slice(0, 20), slice(20, 30), slice(30, N)):
        views = [FORMS[form](IMAGE[rows]), FORMS[form](TEXT[rows])]
        observed = GAPS[rows].copy()
        model.partial_fit(views, observed=observed)
        spoil(*views, observed)
        twin.partial_fit([IMAGE[rows], TEXT[rows]], observed=GAPS[rows])
        assert_same(learnt(model), learnt(twin))


@pytest.mark.parametrize(("form", "estimator"), zipped(SPOILABLE, ESTIMATORS))
def test_data_may_be_overwritten_after_fit(estimator, form):
    views, observed = [FORMS[form](IMAGE), FORMS[form](TEXT)], GAPS.copy()
    model = ESTIMATORS[estimator]().fit(views, observed=observed)
    spoil(*views, observed)
    assert_same(learnt(model), learnt(ESTIMATORS[estimator]().fit([IMAGE, TEXT], observed=GAPS)))


def test_frames_may_be_changed_after_partial_fit():
    def items():
        return {"image": pd.DataFrame(IMAGE.copy()), "text": pd.DataFrame(TEXT.copy())}

    frames = items()
    model = small().partial_fit(vp.frames(frames))
    for frame in frames.values():
        frame.iloc[:] = 1.0
    twin = small().partial_fit(vp.frames(items()))
    for each in (model, twin):
        each.partial_fit([IMAGE, TEXT])
    assert_same(learnt(model), learnt(twin))


@pytest.mark.parametrize("kind", ["labels", "memberships", "centres"])
def test_initial_centres_or_labels_may_be_overwritten(kind):
    def start():
        if kind == "labels":
            return np.arange(N) % 3
        return (
            np.eye(3)[np.arange(N) % 3] * 0.5 + 0.1
            if kind == "memberships"
            else [IMAGE[:3].copy(), TEXT[:3].copy()]
        )

    init = start()
    no_views = [np.full_like(IMAGE, np.nan), None]  # the start waits for the first row that has a view
    model = small(vp.OPIMC, init=init).partial_fit(no_views)
    for part in init if kind == "centres" else [init]:
        part[...] = 0
    model.partial_fit([IMAGE, TEXT])
    twin = small(vp.OPIMC, init=start()).partial_fit(no_views).partial_fit([IMAGE, TEXT])
    np.testing.assert_array_equal(model.stream_labels_, twin.stream_labels_)
    assert model.statistics_ == twin.statistics_


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_returned_arrays_may_be_overwritten(estimator):
    model = ESTIMATORS[estimator]().fit([IMAGE, TEXT])
    labels = model.predict([IMAGE, TEXT])
    for given in (*model.cluster_centers_, *model.counts_, *model.statistics_.steps):
        given[...] = 0
    np.testing.assert_array_equal(model.predict([IMAGE, TEXT]), labels)
    assert_same(learnt(model), learnt(ESTIMATORS[estimator]().fit([IMAGE, TEXT])))
