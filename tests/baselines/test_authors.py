"""DAIMC, MultiNMF, MIC and OMVC on 300 rows of Digit against their authors' programs, from the same start.

What was stored is rounded to float32, which is the tolerance.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

import authors
import viewpass as vp
from viewpass.baselines import daimc, multinmf
from viewpass.baselines import omvc_stream as omvc
from viewpass.baselines.base import kmeans
from viewpass.baselines.factors import inverse, quadratic
from viewpass.baselines.rows import FilledView
from viewpass.views.chunk import Chunk

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def runs(data_folder):
    return authors.baselines(data_folder)


@pytest.fixture(params=[0, 1])
def run(request, runs):
    return runs[request.param]


def check(run, method, consensus):
    """The consensus to the rounding of what was stored, and the largest entry of every row."""
    expected = run.of(f"{method}_consensus")
    np.testing.assert_allclose(consensus, expected, rtol=0, atol=1e-7 * expected.max())
    np.testing.assert_array_equal(consensus.argmax(axis=1), run.of(f"{method}_argmax"))


def nmi(run, consensus):
    return normalized_mutual_info_score(run.classes, kmeans(consensus, 10, 20, 0)[1])


def filled(run):
    """Non-negative views with absent rows filled, divided by the sum of their entries."""
    views = []
    for x, present in zip(run.views, run.observed.T, strict=True):
        x = np.where(present[:, None], np.maximum(x, 0), 0.0)
        view = FilledView(x, ~present, x.sum(axis=0) / present.sum())
        views.append(view.divided(view.total()))
    return views


# ---- DAIMC


def daimc_of(run, most_steps=30):
    views = []
    for x, present in zip(run.views, run.observed.T, strict=True):
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        views.append(FilledView.unfilled(np.where(present[:, None], unit, 0.0), present))
    start = np.eye(10)[run.of("daimc_start")] + 0.1
    _, V, curve = daimc.factorise(views, start, vp.DAIMC(10), most_steps)
    return V, np.array(curve)


@pytest.mark.parametrize(("method", "max_steps"), [("daimc", 30), ("daimc_one", 1)])
def test_daimc_is_the_authors(run, method, max_steps):
    V, curve = daimc_of(run, max_steps)
    check(run, method, V)
    # The program adds 1e-10 under the root of the length of each of the 643 rows of B.
    np.testing.assert_allclose(curve, run.of(f"{method}_curve"), rtol=0, atol=0.0065)


def test_daimc_with_all_its_steps_ends_lower_and_finds_more(run):
    (V, curve), (V_one, curve_one) = daimc_of(run), daimc_of(run, 1)
    assert curve[-1] < 0.9 * curve_one[-1]
    assert nmi(run, V) > nmi(run, V_one) + 0.05


# ---- MultiNMF and MIC


@pytest.fixture
def started(run, monkeypatch):
    """Both begin with the factors that the programs began with."""
    monkeypatch.setattr(multinmf, "started", lambda *given: run.factors())
    return run


def test_multinmf_is_the_authors(started):
    settings = vp.MultiNMF(10, n_rounds=9, max_iter=20, n_threads=1)
    *_, agreed, curve = multinmf.factorise(filled(started), settings, np.random.default_rng(0))
    check(started, "multinmf", agreed)
    np.testing.assert_allclose(curve, started.of("multinmf_curve"), rtol=1e-9)


def mic_of(run, **settings):
    model = vp.MIC(10, n_threads=1, **settings)
    return model._factorise(filled(run), np.random.default_rng(0), 0)


def test_mic_is_the_authors(started):
    _, agreed, curve = mic_of(started, max_iter=60)
    assert len(curve) == 60  # the program has no other end than its number of rounds, and nor has this here
    check(started, "mic", agreed)
    # The program logs norms of columns where the paper has rows: lower by .3 % or less.
    logged = started.of("mic_logged")[1:]
    assert (curve >= logged).all()
    np.testing.assert_allclose(curve, logged, rtol=0.004)


# ---- OMVC


def released_step(Y, gram, products, *, weights=None, diagonal=False, measure=None):
    """The line search of the released program: halved until the value does not rise, however short."""
    here = quadratic(Y, gram, products, weights)
    direction = (Y @ gram - products) @ inverse(gram)
    for halving in range(250):
        there = np.maximum(Y - 0.5**halving * direction, 0.0)
        reached = quadratic(there, gram, products, weights)
        if reached <= here:
            return there, reached
    return Y, here


def omvc_of(run, n_rounds, monkeypatch):
    bases, coefficients = run.factors()

    def begun(stream, batch, weights):
        for basis, V in zip(stream.bases, bases, strict=True):
            basis.V, basis.new = V, False
        return list(coefficients)

    monkeypatch.setattr(omvc.OMVCStream, "_fitted", begun)
    settings = vp.OMVC(10, max_iter=n_rounds, tol=0.0)
    stream = omvc.OMVCStream(10, settings, np.random.default_rng(0), 1)
    stream.learn(Chunk.of([np.maximum(x, 0) for x in run.views], observed=run.observed))
    return stream


def test_omvc_is_the_authors_for_five_rounds(run, monkeypatch):
    stream = omvc_of(run, 5, monkeypatch)
    check(run, "omvc_5", stream.consensus())
    np.testing.assert_allclose(stream.objective(), run.of("omvc_5_objective"), rtol=1e-9)


def test_omvc_then_ends_lower_than_the_authors(run, monkeypatch):
    """By the gradient step that it takes where the released search stands still."""
    stream = omvc_of(run, 15, monkeypatch)
    assert stream.objective() < 0.92 * run.of("omvc_15_objective")


def test_omvc_with_the_released_line_search_is_the_authors(run, monkeypatch):
    monkeypatch.setattr(omvc, "newton_step", released_step)
    stream = omvc_of(run, 15, monkeypatch)
    check(run, "omvc_15", stream.consensus())
    np.testing.assert_allclose(stream.objective(), run.of("omvc_15_objective"), rtol=1e-9)
