"""The published procedure on Digit, beside an independent NumPy implementation of the same paper.

`python -m benchmarks.reproduction` prints ACC / NMI, mean and in brackets standard deviation over the seeds.
The figures of the reference are of 50 seeds of its own (five views, rows shuffled, alpha .1, soft start, fill
by the observed mean, 20 iterations per chunk).
"""

from __future__ import annotations

import argparse

import numpy as np

import viewpass as vp
from benchmarks.real import DIGIT_VIEWS, bundle_of
from viewpass.evaluate import accuracy, make_mask, nmi

N_SEEDS = 50
Setting = tuple[int | str, int, float]  # rows per chunk or IMC, passes, missing rate

# ACC, its spread, NMI, its spread
REFERENCE: dict[Setting, tuple[float, float, float, float]] = {
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


def fitted(setting: Setting, views: list[np.ndarray], truth: np.ndarray, seed: int) -> tuple[float, float]:
    """ACC and NMI of one fit."""
    size, n_passes, rate = setting
    rng = np.random.default_rng([seed, int(10 * rate)])
    order = rng.permutation(len(truth))
    observed = make_mask("paper", len(truth), len(views), rate, rng)
    published = {"alpha": 0.1, "init": "random", "random_state": rng}
    model = (
        vp.IMC(10, n_init=1, **published)
        if size == "IMC"
        else vp.OPIMC(10, chunk_size=size, n_passes=n_passes, compute_labels=False, **published)
    )
    labels = model.fit_predict([x[order] for x in views], observed=observed)
    return accuracy(truth[order], labels), nmi(truth[order], labels)


def measured(setting: Setting, n_seeds: int = N_SEEDS) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of ACC and NMI."""
    bundle = bundle_of("mfeat")
    views = [bundle.views[name] for name in DIGIT_VIEWS]
    figures = np.array([fitted(setting, views, bundle.labels, seed) for seed in range(n_seeds)])
    return figures.mean(axis=0), figures.std(axis=0, ddof=1)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reproduction", description=__doc__)
    parser.add_argument("--seeds", type=int, default=N_SEEDS)
    options = parser.parse_args()
    print(
        f"| missing, method | viewpass, {options.seeds} seeds | reference, {N_SEEDS} seeds |\n|---|---|---|"
    )
    for setting, (acc, acc_spread, information, spread) in REFERENCE.items():
        size, n_passes, rate = setting
        method = "IMC, one start" if size == "IMC" else f"s = {size}, pass {n_passes}"
        mean, own = measured(setting, options.seeds)
        ours = f"{mean[0]:.3f} ({own[0]:.3f}) / {mean[1]:.3f} ({own[1]:.3f})"
        theirs = f"{acc:.3f} ({acc_spread:.3f}) / {information:.3f} ({spread:.3f})"
        print(f"| {rate:.0%}, {method} | {ours} | {theirs} |", flush=True)


if __name__ == "__main__":
    main()
