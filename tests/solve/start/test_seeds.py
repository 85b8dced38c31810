"""Seeds drawn in two levels: the same for all threads and both modules, and far apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cases import computing
from inputs import random_csr
from viewpass.kernels.grid import FEWEST_GROUPED
from viewpass.solve.starts import seeded_labels
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows


def made(n_rows, seed, *, sparse=False, copies=False):
    rng = np.random.default_rng(seed)
    views = [random_csr(rng, (n_rows, d), 0.1) if sparse else rng.random((n_rows, d)) for d in (30, 9)]
    observed = rng.random((n_rows, 2)) < 0.7  # some rows have no view, some share none with most seeds
    given = rng.integers(0, 3, n_rows) if copies else None
    chunk = replace(Chunk.of(views, observed=observed), copies=given)
    return MeasuredRows(chunk).measure()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("grouped", [1, 100])
def test_threads_and_modules_agree(sparse, copies, grouped):
    found = []
    for reference, n_threads in ((True, 1), (False, 1), (False, 2), (False, 5)):
        with computing(reference=reference):
            rows = made(400, 1, sparse=sparse, copies=copies)
            found.append(seeded_labels(rows, 60, np.random.default_rng(2), n_threads, grouped=grouped))
    for other in found[1 if grouped == 1 else 0 :]:  # groups are the compiled module's own
        np.testing.assert_array_equal(other, found[-1])


def test_every_row_has_a_seed_and_nearly_every_seed_has_rows():
    rows = made(4000, 3)
    labels = seeded_labels(rows, FEWEST_GROUPED, np.random.default_rng(4))
    assert labels.min() >= 0
    assert labels.max() < FEWEST_GROUPED
    assert len(np.unique(labels)) > 0.95 * FEWEST_GROUPED


def test_every_cluster_far_from_the_others_has_a_seed():
    rng = np.random.default_rng(5)
    truth = np.repeat(np.arange(600), 5)
    centres = rng.standard_normal((600, 40))
    x = centres[truth] + 0.01 * rng.standard_normal((3000, 40))
    labels = seeded_labels(MeasuredRows(Chunk.of([x])).measure(), 600, rng)
    n_met = len(np.unique(truth[np.unique(labels, return_index=True)[1]]))
    assert n_met > 0.97 * 600


@pytest.mark.parametrize("n_different", [1, 3])
def test_rows_that_coincide_are_all_labelled(n_different):
    x = np.eye(5)[np.arange(50) % n_different]
    for reference, grouped in ((True, 1), (False, 1), (False, 100)):
        with computing(reference=reference):
            rows = MeasuredRows(Chunk.of([x])).measure()
            labels = seeded_labels(rows, 30, np.random.default_rng(6), grouped=grouped)
        assert len(np.unique(labels)) == n_different
        np.testing.assert_array_equal(labels[n_different:], labels[:-n_different])
