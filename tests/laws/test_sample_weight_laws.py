"""Laws of sample weights: a row of weight w counts as w equal rows, one of weight 0 as none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import viewpass as vp
from cases import Case, cases, workspace
from viewpass.algorithm1.algorithm1 import Algorithm1, Settings
from viewpass.kernels.backend import backend
from viewpass.sums.chunk_step import ChunkStep
from viewpass.sums.rules import Rules
from viewpass.views.chunk import Chunk
from viewpass.views.kinds import columns_of
from viewpass.views.rows import MeasuredRows

STORED = {
    "dense": lambda views: views,
    "sparse": lambda views: [scipy.sparse.csr_array(x) for x in views],
    "mixed": lambda views: [scipy.sparse.csr_array(x) if v % 2 else x for v, x in enumerate(views)],
}
STARTS = ("centres", "labels")


def weights_of(case: Case, most: int = 4) -> np.ndarray:
    """Whole weights, some of them 0, that leave enough rows."""
    weights = np.random.default_rng(case.seed + 2).integers(0, most, size=case.n_rows)
    assume(case.present[weights > 0].any(axis=1).sum() >= case.n_clusters)
    return weights


def start_of(case: Case, start: str, rows: np.ndarray) -> object:
    if start == "labels":
        return case.rng.integers(case.n_clusters, size=case.n_rows)[rows]
    return [case.rng.standard_normal((case.n_clusters, x.shape[1])) for x in case.views]


def rows_of(case: Case, stored: str, rows: np.ndarray) -> dict[str, object]:
    return {"X": STORED[stored]([x[rows] for x in case.views]), "observed": case.observed[rows]}


def assert_same(one, other, times=1):
    """The same model to the bit, but for the factor by which weights (and alpha) differ."""
    for mine, theirs in zip(one.cluster_centers_, other.cluster_centers_, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    for mine, theirs in zip(one.counts_, other.counts_, strict=True):
        np.testing.assert_array_equal(times * mine, theirs)
    for name in ("loss_curve_", "n_iter_"):
        np.testing.assert_array_equal(getattr(one, name, None), getattr(other, name, None))
    assert times * one.objective_ == other.objective_
    assert times * one.inertia_ == other.inertia_


@given(cases(), st.sampled_from(sorted(STORED)), st.sampled_from(STARTS), st.sampled_from([vp.OPIMC, vp.IMC]))
def test_a_row_of_weight_w_is_w_rows(case, stored, start, kind):
    weights, everyone = weights_of(case), np.arange(case.n_rows)
    repeated = np.repeat(everyone, weights)
    whole = {"chunk_size": 1000} if kind is vp.OPIMC else {}
    one, other = (
        kind(case.n_clusters, alpha=case.alpha, init=start_of(case, start, rows), scale="unit", **whole)
        for rows in (everyone, repeated)
    )
    one.fit(**rows_of(case, stored, everyone), sample_weight=weights)
    other.fit(**rows_of(case, stored, repeated))
    assert one.statistics_ == other.statistics_
    assert_same(one, other)
    np.testing.assert_array_equal(one.labels_[repeated], other.labels_)
    assert one.n_samples_seen_ == case.n_rows


@settings(max_examples=30)
@given(case=cases(), stored=st.sampled_from(sorted(STORED)), start=st.sampled_from(STARTS))
def test_the_streams_of_both_are_the_same(case, stored, start):
    """Two chunks and a second pass."""
    weights, half = weights_of(case), case.n_rows // 2
    assume(case.present[:half][weights[:half] > 0].any())
    assume(weights[half:].any())
    results = []
    for repeat in (False, True):
        parts = []
        for rows in (np.arange(half), np.arange(half, case.n_rows)):
            chosen = np.repeat(rows, weights[rows]) if repeat else rows
            given = rows_of(case, stored, chosen)
            chunk = Chunk.of(given["X"], observed=given["observed"], start=sum(p.n_rows for p, _ in parts))
            copies = None if repeat else weights[rows]
            parts.append((replace(chunk, copies=copies), chosen))
        init = start_of(case, start, parts[0][1])
        given = Settings(case.n_clusters, Rules(case.alpha, 20, 1e-6, "mean"), init)
        algorithm = Algorithm1(given, case.rng, workspace())
        (first,) = zip(*(algorithm.learn(chunk, chunk.n_rows) for chunk, _ in parts), strict=True)
        again = [
            label
            for (chunk, _), labels in zip(parts, first, strict=True)
            for label in algorithm.learn(chunk, chunk.n_rows, labels)
        ]
        results.append((algorithm, np.concatenate(first), np.concatenate(again)))
    (one, *labels), (other, *repeated) = results
    assert one.model.total == other.model.total
    assert one.model.loss_curve == other.model.loss_curve
    assert one.model.n_iter == other.model.n_iter
    for mine, theirs in zip(one.model.centres.values, other.model.centres.values, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    for mine, theirs in zip(labels, repeated, strict=True):
        np.testing.assert_array_equal(np.repeat(mine, weights), theirs)
    assert one.read.n_counted == other.n_rows


@given(cases(), st.sampled_from(STARTS), st.sampled_from([2, 8, 1024]))
def test_fractions_are_whole_numbers_in_a_smaller_unit(case, start, parts):
    """Weights of k / parts: the model of weights k with a ridge as many times larger."""
    weights, everyone = weights_of(case), np.arange(case.n_rows)
    assume((weights % parts).any())
    init, rows = start_of(case, start, everyone), rows_of(case, "dense", everyone)
    settings = {"init": init, "scale": "unit", "chunk_size": 1000}
    one = vp.OPIMC(case.n_clusters, alpha=case.alpha, **settings).fit(**rows, sample_weight=weights / parts)
    other = vp.OPIMC(case.n_clusters, alpha=case.alpha * parts, **settings).fit(**rows, sample_weight=weights)
    assert_same(one, other, times=parts)
    np.testing.assert_array_equal(one.labels_, other.labels_)


SHAPES = {
    "default": {},
    "idf": {"consensus": "plain", "scale": "idf"},
    "graph": {"consensus": "graph", "n_anchors": 8},
    "view weights": {},
}


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=15)
@given(case=cases(min_rows=20))
def test_rows_of_weight_0_change_nothing_whatever_the_shape(case, shape):
    """They are last, so that rows keep their numbers."""
    weights = np.minimum(weights_of(case, 3), 1)
    order = np.argsort(-weights, kind="stable")
    settings = {"random_state": case.seed, "alpha": case.alpha, **SHAPES[shape]}
    if shape == "view weights":
        settings["view_weights"] = np.linspace(1, 0.5, len(case.views)).tolist()
    one, other = (vp.ViewPass(case.n_clusters, **settings) for _ in range(2))
    one.fit(**rows_of(case, "mixed", order), sample_weight=weights[order])
    other.fit(**rows_of(case, "mixed", order[: weights.sum()]))
    assert one.statistics_ == other.statistics_
    assert one.scales_ == other.scales_
    for mine, theirs in zip(one.cluster_centers_, other.cluster_centers_, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(one.labels_[: weights.sum()], other.labels_)


def drawn(rows, n_seeds, n_sets):
    """Labels by each of several sets of seeds."""
    points = np.random.default_rng(0).random((n_seeds, n_sets))
    return np.array(backend().draw_seeds(rows.handle, points, n_seeds, 1))


@given(cases(), st.sampled_from(sorted(STORED)))
def test_soft_centres_and_learnt_scales_are_those_of_repeated_rows(case, stored):
    """To rounding: these are sums of floats, and repeated rows are more of them."""
    weights, everyone = weights_of(case), np.arange(case.n_rows)
    repeated = np.repeat(everyone, weights)
    memberships = case.rng.random((case.n_rows, case.n_clusters))
    step = ChunkStep(Rules(case.alpha, 20, 0.0, "zero-filled-mean"), workspace())
    found = []
    for rows in (everyone, repeated):
        given = rows_of(case, stored, rows)
        chunk = Chunk.of(given["X"], observed=given["observed"])
        measured = MeasuredRows(replace(chunk, copies=weights if rows is everyone else None)).measure()
        columns = [
            columns_of(x, measured.present(v), measured.chunk.copies) for v, x in enumerate(chunk.views)
        ]
        found.append((step.soft_centres(measured, memberships[rows]).values, columns))
    (centres, columns), (expected, of_repeated) = found
    for mine, theirs in zip(centres, expected, strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-8)
    for mine, theirs in zip(columns, of_repeated, strict=True):
        np.testing.assert_allclose(mine.mean, theirs.mean, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(mine.spread, theirs.spread, rtol=1e-6, atol=1e-9)
        np.testing.assert_array_equal(mine.n_nonzero, theirs.n_nonzero)
        assert (mine.n_rows, mine.n_ones, mine.whole) == (theirs.n_rows, theirs.n_ones, theirs.whole)


def test_seeds_are_drawn_in_proportion_to_weight():
    """The first of two seeds, of rows at right angles: those of weight 3 three times as often."""
    weights = np.array([3, 1, 0, 3, 1])
    rows = MeasuredRows(replace(Chunk.of([np.eye(5)]), copies=weights)).measure()
    labels = drawn(rows, 1, 4000)
    assert not labels.any()
    pairs = drawn(rows, 2, 4000)
    # A row at distance 2 from both seeds goes to the first, so the second seed is the only row labelled 1.
    second = np.bincount(pairs.argmax(axis=1), minlength=5) / 4000
    share = weights / weights.sum()
    expected = [
        sum(share[i] * w / (8 - weights[i]) for i in range(5) if i != j) for j, w in enumerate(weights)
    ]
    np.testing.assert_allclose(second, expected, atol=0.03)
