"""Leading eigenpairs of a graph: by what eigenpairs are, and beside LAPACK's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from graphs import entries, graphs, random_links, scaled
from viewpass.kernels import reference
from viewpass.kernels.backend import native
from zipped import zipped

compiled = pytest.mark.skipif(native is None, reason="the module is not compiled")
ENGINES = [reference] if native is None else [native, reference]


@settings(max_examples=25, deadline=None)
@given(graphs(most_anchors=150), st.data())
def test_eigenpairs_by_their_laws(links, data):
    n_leading = data.draw(st.integers(1, min(len(links), 12)))
    tie = data.draw(st.sampled_from([0, max(int(links.mean()), 1)]))  # as many as there are, or none
    values, vectors = ENGINES[0].spectrum(*entries(links), n_leading, tie)
    assert (np.diff(values) <= 1e-14).all()  # falling
    assert values.min() > -1e-12
    assert values.max() < 1 + 1e-12
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n_leading), atol=1e-12)
    largest = np.abs(vectors).argmax(axis=0)
    assert (vectors[largest, np.arange(n_leading)] > 0).all()
    matrix = scaled(links + tie)
    expected = scipy.linalg.eigvalsh(matrix)[::-1][:n_leading]
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-11)
    assert np.linalg.norm(matrix @ vectors - vectors * values, axis=0).max() < 1e-9


@pytest.mark.parametrize(
    ("engine", "n_anchors", "n_leading"), zipped(ENGINES, [(60, 5), (200, 10), (400, 60)])
)
def test_the_subspace_is_lapacks(engine, n_anchors, n_leading):
    links = random_links(3, n_anchors, 8 * n_anchors, 3, 1)
    values, vectors = scipy.linalg.eigh(scaled(links))
    gap = values[-n_leading] - values[-n_leading - 1]
    assert gap > 1e-5
    theirs = vectors[:, -n_leading:]
    mine = engine.spectrum(*entries(links), n_leading)[1]
    assert np.linalg.norm(mine - theirs @ (theirs.T @ mine)) < 1e-8 / gap


@pytest.mark.parametrize("engine", ENGINES)
def test_more_parts_than_vectors_asked_for(engine):
    links = random_links(0, 400, 4000, 4, 80)
    values, vectors = engine.spectrum(*entries(links), 20)
    np.testing.assert_allclose(values, 1.0, atol=1e-12)
    assert np.linalg.norm(scaled(links) @ vectors - vectors, axis=0).max() < 1e-8


@pytest.mark.parametrize("engine", ENGINES)
def test_negative_eigenvalues_are_not_the_largest(engine):
    """Links that no rows make: nothing but neighbours, so that each eigenvalue comes with its negative."""
    n = 120
    links = np.zeros((n, n), dtype=np.int64)
    links[np.arange(n - 1), np.arange(1, n)] = 7
    links += links.T
    values, _ = engine.spectrum(*entries(links), 4)
    np.testing.assert_allclose(values, scipy.linalg.eigvalsh(scaled(links))[::-1][:4], atol=1e-9)


@compiled
def test_what_cannot_be_answered_is_refused():
    starts, columns, values = entries(np.ones((3, 3), dtype=np.int64))
    whole = starts, columns, values
    wrong = [(*whole, 0), (*whole, 4), (starts[:3], columns, values, 1), (starts, columns + 1, values, 1)]
    wrong += [(starts[::-1].copy(), columns, values, 1), (starts, columns, values[1:], 1)]
    for asked in wrong:
        with pytest.raises(ValueError, match="must"):
            native.spectrum(*asked)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", [1, 2, 3, 17, 65, 130])
@pytest.mark.parametrize("rank", [1, 3, 200])
def test_all_eigenpairs_of_a_matrix(engine, size, rank):
    rows = np.random.default_rng(size).standard_normal((min(rank, size), size))
    matrix = rows.T @ rows / np.sum(rows * rows)
    values, vectors = engine.eigenpairs(matrix)
    np.testing.assert_allclose((vectors.T * values) @ vectors, matrix, atol=1e-13)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(size), atol=1e-12)
    assert (np.diff(values) <= 0).all()
