"""Laws of rows that keep their lengths (scale="euclidean"): Euclidean distances, exact sums."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import normalized_mutual_info_score

import viewpass as vp
from cases import computing
from clusters import write_files
from viewpass.errors import DataWarning, SettingError
from viewpass.solve.starts import seeded
from viewpass.sums.chunk_step import ChunkStep
from viewpass.sums.rules import Rules, Workspace
from viewpass.sums.statistics import Statistics
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows
from viewpass.views.scaling import Scaling

N_ROWS, K = 900, 4
PLAIN = {"alpha": 0.1, "consensus": "plain", "scale": "euclidean", "random_state": 0, "sample_size": 300}


def data(seed=0, dtype=np.float64, missing=0.2):
    """Two views whose groups lie on a line, so that lengths decide; some rows miss a view."""
    rng = np.random.default_rng(seed)
    group = rng.integers(K, size=N_ROWS)
    views = [
        (np.outer(2.0 * group, direction) + 0.4 * rng.standard_normal((N_ROWS, len(direction)))).astype(dtype)
        for direction in (np.ones(3), np.array([1.0, -1, 0, 2, 0]))
    ]
    observed = np.ones((N_ROWS, 2), dtype=bool)
    absent = rng.random(N_ROWS) < missing
    observed[absent, rng.integers(2, size=N_ROWS)[absent]] = False
    return views, observed, group


def fitted(views, observed, **changed):
    return vp.ViewPass(K, **{**PLAIN, **changed}).fit(views, observed=observed)


def same(one, other):
    np.testing.assert_array_equal(one.labels_, other.labels_)
    assert one.objective_ == other.objective_
    assert one.statistics_ == other.statistics_
    for mine, theirs in zip(one.cluster_centers_, other.cluster_centers_, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def scaled(model, views, observed):
    """The rows as the documentation has them: minus the mean, divided by the root mean square length."""
    found = []
    for v, scale in enumerate(model._fitted_model().scaling.views):
        rows = (views[v].astype(np.float64) - scale.mean) * scale.weights
        found.append(np.where(observed[:, [v]], rows, np.nan))
    return found


def test_root_mean_square_length_is_one():
    views, observed, _ = data(missing=0.2)
    model = fitted(views, observed, sample_size=N_ROWS)
    for rows in scaled(model, views, observed):
        np.testing.assert_allclose(np.nanmean(rows, axis=0), 0.0, atol=1e-12)
        square = np.nansum(rows**2, axis=1)[~np.isnan(rows[:, 0])]
        np.testing.assert_allclose(square.mean(), 1.0, rtol=1e-12)


@pytest.mark.parametrize("consensus", ["plain", "graph"])
def test_reported_values_are_those_of_the_rows(consensus):
    views, observed, _ = data()
    changed = {"n_anchors": 20, "projection": None} if consensus == "graph" else {}
    model = fitted(views, observed, consensus=consensus, **changed)
    rows, sums = scaled(model, views, observed), model.statistics_
    unit = model._fitted_model().scaling.unit
    # Sums and inertia are those of rows by label; centres are their means, with the ridge.
    centres = [unit * sums.sums(v) / (sums.counts[v][:, None] + 0.1) for v in range(2)]
    direct = sum(np.nansum((x - u[model.labels_]) ** 2) for x, u in zip(rows, centres, strict=True))
    np.testing.assert_allclose(model.inertia_, direct, rtol=1e-6)
    ridge = sum((u**2).sum() for u in centres)
    np.testing.assert_allclose(model.objective_, direct + 0.1 * ridge, rtol=1e-6)
    if consensus == "plain":
        apart = sum(
            np.nansum((x[:, None] - u[None]) ** 2, axis=2)
            for x, u in zip(rows, model.cluster_centers_, strict=True)
        )
        np.testing.assert_allclose(model.transform(views, observed=observed), apart, rtol=1e-6, atol=1e-7)
        np.testing.assert_array_equal(model.labels_, apart.argmin(axis=1))
        own = sum((u**2).sum() for u in model.cluster_centers_)
        np.testing.assert_allclose(
            model.score(views, observed=observed), -(apart.min(axis=1).sum() + 0.1 * own), rtol=1e-6
        )


def test_lengths_are_found():
    views, observed, group = data()
    labels = fitted(views, observed, consensus="auto", alpha=0.0).labels_
    assert normalized_mutual_info_score(group, labels) > 0.95


def test_shift_and_common_factor_change_nothing():
    views, observed, _ = data()
    moved = [8.0 * (x + np.arange(x.shape[1])) for x in views]
    one, other = fitted(views, observed), fitted(moved, observed)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_allclose(one.objective_, other.objective_, rtol=1e-9)


def test_a_factor_of_one_view_changes_nothing():
    views, observed, _ = data()
    one, other = fitted(views, observed), fitted([views[0], 2.0**-20 * views[1]], observed)
    same(one, other)


def test_threads_and_calls():
    views, observed, _ = data()
    whole = fitted(views, observed, n_threads=1)
    same(whole, fitted(views, observed, n_threads=3))
    one, parts = (vp.ViewPass(K, **PLAIN, n_threads=n) for n in (1, 3))
    one.partial_fit(views, observed=observed)
    for first in range(0, N_ROWS, 140):
        part = slice(first, first + 140)
        parts.partial_fit([x[part] for x in views], observed=observed[part])
    np.testing.assert_array_equal(one.predict(views, observed=observed), parts.predict(views, observed))
    assert one.objective_ == parts.objective_
    assert one.statistics_ == parts.statistics_


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("begin", ["seeds", "labels"])
def test_native_is_the_reference(dtype, begin):
    views, observed, _ = data(dtype=dtype)
    chunk = Chunk.of(views, observed=observed)
    scaling = Scaling.learn(MeasuredRows(chunk).measure(), ["euclidean", "standard"])
    chunk = scaling.apply(chunk)
    step = ChunkStep(Rules(0.1, 20, 0.0, "mean"), Workspace(2))
    found = []
    for reference in (False, True):
        with computing(reference=reference):
            rows = MeasuredRows(chunk, weights=(1.0, 0.3)).measure()
            if begin == "seeds":
                found.append(seeded(rows, K, step, np.random.default_rng(0)))
            else:
                found.append(step.from_labels(rows, np.arange(N_ROWS, dtype=np.int32) % K, K))
    one, other = found
    np.testing.assert_array_equal(one.labels, other.labels)
    assert one.total == other.total
    assert one.total.kept == other.total.kept
    np.testing.assert_array_equal(one.losses, other.losses)


def test_float32_and_float64_agree():
    views, observed, _ = data(dtype=np.float32)
    one, other = fitted(views, observed), fitted([x.astype(np.float64) for x in views], observed)
    assert (one.labels_ == other.labels_).mean() > 0.995
    np.testing.assert_allclose(one.objective_, other.objective_, rtol=1e-3)


def test_saved_is_loaded(tmp_path):
    views, observed, _ = data()
    half = N_ROWS // 2
    model = fitted([x[:half] for x in views], observed[:half])
    model.save(tmp_path / "model.vp")
    again = vp.load(tmp_path / "model.vp")
    assert again.objective_ == model.objective_
    for each in (model, again):
        each.partial_fit([x[half:] for x in views], observed=observed[half:])
    np.testing.assert_array_equal(model.predict(views), again.predict(views))
    assert model.statistics_ == again.statistics_
    assert model.inertia_ == again.inertia_


def test_imc_saved_is_loaded(tmp_path):
    views, observed, _ = data()
    model = vp.IMC(K, scale={"view0": "euclidean", "view1": "unit"}, n_init=2, random_state=0)
    model.fit(views, observed=observed)
    model.save(tmp_path / "model.vp")
    again = vp.load(tmp_path / "model.vp")
    assert again.objective_ == model.objective_ == model.objectives_.min()
    np.testing.assert_array_equal(again.transform(views), model.transform(views))


def test_sample_weights_are_repeated_rows():
    views, observed, _ = data()
    times = np.random.default_rng(1).integers(0, 4, size=N_ROWS)
    init = [x[:K] for x in views]
    settings = {"scale": "euclidean", "chunk_size": 10_000, "init": init}
    weighted = vp.OPIMC(K, **settings).fit(views, observed=observed, sample_weight=times)
    repeated = vp.OPIMC(K, **settings)
    repeated.fit([np.repeat(x, times, axis=0) for x in views], observed=np.repeat(observed, times, axis=0))
    np.testing.assert_array_equal(weighted.labels_[times > 0].repeat(times[times > 0]), repeated.labels_)
    np.testing.assert_allclose(weighted.inertia_, repeated.inertia_, rtol=1e-9)


def test_one_view_without_ridge_is_kmeans():
    X, _ = make_blobs(1500, 6, centers=K, cluster_std=3.0, random_state=3)
    init = X[:K].copy()
    settings = {"scale": "euclidean", "alpha": 0.0, "init": init, "max_iter": 300, "tol": 0.0}
    mine = vp.IMC(K, **settings).fit(X)
    theirs = KMeans(K, init=init, n_init=1, max_iter=300, tol=0, algorithm="lloyd").fit(X)
    np.testing.assert_array_equal(mine.labels_, theirs.labels_)
    factor = (mine._fitted_model().scaling.views[0].weights[0]) ** 2
    np.testing.assert_allclose(mine.inertia_, theirs.inertia_ * factor, rtol=1e-9)
    mean = mine._fitted_model().scaling.views[0].mean
    np.testing.assert_allclose(
        mine.cluster_centers_ / np.sqrt(factor) + mean, theirs.cluster_centers_, atol=1e-6
    )


def test_a_row_equal_to_the_mean_is_there():
    x = np.array([[1.0, 2], [3, 4], [2, 3], [0, 1], [4, 5]])  # the third is the mean
    model = vp.IMC(2, scale="euclidean", random_state=0).fit(x)
    assert (model.labels_ >= 0).all()
    assert model.counts_[0].sum() == 5
    np.testing.assert_array_equal(model.predict(x[2:3]), model.labels_[2:3])


def test_a_row_of_zeros_is_there_whether_stated_or_not():
    views, _observed, _ = data(missing=0.0)
    views[0][5] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        unsaid = fitted([views[0]], None)
    said = fitted([views[0]], np.ones((N_ROWS, 1), dtype=bool))
    np.testing.assert_array_equal(unsaid.labels_, said.labels_)
    assert unsaid.labels_[5] >= 0
    assert unsaid.n_all_zero_ == said.n_all_zero_ == {"view0": 0}


def test_sparse_views_are_refused():
    x = scipy.sparse.random_array((50, 8), density=0.3, random_state=0, format="csr") + 0.0
    with pytest.raises(SettingError, match="view 'view1' is sparse"):
        vp.IMC(2, scale="euclidean").fit([np.random.default_rng(0).random((50, 3)), x])
    model = vp.IMC(2, scale=["euclidean", "unit"], random_state=0)
    model.fit([np.random.default_rng(0).random((50, 3)), x])
    assert model.scales_ == {"view0": "euclidean", "view1": "unit"}


def test_long_rows_are_shortened_and_counted():
    views, observed, _ = data(missing=0.0)
    model = vp.ViewPass(K, **PLAIN)
    model.partial_fit([x[:300] for x in views], observed=observed[:300])
    far = [x[300:370].copy() for x in views]
    far[0][:7] = 1e4
    far[0][7] = 1.7e308
    with pytest.warns(DataWarning, match="view 'view0': 8 rows are longer"):
        model.partial_fit(far, observed=observed[300:370])
    assert model.n_shortened_ == {"view0": 8, "view1": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        model.partial_fit(far, observed=observed[300:370])  # once is enough
    assert model.n_shortened_["view0"] == 16
    longest = model._fitted_model().scaling.unit
    assert np.isfinite(model.inertia_)
    assert max(np.linalg.norm(u, axis=1).max() for u in model.cluster_centers_) <= longest * (1 + 1e-6)


def test_sums_of_squares_do_not_depend_on_the_order():
    views, observed, _ = data()
    chunk = Chunk.of(views, observed=observed)
    chunk = Scaling.learn(MeasuredRows(chunk).measure(), ["euclidean"] * 2).apply(chunk)
    labels = np.arange(N_ROWS, dtype=np.int32) % K

    def total(order):
        rows = MeasuredRows(chunk.take(order)).measure()
        made = Statistics(K, [3, 5])
        made.move(rows, labels[order], 1)
        return made, rows

    one, rows = total(np.arange(N_ROWS))
    other, _ = total(np.random.default_rng(2).permutation(N_ROWS))
    assert one == other
    assert one.kept == other.kept
    one.move(rows, labels, -1, which=np.arange(0, N_ROWS, 2))
    one.move(rows, labels, -1, which=np.arange(1, N_ROWS, 2))
    assert one == Statistics(K, [3, 5])
    copies = replace(chunk, copies=np.full(N_ROWS, 2**25, dtype=np.int64))
    many = MeasuredRows(copies).measure().squared_lengths(labels >= 0)
    assert [n.square for n in many] == [2**25 * n.square for n in other.kept]


def test_mixed_scales_are_comparable():
    """A view of unit rows beside one with lengths: both have mean square length 1."""
    views, observed, _ = data()
    model = vp.IMC(K, scale=["euclidean", "unit"], alpha=0.0, random_state=0, n_init=2)
    model.fit(views, observed=observed)
    unit = views[1] / np.linalg.norm(views[1], axis=1, keepdims=True)
    scale = model._fitted_model().scaling.views[0]
    rows = [(views[0] - scale.mean) * scale.weights, unit]
    direct = sum(
        ((x - u[model.labels_]) ** 2)[seen].sum()
        for x, u, seen in zip(rows, model.cluster_centers_, observed.T, strict=True)
    )
    np.testing.assert_allclose(model.inertia_, direct, rtol=1e-6)


def test_view_weights():
    views, observed, _ = data()
    model = fitted(views, observed, view_weights=[1.0, 0.25], sample_size=N_ROWS, alpha=0.0)
    rows, centres, labels = scaled(model, views, observed), model.cluster_centers_, model.labels_
    parts = [np.nansum((x - u[labels]) ** 2) for x, u in zip(rows, centres, strict=True)]
    np.testing.assert_allclose(model.inertia_, parts[0] + 0.25 * parts[1], rtol=1e-3)


@pytest.mark.parametrize("seed", [0, 3])
def test_blobs_beside_kmeans(seed):
    X, group = make_blobs(5000, 2, centers=5, random_state=seed)
    theirs = KMeans(5, n_init=10, random_state=0).fit(X).labels_
    mine = vp.ViewPass(5, scale="euclidean", random_state=0).fit(X).labels_
    least = normalized_mutual_info_score(group, theirs) - 0.01
    assert normalized_mutual_info_score(group, mine) >= least


def test_files_are_arrays(tmp_path):
    views, observed, _ = data(dtype=np.float32)
    missing = [np.where(seen[:, None], x, np.nan) for x, seen in zip(views, observed.T, strict=True)]
    write_files(tmp_path / "rows", missing, [250, 610])
    scan = vp.scan(str(tmp_path / "rows"), ["v0", "v1"])  # without ids, rows go by their numbers
    one, other = fitted(views, observed), vp.ViewPass(K, **PLAIN).fit(scan)
    same(one, other)
