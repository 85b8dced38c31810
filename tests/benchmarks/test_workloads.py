"""Data of the speed benchmarks at tiny size: shapes, types, missing shares, seeds. No timings."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from benchmarks.data import Data, buffers, load, observed, save
from benchmarks.real import NoDataError
from benchmarks.workloads import WORKLOADS, Workload

OTHERS = ("digit", "real", "one view", "repeated")
MADE = [workload for workload in WORKLOADS if workload.family not in OTHERS]
SHAPES = {
    "youtube, easy": (92_457, (512, 2000, 1000), 0.4),
    "youtube, hard": (92_457, (512, 2000, 1000), 0.4),
    "reuters": (111_740, (21_531, 24_893, 34_279, 15_506, 11_547), 0.4),
    "embeddings": (1_000_000, (256, 128), 0.3),
    "several": (60_000, (768, 512), 0.3),
    "many": (200_000, (768, 512), 0.3),
    "most": (500_000, (128, 64), 0.3),
}
N_ROWS = 300


@pytest.fixture(scope="module", params=MADE, ids=lambda workload: workload.name)
def case(request: pytest.FixtureRequest) -> tuple[Workload, Data]:
    return request.param, request.param.make(N_ROWS)


def same(one: Data, other: Data) -> bool:
    pairs = zip(one.views, other.views, strict=True)
    return np.array_equal(one.classes, other.classes) and all(
        np.array_equal(a, b, equal_nan=True)
        for x, y in pairs
        for a, b in zip(buffers(x), buffers(y), strict=True)
    )


def test_all_made_workloads_are_listed():
    assert {workload.name for workload in MADE} == set(SHAPES)


def test_shapes(case):
    workload, data = case
    n_rows, widths, _ = SHAPES[workload.name]
    assert workload.n_rows == workload.rows(share=1.0) == n_rows
    assert [view.shape for view in data.views] == [(N_ROWS, width) for width in widths]
    assert data.classes.shape == (N_ROWS,)
    assert data.classes.min() >= 0
    assert data.classes.max() < workload.n_clusters


def test_kinds(case):
    workload, data = case
    for view in data.views:
        assert scipy.sparse.issparse(view) == workload.sparse
        assert view.dtype == np.float32
        if workload.sparse:
            assert view.format == "csr"
            assert view.has_canonical_format
            assert view.indices.dtype == view.indptr.dtype == np.int32
            assert (view.data > 0).all()


def test_missing_shares(case):
    workload, data = case
    missing = SHAPES[workload.name][2]
    there = np.stack([observed(view) for view in data.views], axis=1)
    assert ((~there).sum(axis=0) == round(missing * N_ROWS)).all()
    assert there.any(axis=1).all()
    if not workload.sparse:  # a dense row is whole or all NaN
        for number, view in enumerate(data.views):
            n_nan = np.isnan(view).sum(axis=1)
            assert (n_nan == np.where(there[:, number], 0, view.shape[1])).all()


def test_same_every_time(case):
    workload, data = case
    assert same(data, workload.make(N_ROWS))


def test_easy_and_hard_differ_in_noise():
    easy, hard = (next(w for w in MADE if w.name == f"youtube, {name}").make(50) for name in ("easy", "hard"))
    for view, noisier in zip(easy.views, hard.views, strict=True):
        # A centre of variance 1 and noise around it.
        assert np.nanstd(view) == pytest.approx(np.sqrt(1 + 3**2), rel=0.05)
        assert np.nanstd(noisier) == pytest.approx(np.sqrt(1 + 10**2), rel=0.05)


def test_a_fifth_of_the_rows_is_one_row():
    workload = next(w for w in WORKLOADS if w.family == "repeated")
    data = workload.make(N_ROWS)
    equal = data.classes == workload.n_clusters - 1
    assert equal.mean() == pytest.approx(0.2)
    assert all(len(np.unique(view[equal], axis=0)) == 1 for view in data.views)
    assert all(observed(view)[equal].all() for view in data.views)


def test_texts_have_about_eighty_words_and_few_of_them_are_common():
    data = next(w for w in MADE if w.sparse).make(2000)
    for view in data.views:
        per_row = np.diff(view.indptr)[observed(view)]
        assert per_row.mean() == pytest.approx(80, rel=0.1)
        found_in = np.sort(np.bincount(view.indices, minlength=view.shape[1]))[::-1]
        assert found_in[: view.shape[1] // 100].sum() > 0.25 * found_in.sum()


def test_texts_of_one_topic_are_alike():
    data = next(w for w in MADE if w.sparse).make(600)
    view = data.views[0]
    there = observed(view)
    rows = view[there].toarray()
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    alike = rows @ rows.T
    topic = data.classes[there]
    one_topic = topic[:, np.newaxis] == topic
    np.fill_diagonal(one_topic, False)
    others = topic[:, np.newaxis] != topic
    assert alike[one_topic].mean() > 1.2 * alike[others].mean()


def test_saved_and_loaded(case, tmp_path):
    _, data = case
    save(tmp_path / "data", data)
    assert same(load(tmp_path / "data"), data)
    assert same(load(tmp_path / "data", n_rows=70), data.head(70))
    assert same(load(tmp_path / "data", n_rows=N_ROWS), data)


@pytest.mark.data
def test_real_sets(data_folder):
    for workload in WORKLOADS:
        if workload in MADE:
            continue
        data = workload.make(400)
        assert {view.shape[0] for view in data.views} == {400}
        assert len(data.classes) == 400
        assert same(data, workload.make(400))
        assert len(np.unique(data.classes)) >= 5  # the sets are sorted by class, the rows are not


@pytest.mark.data
def test_digit_lacks_three_tenths_of_each_view(data_folder):
    data = next(w for w in WORKLOADS if w.family == "digit").make(2000)
    assert [view.shape[1] for view in data.views] == [76, 216, 64, 240, 47]
    assert [int((~observed(view)).sum()) for view in data.views] == [600] * 5


def test_absent_real_sets_are_named(monkeypatch, tmp_path):
    monkeypatch.setenv("VIEWPASS_DATA", str(tmp_path))
    with pytest.raises(NoDataError, match=r"mfeat\.npz is absent"):
        next(w for w in WORKLOADS if w.family == "digit").make(10)
