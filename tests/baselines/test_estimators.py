"""The baselines accept the same inputs as every estimator, and find planted clusters."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.utils._param_validation import InvalidParameterError

import authors
import viewpass as vp
from zipped import zipped

N = 90
_rng = np.random.default_rng(3)
GROUP = _rng.permutation(np.arange(N) % 3)
IMAGE = np.eye(3, 6)[GROUP] * (1 + 0.2 * _rng.random((N, 1))) + 0.1 * _rng.random((N, 6))
TEXT = np.eye(3, 5)[GROUP] * (1 + 0.2 * _rng.random((N, 1))) + 0.1 * _rng.random((N, 5))
GAPS = np.column_stack([np.arange(N) % 5 != 1, np.arange(N) % 7 != 2])
GAPS[~GAPS.any(axis=1)] = True
GAPS[11] = False  # the only row that lacks both
BOTH = np.hstack([IMAGE, TEXT])

MODELS = {
    "OMVC": lambda **more: vp.OMVC(3, **{"random_state": 0, "chunk_size": 30, **more}),
    "OMVC, weight 1": lambda **more: vp.OMVC(
        3, **{"random_state": 0, "weights": "one", "n_passes": 2, "chunk_size": 30, **more}
    ),
    "ONMF-I": lambda **more: vp.ONMF(3, **{"random_state": 0, "chunk_size": 30, **more}),
    "ONMF-DA": lambda **more: vp.ONMF(
        3, **{"random_state": 0, "hessian": "diagonal", "n_passes": 2, "chunk_size": 30, **more}
    ),
    "ONMF, filled by all": lambda **more: vp.ONMF(
        3, **{"random_state": 0, "fill": "mean", "chunk_size": 30, **more}
    ),
    "MultiNMF": lambda **more: vp.MultiNMF(
        3, **{"random_state": 0, "n_rounds": 3, "max_iter": 50, "n_tries": 2, **more}
    ),
    "MIC": lambda **more: vp.MIC(3, **{"random_state": 0, "n_tries": 2, "max_iter": 60, **more}),
    "DAIMC": lambda **more: vp.DAIMC(3, **{"random_state": 0, **more}),
}


@pytest.fixture(params=MODELS)
def make(request):
    return MODELS[request.param]


few = pytest.mark.parametrize("make", ["OMVC", "ONMF-DA", "MIC"], indirect=True)


@cache
def gapped(make):
    """The model of both views with gaps, which no test changes."""
    return make().fit([IMAGE, TEXT], observed=GAPS)


@cache
def whole(make):
    return make().fit([IMAGE, TEXT])


def same(mine, theirs, **close):
    np.testing.assert_array_equal(mine.labels_, theirs.labels_)
    for name in ("consensus_", "cluster_centers_", "objective_", "objective_curve_"):
        np.testing.assert_allclose(getattr(mine, name), getattr(theirs, name), err_msg=name, **close)
    for one, other in zip(mine.components_, theirs.components_, strict=True):
        np.testing.assert_allclose(one, other, **close)


def test_planted_groups_are_found(make):
    model = gapped(make)
    seen = model.labels_ >= 0
    assert np.flatnonzero(~seen).tolist() == [11]
    assert adjusted_rand_score(GROUP[seen], model.labels_[seen]) > 0.9
    assert model.labels_.dtype == np.int32
    assert model.n_rows_without_views_ == 1
    assert np.isnan(model.consensus_[11]).all()
    predicted = model.predict([IMAGE, TEXT], observed=GAPS)
    assert predicted[11] == -1
    assert adjusted_rand_score(GROUP[seen], predicted[seen]) > 0.9
    few_rows = model.predict([sp.csr_array(IMAGE[7:40]), sp.csr_array(TEXT[7:40])], observed=GAPS[7:40])
    np.testing.assert_array_equal(few_rows, predicted[7:40])


def test_planted_low_rank_is_recovered(make):
    rng = np.random.default_rng(1)
    U = 0.02 + np.eye(3)[GROUP]
    views = [U @ rng.random((3, width)) ** 3 for width in (8, 6)]
    model = make()
    more = {"n_passes": 6, "tol": 1e-9} if hasattr(model, "n_passes") else {}
    if isinstance(model, vp.OMVC | vp.MIC):
        more |= {"agreement": 1e-6, "sparsity": 0}
    if isinstance(model, vp.MultiNMF):
        more = {"n_rounds": 15, "agreement": 1e-6}
    model = make(**more).fit(views)
    scaled = sum(np.square(x / x.sum()).sum() for x in views)
    if isinstance(model, vp.ONMF | vp.DAIMC):  # rows of length 1
        scaled = 2 * N
    if not isinstance(model, vp.DAIMC):  # whose objective also has the alignment
        assert model.objective_ < 1e-2 * scaled


@few
def test_dense_and_sparse_are_the_same(make):
    dense = gapped(make)
    sparse = make().fit([sp.csr_array(IMAGE), sp.csc_array(TEXT)], observed=GAPS)
    same(dense, sparse, rtol=1e-5, atol=1e-9)


@few
def test_every_form_of_a_missing_view_gives_the_same(make):
    masked = gapped(make)
    for gap in (np.nan, 0.0):
        written = [np.where(GAPS[:, [v]], x, gap) for v, x in enumerate((IMAGE, TEXT))]
        same(make().fit(written), masked, rtol=0)
    frames = {
        name: pd.DataFrame(x[GAPS[:, v]], index=np.flatnonzero(GAPS[:, v]))
        for v, (name, x) in enumerate({"view0": IMAGE, "view1": TEXT}.items())
    }
    joined = make().fit(vp.frames(frames))
    assert len(joined.labels_) == N - 1
    assert len(joined.row_ids_) == N - 1
    hidden = [np.where(GAPS[:, [v]], x, 1e300) for v, x in enumerate((IMAGE, TEXT))]
    same(make().fit(hidden, observed=GAPS), masked, rtol=0)


@few
def test_a_2d_array_cut_by_views_and_a_dict_are_the_same(make):
    listed = whole(make)
    same(make(views=[6, -1]).fit(BOTH), listed, rtol=0)
    named = make().fit({"image": IMAGE, "text": TEXT})
    same(named, listed, rtol=0)
    assert named.view_names_in_ == ("image", "text")


@few
def test_float32_is_read_as_it_is(make):
    wide = gapped(make)
    narrow = make().fit([IMAGE.astype(np.float32), TEXT.astype(np.float32)], observed=GAPS)
    assert adjusted_rand_score(wide.labels_, narrow.labels_) > 0.95
    np.testing.assert_allclose(narrow.objective_, wide.objective_, rtol=0.05)


def test_threads_do_not_matter(make):
    same(make(n_threads=1).fit([IMAGE, TEXT]), make(n_threads=2).fit([IMAGE, TEXT]), rtol=0)


def test_a_view_that_no_row_has(make):
    model = make().fit([IMAGE, None, TEXT])
    assert adjusted_rand_score(GROUP, model.labels_) > 0.9
    assert model.components_[1].shape == (3, 0)


def test_negative_entries_are_clipped_with_one_warning(make):
    if isinstance(make(), vp.DAIMC):  # takes them as they are
        assert (make().fit([IMAGE - 0.05, TEXT]).components_[0] < 0).any()
        return
    spoilt = IMAGE - 0.05
    with pytest.warns(UserWarning, match="view 'view0': negative entries were set to 0") as warned:
        model = make().fit([spoilt, TEXT])
    assert len(warned) == 1
    assert warned[0].filename == __file__
    same(make().fit([np.maximum(spoilt, 0), TEXT]), model, rtol=1e-9)


@few
def test_input_stays_as_it_is_and_may_change_afterwards(make):
    views = [IMAGE.copy(), sp.csr_array(TEXT)]
    observed = GAPS.copy()
    model = make().fit(views, observed=observed)
    np.testing.assert_array_equal(views[0], IMAGE)
    np.testing.assert_array_equal(views[1].toarray(), TEXT)
    views[0][:] = 7
    views[1].data[:] = 7
    same(model, make().fit([IMAGE, sp.csr_array(TEXT)], observed=GAPS), rtol=0)


@few
def test_a_pickled_model_gives_the_same(make):
    model = gapped(make)
    pickled = pickle.loads(pickle.dumps(model))
    same(pickled, model, rtol=0)
    fresh = clone(model)
    assert not [name for name in vars(fresh) if name.endswith("_") or name.startswith("_")]


BAD = {
    "partly NaN": (
        lambda: [np.where(np.arange(6) == 2, np.nan, IMAGE), TEXT],
        "row 0: 1 of 6 values are NaN",
    ),
    "inf": (lambda: [IMAGE, np.where(np.arange(5) == 2, np.inf, TEXT)], "view 'view1', row 0: 1 of 5"),
    "lengths": (lambda: [IMAGE, TEXT[1:]], "view 'view1' has 89 rows"),
    "too few": (lambda: [IMAGE[:2], TEXT[:2]], "2 samples with at least one view"),
    "unseen": (lambda: [IMAGE * np.nan, TEXT * 0], "0 samples with at least one view"),
}


@pytest.mark.parametrize(("make", "what"), zipped(MODELS, BAD), indirect=["make"])
def test_bad_data_is_refused_and_changes_nothing(make, what):
    give, message = BAD[what]
    fresh = make()
    before = dict(vars(fresh))
    with pytest.raises(vp.DataError, match=message):
        fresh.fit(give())
    assert vars(fresh) == before
    model = make().fit([IMAGE, TEXT])
    twin = whole(make)
    with pytest.raises(vp.DataError, match=message):
        model.fit(give())
    same(model, twin, rtol=0)


@pytest.mark.parametrize(
    ("estimator", "name", "value"),
    [
        (vp.OMVC, "agreement", -1),
        (vp.OMVC, "sparsity", np.nan),
        (vp.OMVC, "weights", "two"),
        (vp.OMVC, "accept", "all"),
        (vp.OMVC, "scale", "last"),
        (vp.OMVC, "chunk_size", 0),
        (vp.ONMF, "hessian", "none"),
        (vp.ONMF, "fill", "zero"),
        (vp.ONMF, "n_init", 0),
        (vp.MultiNMF, "n_rounds", 0),
        (vp.MultiNMF, "n_tries", 1.5),
        (vp.MultiNMF, "n_threads", 0),
        (vp.MIC, "sparsity", -1),
        (vp.DAIMC, "alignment", 0),
    ],
)
def test_invalid_parameters_are_refused(estimator, name, value):
    with pytest.raises(InvalidParameterError, match=f"The {name!r} parameter of {estimator.__name__}"):
        estimator(3, **{name: value}).fit([IMAGE, TEXT])


# ---- chunk by chunk


@pytest.mark.parametrize("name", ["OMVC, weight 1", "ONMF-DA"])
def test_passes_one_by_one_equal_fit(name):
    model = MODELS[name](n_passes=3)
    passes = [(step.labels_, step.objective_) for step in model.fit_passes([IMAGE, TEXT], observed=GAPS)]
    assert len(passes) == 3
    for number, (labels, objective) in enumerate(passes, 1):
        alone = MODELS[name](n_passes=number).fit([IMAGE, TEXT], observed=GAPS)
        np.testing.assert_array_equal(labels, alone.labels_)
        assert objective == alone.objective_
    same(model, alone, rtol=0)


@pytest.mark.parametrize("name", ["OMVC", "OMVC, weight 1", "ONMF-I", "ONMF-DA"])
def test_a_chunk_may_lack_a_view_or_every_view(name):
    rows = np.arange(N)
    seen = np.column_stack([rows < 60, rows >= 30]) & (rows != 2)[:, None]  # the first chunk has no text
    model = MODELS[name]().fit([IMAGE, TEXT], observed=seen)
    assert model.labels_[2] == -1
    assert np.isfinite(np.delete(model.consensus_, 2, axis=0)).all()


def test_onmf_of_another_rank_than_its_clusters():
    model = vp.ONMF(3, n_components=5, chunk_size=30, random_state=0).fit([IMAGE, TEXT], observed=GAPS)
    seen = model.labels_ >= 0
    assert adjusted_rand_score(GROUP[seen], model.labels_[seen]) > 0.9
    assert model.consensus_.shape == (N, 5)
    assert [basis.shape for basis in model.components_] == [(5, 6), (5, 5)]
    assert model.cluster_centers_.shape == (3, 5)


# ---- views that hold little or nothing

SIGNED = TEXT - TEXT.mean(axis=0)
IN_PART = {
    "signed": SIGNED,
    "signed, sparse": sp.csr_array(SIGNED),
    "rows below 0": np.where(np.arange(N)[:, None] % 2 == 0, -TEXT, TEXT),
    "columns below 0": TEXT * [1, -1, 1, -1, 1],
    "one entry above 0": np.where(np.arange(5 * N).reshape(N, 5) == 7, 1.0, -1.0),
    "one row": np.where(np.arange(N)[:, None] == 3, TEXT, np.nan),
}


@pytest.mark.parametrize(("first", "empty"), zipped([True, False], [np.nan, 0.0]))
def test_a_view_that_is_all_nan_or_zero_is_one_that_is_absent(make, empty, first):
    def both(view):
        return [view, IMAGE] if first else [IMAGE, view]

    mine, expected = make().fit(both(np.full((N, 5), empty))), make().fit(both(None))
    np.testing.assert_array_equal(mine.labels_, expected.labels_)
    np.testing.assert_array_equal(mine.consensus_, expected.consensus_)
    assert np.isnan(mine.components_[0 if first else 1]).all()


@pytest.mark.filterwarnings("ignore:view.*negative entries")
@pytest.mark.parametrize(("make", "part"), zipped(MODELS, IN_PART), indirect=["make"])
def test_a_view_that_is_negative_in_part(make, part):
    model = make().fit([IMAGE, IN_PART[part]])
    assert np.isfinite(model.consensus_).all()
    assert np.isfinite(model.objective_)


@few
@pytest.mark.filterwarnings("ignore:view.*negative entries")
def test_views_that_are_positive_in_other_rows_each(make):
    even = np.arange(N)[:, None] % 2 == 0
    views = [np.where(even, IMAGE, -IMAGE), np.where(even, -TEXT, TEXT)]
    model = make().fit(views)
    assert np.isfinite(model.objective_)
    assert (model.consensus_.max(axis=1) > 0).all()


@pytest.mark.filterwarnings("ignore:view.*negative entries")
@pytest.mark.parametrize("below", [-TEXT, sp.csr_array(-TEXT)], ids=["dense", "sparse"])
def test_a_view_without_any_positive_entry_is_refused_by_offline_ones(below):
    for name in ("MIC", "MultiNMF"):
        with pytest.raises(vp.DataError, match=r"view 'text': no entry is above 0.*pass it as None"):
            MODELS[name]().fit({"image": IMAGE, "text": below})


@pytest.mark.data
@pytest.mark.parametrize("number", [0, 1])
def test_daimc_by_itself_ends_as_low_as_the_authors_program(data_folder, number):
    run = authors.baselines(data_folder)[number]
    model = vp.DAIMC(10, random_state=0).fit(run.views, observed=run.observed)
    assert model.objective_ < 1.02 * run.of("daimc_curve")[-1]


CHUNKED = {"OMVC": {"scale": "first"}, "ONMF-I": {}}


@pytest.mark.parametrize("name", CHUNKED)
def test_partial_fit_of_every_chunk_equals_fit(name):
    whole = MODELS[name](**CHUNKED[name]).fit([IMAGE, TEXT], observed=GAPS)
    model = MODELS[name](**CHUNKED[name])
    for start in range(0, N, 30):
        rows = slice(start, start + 30)
        given = [IMAGE[rows].copy(), sp.csr_array(TEXT[rows])]
        model.partial_fit(given, observed=GAPS[rows])
        given[0][:] = 1
        assert model.labels_.shape == (start + 30,)
    same(model, whole, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("name", CHUNKED)
def test_a_view_may_come_later_and_what_does_not_fit_is_refused(name):
    model = MODELS[name]().partial_fit([IMAGE[:40], None])
    assert model.predict([IMAGE[:5], None]).shape == (5,)
    assert set(model.predict([None, TEXT[:5]])) == {-1}
    before = model.consensus_
    with pytest.raises(vp.DataError, match="view 'view0': 5 columns"):
        model.partial_fit([TEXT, TEXT])
    np.testing.assert_array_equal(model.consensus_, before)
    model.partial_fit([IMAGE[40:], TEXT[40:]])
    assert model.n_features_in_ == 11
    assert model.predict([None, TEXT[:5]]).min() >= 0
