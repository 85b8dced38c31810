"""Digit under the published procedure, 50 seeds, against an independent reading of the paper.

Reference figures: mean and standard deviation over 50 seeds of an independent NumPy implementation
(five views, rows shuffled, alpha .1, soft start, fill by the observed mean, 20 iterations a chunk).
Run with `make test-long`; with `-s` it prints what it measured.
"""

from __future__ import annotations

import numpy as np
import pytest

import viewpass as vp
from viewpass.evaluate import accuracy, nmi, remove_per_view

DIGIT = ("fou", "fac", "kar", "pix", "zer")
N_SEEDS = 50

# (chunk size, pass, missing): ACC, its spread, NMI, its spread
REFERENCE = {
    (50, 1, 0.3): (0.651, 0.051, 0.645, 0.033),
    (50, 10, 0.3): (0.743, 0.068, 0.738, 0.035),
    (250, 1, 0.3): (0.699, 0.062, 0.691, 0.034),
    (250, 10, 0.3): (0.751, 0.068, 0.739, 0.033),
    ("IMC", 1, 0.3): (0.762, 0.077, 0.745, 0.042),
    (50, 1, 0.4): (0.628, 0.057, 0.603, 0.039),
    (50, 10, 0.4): (0.732, 0.072, 0.716, 0.035),
    (250, 1, 0.4): (0.679, 0.064, 0.658, 0.037),
    (250, 10, 0.4): (0.747, 0.070, 0.721, 0.035),
    ("IMC", 1, 0.4): (0.740, 0.069, 0.719, 0.038),
}


def run(cell, views, truth, seed):
    size, n_passes, rate = cell
    rng = np.random.default_rng([seed, int(10 * rate)])
    order = rng.permutation(len(truth))
    observed = remove_per_view(len(truth), len(views), rate, rng)
    if size == "IMC":
        model = vp.IMC(10, alpha=0.1, init="random", n_init=1, random_state=rng)
    else:
        model = vp.OPIMC(
            10,
            alpha=0.1,
            chunk_size=size,
            n_passes=n_passes,
            init="random",
            compute_labels=False,
            random_state=rng,
        )
    labels = model.fit_predict([x[order] for x in views], observed=observed)
    return accuracy(truth[order], labels), nmi(truth[order], labels)


@pytest.mark.long
@pytest.mark.data
@pytest.mark.parametrize("cell", REFERENCE, ids=str)
def test_within_three_standard_errors_of_the_difference(cell, data_folder):
    bundle = vp.load_bundle(data_folder / "mfeat.npz")
    views = [bundle.views[name] for name in DIGIT]
    figures = np.array([run(cell, views, bundle.labels, seed) for seed in range(N_SEEDS)])
    mean, spread = figures.mean(axis=0), figures.std(axis=0, ddof=1)
    acc, acc_spread, information, information_spread = REFERENCE[cell]
    print(f"\n{cell}: {mean[0]:.3f} ({spread[0]:.3f}) / {mean[1]:.3f} ({spread[1]:.3f})")  # noqa: T201
    error = np.sqrt((spread**2 + np.array([acc_spread, information_spread]) ** 2) / N_SEEDS)
    assert np.all(np.abs(mean - [acc, information]) <= 3 * error)
