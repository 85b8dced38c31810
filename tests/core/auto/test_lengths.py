"""A warning where unit length removes what tells rows apart, and none where it does not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import normalized_mutual_info_score

import viewpass as vp
from viewpass.errors import DataWarning


@pytest.mark.parametrize("seed", range(3))
def test_clusters_behind_one_another_are_warned_of_and_the_way_out_helps(seed):
    rows, classes = make_blobs(5000, n_features=2, centers=5, random_state=seed)
    with pytest.warns(DataWarning, match="view 'view0': the lengths of its rows carry more"):
        plain = vp.OPIMC(5, random_state=0).fit([rows])
    centred = rows - rows.mean(axis=0)
    longest = np.full((len(rows), 1), np.linalg.norm(centred, axis=1).max())
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        lifted = vp.OPIMC(5, random_state=0).fit([np.hstack([centred, longest])])
    scores = [normalized_mutual_info_score(classes, fitted.labels_) for fitted in (plain, lifted)]
    assert scores[1] > scores[0] + 0.1


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_the_size_of_the_numbers_does_not_matter(scale):
    rows, _ = make_blobs(1000, n_features=2, centers=5, random_state=0)
    with pytest.warns(DataWarning, match="lengths"):
        vp.OPIMC(5, random_state=0).fit([rows * scale])


def test_directions_that_suffice_are_not_warned_of():
    blobs, _ = make_blobs(1000, n_features=20, centers=5, random_state=0)
    angles = np.random.default_rng(0).random(1000)
    circle = np.column_stack([np.cos(2 * np.pi * angles), np.sin(2 * np.pi * angles)])
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        for rows in (blobs, circle, load_digits().data):
            vp.OPIMC(5, random_state=0).fit([rows])
        vp.OPIMC(5, scale="unit", random_state=0).fit([make_blobs(500, n_features=2, random_state=0)[0]])
