"""Rows of zeros: missing where they have no direction, data where it was said that they are there."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

import viewpass as vp
from inputs import csr
from viewpass.errors import DataWarning

N, K = 400, 3
ALL = np.ones((N, 2), dtype=bool)


def marks(seed=0):
    """A view of whole numbers in which a third of the rows are zero, and a view of other numbers."""
    rng = np.random.default_rng(seed)
    cluster = rng.integers(K, size=N)
    counts = rng.poisson(np.array([0.0, 2.0, 4.0])[cluster][:, None] * rng.random((1, 6))).astype(float)
    other = rng.normal(size=(K, 5))[cluster] + 0.3 * rng.normal(size=(N, 5))
    return counts, other, cluster


def model(scale="standard", **settings):
    return vp.ViewPass(K, scale=scale, random_state=0, **settings)


@pytest.mark.parametrize("estimator", [vp.ViewPass, vp.IMC])
def test_an_observed_row_of_zeros_is_data_where_columns_are_centred(estimator):
    """Standardised columns do not depend on where zero lies."""
    counts, other, _ = marks()
    made = [
        estimator(K, scale="standard", random_state=0).fit([counts + shift, other], observed=ALL)
        for shift in (0.0, 1.0)
    ]
    assert (made[0].labels_ == made[1].labels_).all()
    assert made[0].n_all_zero_ == {"view0": 0, "view1": 0}
    zero, nothing = np.zeros((1, 6)), np.full((1, 5), np.nan)
    there = np.array([[True, False]])
    assert made[0].predict([zero, nothing], observed=there) == made[1].predict([zero + 1, nothing])
    assert np.isfinite(made[0].transform([zero, nothing], observed=there)).all()


def test_without_a_word_or_a_direction_a_row_of_zeros_is_missing():
    counts, other, _ = marks()
    gone = ~counts.any(axis=1)
    n_gone = int(gone.sum())
    masked = ALL.copy()
    masked[gone, 0] = False
    cases = [("unit", None), ("unit", ALL), ("idf", ALL), ("standard", None)]
    for scale, observed in cases:
        with pytest.warns(DataWarning, match=f"view 'view0': {n_gone} of {N} rows are all zero"):
            fitted = model(scale).fit([counts, other], observed=observed)
        expected = model(scale).fit([counts, other], observed=masked)
        assert (fitted.labels_ == expected.labels_).all()
        assert fitted.n_all_zero_ == {"view0": n_gone, "view1": 0}
        assert expected.n_all_zero_ == {"view0": 0, "view1": 0}
        assert fitted.predict([np.zeros((1, 6)), None]) == -1


@pytest.mark.parametrize("estimator", [vp.ViewPass, vp.IMC])
def test_where_lengths_are_kept_a_row_of_zeros_is_data_without_a_word(estimator):
    """Its length is a length like others; a shift of all rows changes nothing."""
    counts, other, _ = marks()
    stated, silent, shifted = (
        estimator(K, scale="euclidean", random_state=0).fit([x, other], observed=observed)
        for x, observed in ((counts, ALL), (counts, None), (counts + 1, None))
    )
    assert (silent.labels_ == stated.labels_).all()
    assert (silent.labels_ == shifted.labels_).all()
    assert silent.n_all_zero_ == {"view0": 0, "view1": 0}
    zero = np.zeros((1, 6))
    assert silent.predict([zero, None]) == shifted.predict([zero + 1, None]) >= 0
    gone = np.array([[False, True]])
    assert silent.predict([zero, other[:1]], observed=gone) == silent.predict([None, other[:1]])


def test_kept_lengths_of_zero_rows_do_not_depend_on_how_rows_come(tmp_path):
    counts, other, _ = marks()
    expected = model("euclidean").fit([counts, other])
    parts = model("euclidean")
    for start in range(0, N, 100):
        part = slice(start, start + 100)
        parts.partial_fit([counts[part], other[part]], observed=ALL[part] if start == 100 else None)
        parts.save(tmp_path / "model")
        parts = vp.load(tmp_path / "model")
    assert (parts.predict([counts, other]) == expected.labels_).all()
    assert parts.n_all_zero_ == {"view0": 0, "view1": 0}


def test_dense_and_sparse_rows_of_zeros_are_counted_alike():
    counts, other, _ = marks()
    stored_zeros = csr(counts)
    stored_zeros = sp.csr_array(
        (
            np.r_[stored_zeros.data, 0.0],
            np.r_[stored_zeros.indices, 0],
            np.r_[stored_zeros.indptr[:-1], len(stored_zeros.data) + 1],
        ),
        shape=(N, 6),
    )
    fits = [model("unit").fit([x, other]) for x in (counts, csr(counts), stored_zeros)]
    assert len({fitted.n_all_zero_["view0"] for fitted in fits}) == 1
    for fitted in fits[1:]:
        assert (fitted.labels_ == fits[0].labels_).all()


@pytest.mark.parametrize("scale", ["unit", "standard"])
def test_the_count_does_not_depend_on_how_rows_come(scale, tmp_path):
    counts, other, _ = marks()
    whole = model(scale).fit([counts, other])
    parts = model(scale)
    for start in range(0, N, 100):
        parts.partial_fit([counts[start : start + 100], other[start : start + 100]])
        parts.save(tmp_path / "model")
        parts = vp.load(tmp_path / "model")
    assert parts.n_all_zero_ == whole.n_all_zero_ == {"view0": int((~counts.any(axis=1)).sum()), "view1": 0}
    twice = vp.merge([whole, whole])
    assert twice.n_all_zero_["view0"] == 2 * whole.n_all_zero_["view0"]


def test_the_sample_remembers_what_was_said(tmp_path):
    counts, other, _ = marks()
    expected = model().fit([counts, other], observed=ALL)
    halves = model()
    for part in (slice(0, 150), slice(150, N)):
        halves.partial_fit([counts[part], other[part]], observed=ALL[part])
        halves.save(tmp_path / "model")
        halves = vp.load(tmp_path / "model")
    assert (halves.predict([counts, other], observed=ALL) == expected.labels_).all()


def test_sources_that_say_what_is_missing_have_said_that_the_rest_is_there():
    counts, other, _ = marks()
    named = {"counts": counts, "other": other}
    expected = model().fit(named, observed=ALL)
    table = vp.scan(pa.table({name: pa.array(x.tolist()) for name, x in named.items()}))
    frames = vp.frames({name: pd.DataFrame(x) for name, x in named.items()})
    for source in (table, frames):
        fitted = model().fit(source)
        assert (fitted.labels_ == expected.labels_).all()
        assert not any(fitted.n_all_zero_.values())


def test_a_warning_is_given_once_and_only_for_many():
    counts, other, _ = marks()
    few = counts + 1
    few[:4] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        model("unit").fit([few, other])
    parts = model("unit").set_params(sample_size=150)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for start in range(0, N, 100):
            parts.partial_fit([counts[start : start + 100], other[start : start + 100]])
    assert ["all zero" in str(warning.message) for warning in caught] == [True]


@pytest.mark.data
def test_patients_without_a_mutation_keep_the_view(data_folder):
    table = pd.read_csv(data_folder / "omics" / "acc_mutations.csv.gz", index_col=0)
    table = table if len(table) < table.shape[1] else table.T
    zero = ~table.to_numpy().any(axis=1)
    assert zero.sum() == 55
    fitted = vp.ViewPass(2, scale="standard", random_state=0).fit(vp.frames({"mutations": table}))
    assert (fitted.labels_ >= 0).all()
    assert fitted.n_all_zero_ == {"mutations": 0}
    with pytest.warns(DataWarning, match="55 of 90 rows are all zero"):
        vp.ViewPass(2, scale="unit", random_state=0).fit([table.to_numpy()])
