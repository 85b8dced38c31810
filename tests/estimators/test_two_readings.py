"""Input that can be read in two ways, or in none, is refused with the call that says what is meant."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate, learning_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import viewpass as vp
from inputs import GAPS, IMAGE, TEXT, N, small
from zipped import zipped

BOTH = np.hstack([IMAGE, TEXT])


def of_objects(parts):
    made = np.empty(len(parts), dtype=object)
    made[:] = parts
    return made


BOTH_READINGS = r"rows of one matrix or views of one column each.*np\.stack\(X\).*np\.reshape\(x, \(-1, 1\)\)"
TWO_READINGS = {
    "rows": lambda: list(IMAGE),
    "a tuple of rows": lambda: tuple(IMAGE),
    "columns": lambda: [IMAGE[:, j] for j in range(4)],
    "series": lambda: [pd.Series(IMAGE[:, j]) for j in range(4)],
    "polars series": lambda: [pl.Series(IMAGE[:, j]) for j in range(4)],
    "one array": lambda: [IMAGE[0]],
    "a row of each view": lambda: [IMAGE[0], TEXT[0]],
    "arrays and lists": lambda: [IMAGE[0].tolist(), IMAGE[1]],
}


@pytest.mark.parametrize("what", TWO_READINGS)
@pytest.mark.parametrize("estimator", [vp.ViewPass, vp.IMC])
def test_a_list_of_flat_arrays_is_refused_with_both_readings(estimator, what):
    model = small(estimator)
    with pytest.raises(ValueError, match=BOTH_READINGS):
        model.fit(TWO_READINGS[what]())
    model.fit([IMAGE, TEXT])
    with pytest.raises(ValueError, match=BOTH_READINGS):
        model.predict(TWO_READINGS[what]())


def test_both_readings_are_accepted_when_said():
    rows = small().fit(np.stack(list(IMAGE)))
    np.testing.assert_array_equal(rows.labels_, small().fit(IMAGE.tolist()).labels_)  # nested lists are rows
    columns = small(scale="unit").fit([np.reshape(x, (-1, 1)) for x in IMAGE.T])
    assert columns.view_names_in_ == ("view0", "view1", "view2", "view3")


# ---- splits of a list of views


def searched(model, X, **how):
    return GridSearchCV(model, {"alpha": [0.1, 1.0]}, cv=2, **how).fit(X)


SPLITS = {
    "search": searched,
    "search, raising": lambda model, X: searched(model, X, error_score="raise"),
    "cross_validate": lambda model, X: cross_validate(model, X, cv=2),
    "cross_val_predict": lambda model, X: cross_val_predict(model, X, cv=2),
    "learning_curve": lambda model, X: learning_curve(
        model, X, None, cv=2, train_sizes=[1, 2], error_score="raise"
    ),
}


@pytest.mark.parametrize("how", SPLITS)
@pytest.mark.parametrize(
    "X", [[IMAGE, TEXT, IMAGE, TEXT], (IMAGE, IMAGE, IMAGE, IMAGE)], ids=["list", "tuple"]
)
def test_splits_of_a_list_of_views_are_refused(how, X):
    with pytest.raises(ValueError, match=r"splits a list of views into 4 samples.*np\.hstack\(views\)"):
        SPLITS[how](small(), X)


def test_splits_of_rows_are_none_of_our_business():
    assert np.isfinite(searched(small(views=[4, 5]), BOTH).best_score_)
    views = FunctionTransformer(
        lambda X: [X[:, :4], X[:, 4:]]
    )  # the split is one of rows, the views come later
    scores = cross_validate(make_pipeline(views, small()), BOTH, cv=2, error_score="raise")["test_score"]
    assert np.isfinite(scores).all()


# ---- containers and odd matrices


class Untouchable:
    """Data that takes for ever, or all memory, if anything in it is read."""

    def _read(self, *_):
        raise AssertionError("it was read")

    __iter__ = __len__ = __getitem__ = __array__ = _read


def fake(module, name, **also):
    """A class as of a library that is not installed."""
    return type(name, (Untouchable,), {"__module__": f"{module}._core.{name.lower()}", **also})


MuData, AnnData = fake("mudata", "MuData"), fake("anndata", "AnnData")
NO_READING = {
    "list of AnnData": (lambda: [AnnData(), AnnData()], r"vp\.frames\(\{'rna': X\[0\], \.\.\.\}\)"),
    "dict of AnnData": (lambda: {"rna": AnnData()}, r"vp\.frames\(X\)"),
    "list of MuData": (lambda: [MuData(), MuData()], r"may be given as it is"),
    "array and AnnData": (lambda: [IMAGE, AnnData()], r"vp\.frames"),
    "objects, views": (lambda: of_objects([IMAGE, TEXT]), r"give a list of them: `list\(X\)`"),
    "objects, rows": (lambda: of_objects(list(IMAGE)), r"Stack them: `np\.stack\(X\)`"),
    "3-D": (lambda: np.stack([IMAGE, IMAGE]), r"3 dimension.*`list\(X\)`"),
    "iterator": (lambda: iter([IMAGE, TEXT]), r"`list\(X\)` of an iterator"),
    "generator": (lambda: (x for x in [IMAGE, TEXT]), r"`list\(X\)` of an iterator"),
    "values of a dict": (lambda: {"a": IMAGE}.values(), r"`list\(X\)`"),
    "rows as dicts": (lambda: [{"image": x} for x in IMAGE], r"list of 48 dicts.*pandas\.DataFrame\(X\)"),
    "series of lists": (lambda: pd.Series(IMAGE.tolist()), r"\{'text': X\}"),
    "series": (lambda: pd.Series(IMAGE[:, 0]), r"X\.to_frame\(\)"),
    "None": (lambda: None, "a list or dict with one matrix per view"),
    "sparse frame": (
        lambda: [pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(IMAGE)), TEXT],
        r"Sparse\[float64, 0(\.0)?\] values.*`x\.sparse\.to_coo\(\)\.tocsr\(\)`",
    ),
    "lists beside arrays": (lambda: {"a": pd.Series(IMAGE.tolist()), "b": TEXT}, r"np\.stack\(x\)"),
    "no such file": (lambda: "items.parqet", r"items\.parqet"),
}


@pytest.mark.parametrize("what", NO_READING)
@pytest.mark.parametrize("estimator", [vp.ViewPass, vp.MIC])
def test_what_has_no_reading_is_refused_at_once_with_the_call_that_has(estimator, what):
    make, message = NO_READING[what]
    model = small(estimator)
    before = dict(vars(model))
    with pytest.raises(vp.DataError, match=message):
        model.fit(make())
    assert vars(model) == before


# ---- masks

NAMES = ["image", "text"]
VIEWS = {"image": IMAGE, "text": TEXT}
IDS = pd.Index([f"i{k}" for k in range(N)])
MASK = pd.DataFrame(GAPS, columns=NAMES)
FRAMES = {name: pd.DataFrame(x, index=IDS) for name, x in VIEWS.items()}

MASKS = {
    "frame": MASK,
    "columns in another order": MASK[NAMES[::-1]],
    "polars": pl.from_pandas(MASK[NAMES[::-1]]),
    "unnamed columns": pd.DataFrame(GAPS),
    "whole numbers": MASK[NAMES[::-1]].astype(int),
    "sparse": sp.csr_array(GAPS),
    "sparse matrix": sp.coo_matrix(GAPS),
    "dict": {"text": GAPS[:, 1], "image": GAPS[:, 0]},
    "dict of lists": {"text": GAPS[:, 1].tolist(), "image": GAPS[:, 0].tolist()},
    "dict of series": {name: MASK[name] for name in NAMES[::-1]},
}


@pytest.mark.parametrize(("form", "estimator"), zipped(MASKS, [vp.ViewPass, vp.IMC]))
def test_a_mask_in_any_form_is_matched_by_name(estimator, form):
    model, plain = (small(estimator).fit(VIEWS, observed=given) for given in (MASKS[form], GAPS))
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    assert [counts.sum() for counts in model.counts_] == GAPS.sum(axis=0).tolist()
    for X in (VIEWS, [IMAGE, TEXT]):
        np.testing.assert_array_equal(model.predict(X, observed=MASKS[form]), plain.labels_)
    np.testing.assert_array_equal(
        model.transform(VIEWS, observed=MASKS[form]), plain.transform(VIEWS, observed=GAPS)
    )


def test_a_mask_of_a_cut_array_is_matched_by_name_and_index():
    plain = small(views=[4, 5]).fit(BOTH, observed=GAPS)
    mask = pd.DataFrame(GAPS[:, ::-1], columns=["view1", "view0"], index=IDS)
    model = small(views=[4, 5]).fit(pd.DataFrame(BOTH, index=IDS).add_prefix("c"), observed=mask[::-1])
    np.testing.assert_array_equal(model.labels_, plain.labels_)


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_rows_of_a_mask_are_matched_by_index(order):
    mask = MASK.set_axis(IDS)[order]
    for given in (mask, {name: mask[name] for name in NAMES}):
        model = small().fit(FRAMES, observed=given)
        np.testing.assert_array_equal(model.labels_, small().fit(VIEWS, observed=GAPS).labels_)


UNFIT = {
    "other names": (
        VIEWS,
        MASK.set_axis(["image", "audio"], axis=1),
        "observed is given for 'image', 'audio'",
    ),
    "a list has no names": ([IMAGE, TEXT], MASK, "the views are 'view0', 'view1'.*or give an array"),
    "a name too few": (VIEWS, {"image": GAPS[:, 0]}, "observed is given for 'image'; the views are"),
    "a name too many": (VIEWS, MASK.assign(audio=True), "observed is given for 'image', 'text', 'audio'"),
    "equal names": (
        VIEWS,
        MASK.set_axis(["image", "image"], axis=1),
        "observed is given for 'image', 'image'",
    ),
    "an index for arrays": (VIEWS, MASK.set_axis(IDS), r"views are arrays.*`\.to_numpy\(\)`"),
    "rows shuffled": (VIEWS, MASK[::-1], r"views are arrays.*`\.to_numpy\(\)`"),
    "another index": (FRAMES, MASK, "index of observed does not fit that of the views: 0 is no row"),
    "fewer rows": (FRAMES, MASK.set_axis(IDS)[:-1], "does not fit that of the views: 47 rows for 48"),
    "lengths": (
        VIEWS,
        {"image": GAPS[:, 0], "text": GAPS[1:, 1]},
        r"shapes 'image': \(48,\), 'text': \(47,\)",
    ),
    "sparse, views": (VIEWS, sp.csr_array(GAPS[:, :1]), r"shape \(48, 1\), \(48, 2\) was expected"),
    "values": (VIEWS, {"image": GAPS[:, 0], "text": GAPS[:, 1] * 2}, "observed must hold True and False"),
    "a null": (VIEWS, MASK.astype("boolean").mask(MASK.index.to_series() == 3), "must hold True and False"),
    "a table of lists": (pd.DataFrame({"image": IMAGE.tolist()}), MASK, "observed= is for arrays"),
}


@pytest.mark.parametrize("what", UNFIT)
def test_a_mask_that_does_not_fit_is_refused(what):
    X, observed, message = UNFIT[what]
    with pytest.raises(vp.DataError, match=message):
        small().fit(X, observed=observed)


def named_frames(as_list):
    """Two frames with named columns."""
    a, b = pd.DataFrame(IMAGE, columns=list("pqrs")), pd.DataFrame(TEXT, columns=list("tuvwx"))
    return [a, b] if as_list else {"a": a, "b": b}


def changed(frames, change):
    found = [change(frame) for frame in (frames if isinstance(frames, list) else frames.values())]
    return found if isinstance(frames, list) else dict(zip(frames, found, strict=True))


@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("kind", [vp.ViewPass, vp.OPIMC, vp.IMC])
def test_columns_of_frames_are_matched_by_name(kind, as_list, tmp_path):
    frames = named_frames(as_list)
    model = small(kind).fit(frames)
    reordered = changed(frames, lambda frame: frame[frame.columns[::-1]])
    renamed = changed(frames, lambda frame: frame.rename(columns=str.upper))
    model.save(tmp_path / "model.viewpass")
    for each in (model, vp.load(tmp_path / "model.viewpass")):
        np.testing.assert_array_equal(each.predict(reordered), model.predict(frames))
        np.testing.assert_array_equal(each.transform(reordered), model.transform(frames))
        np.testing.assert_array_equal(
            each.predict(changed(frames, lambda x: x.to_numpy())), model.predict(frames)
        )
        with pytest.raises(vp.DataError, match="column 0 is 'P' where 'p' was expected"):
            each.predict(renamed)
        if hasattr(each, "partial_fit"):
            with pytest.raises(vp.DataError, match="column 0 is 'P'"):
                each.partial_fit(renamed)
    if hasattr(model, "partial_fit"):
        one, other = (small(kind).partial_fit(frames).partial_fit(more) for more in (frames, reordered))
        np.testing.assert_array_equal(one.predict(frames), other.predict(frames))
        assert one.statistics_ == other.statistics_
