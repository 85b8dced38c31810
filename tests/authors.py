"""What the authors' own programs answered (`authors` of the real data), and the rows they were given."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import viewpass as vp


@dataclass(frozen=True)
class Run:
    """One setting of OPIMC: its input and, for each pass, what the program gave."""

    name: str
    views: list
    observed: np.ndarray
    settings: dict  # of `vp.OPIMC`
    labels: np.ndarray  # pass, row
    losses: np.ndarray  # pass, chunk
    n_iter: np.ndarray  # pass, chunk

    @property
    def n_passes(self):
        return len(self.labels)

    def model(self, **more):
        """The product under the settings that equal the program."""
        same = {"fill": "zero-filled-mean", "max_iter": 30, "tol": 1e-6}
        return vp.OPIMC(**{**same, **self.settings, **more})

    def given(self, kind):
        """The views as "float64", "float32", "csr64" or "csr32"."""
        dtype = np.float32 if "32" in kind else np.float64
        if "csr" in kind:
            return [sp.csr_array(x).astype(dtype) for x in self.views]
        return [(x.toarray() if sp.issparse(x) else x).astype(dtype) for x in self.views]

    def compare(self, kind, n_passes, n_threads):
        """Fit; labels of all rows, losses and the number of centre updates are the program's."""
        model = self.model(n_passes=n_passes, n_threads=n_threads, compute_labels=False)
        model.fit(self.given(kind), observed=self.observed)
        np.testing.assert_array_equal(model.stream_labels_, self.labels[n_passes - 1], self.name)
        np.testing.assert_allclose(model.loss_curve_, self.losses[:n_passes].ravel(), rtol=1e-9)
        saved = self.n_iter[:n_passes].sum() - model.n_iter_
        assert 0 <= saved <= self.losses[:n_passes].size, self.name  # see `updates_saved`


def updates_saved(run: Run) -> np.ndarray:
    """How many centre updates fewer than the program each chunk of the first pass takes.

    A chunk is done as soon as no label changes; the program then makes one more update, which changes
    nothing, and stops because the loss stays. A chunk ended by its loss takes as many.
    """
    model, size = run.model(), run.settings["chunk_size"]
    views, after = run.given("float64"), [0]
    for first in range(0, len(run.observed), size):
        rows = slice(first, first + size)
        model.partial_fit([x[rows] for x in views], observed=run.observed[rows])
        after.append(model.n_iter_)
    return run.n_iter[0] - np.diff(after)


def read(folder: Path, file: str):
    path = Path(folder) / "authors" / file
    if not path.is_file():
        pytest.skip(f"the results of the authors' programs are not there: {path} is absent")
    stored = np.load(path, allow_pickle=False)
    return stored, json.loads(str(stored["settings"]))


def digit(folder: Path) -> list[Run]:
    """16 settings, three passes each."""
    stored, about = read(folder, "opimc_digit.npz")
    bundle = vp.load_bundle(Path(folder) / "mfeat.npz")
    runs = []
    axes = [range(len(about[name])) for name in ("rates", "seeds", "chunk_sizes", "alphas")]
    for rate, seed, size, alpha in product(*axes):
        chunk_size = about["chunk_sizes"][size]
        order = stored["permutation"][seed]
        packed = stored["mask_packed"][rate, seed]
        at = rate, seed, alpha
        runs.append(
            Run(
                f"Digit {about['rates'][rate]}, seed {seed}, chunks of {chunk_size}, "
                f"alpha {about['alphas'][alpha]}",
                [bundle.views[name][order] for name in about["views"]],
                np.unpackbits(packed, count=len(order) * 5).reshape(-1, 5).astype(bool),
                _settings(about, chunk_size, alpha, stored[f"V0_{chunk_size}"][seed]),
                stored["labels"][rate, seed, size, alpha],
                stored[f"loss_{chunk_size}"][at],
                stored[f"n_iter_{chunk_size}"][at],
            )
        )
    return runs


def webkb(folder: Path) -> list[Run]:
    """6 settings, two passes each; rows without any view were left out before chunks were cut."""
    stored, about = read(folder, "opimc_webkb.npz")
    bundle = vp.load_bundle(Path(folder) / "webkb.npz")
    runs = []
    for seed, alpha in product(range(len(about["seeds"])), range(len(about["alphas"]))):
        order = stored["permutation"][seed]
        views = [sp.csr_array(bundle.views[name])[order] for name in about["views"]]
        marked = np.unpackbits(stored["mask_packed"][seed], count=len(order) * 2).reshape(-1, 2)
        observed = marked.astype(bool) & np.column_stack([np.diff(x.indptr) > 0 for x in views])
        keep = observed.any(axis=1)
        runs.append(
            Run(
                f"WebKB, seed {seed}, alpha {about['alphas'][alpha]}",
                [x[keep] for x in views],
                observed[keep],
                _settings(about, 50, alpha, stored["V0_50"][seed]),
                stored["labels"][seed, alpha][:, keep],
                stored["loss_50"][seed, alpha],
                stored["n_iter_50"][seed, alpha],
            )
        )
    return runs


def _settings(about, chunk_size, alpha, drawn):
    start = drawn.astype(np.float64)
    return {
        "n_clusters": about["n_clusters"],
        "alpha": about["alphas"][alpha],
        "chunk_size": chunk_size,
        "init": start / start.sum(axis=1, keepdims=True),
    }


@dataclass(frozen=True)
class BaselineRun:
    """300 rows of Digit as the programs of the baselines were given them, and what was stored of the run."""

    number: int
    views: list
    observed: np.ndarray
    classes: np.ndarray
    names: list
    stored: dict

    def of(self, name):
        return self.stored[name][self.number]

    def factors(self):
        """Bases and coefficients that MultiNMF, MIC and OMVC began with, a list by view each."""
        return tuple(
            [self.of(f"{kind}_{name}").astype(np.float64) for name in self.names]
            for kind in ("basis", "coefficients")
        )


def baselines(folder: Path) -> list[BaselineRun]:
    """The two runs that every program of the baselines made."""
    stored, about = read(folder, "baselines_digit.npz")
    bundle = vp.load_bundle(Path(folder) / "mfeat.npz")
    runs = []
    for number in range(len(about["runs"])):
        order = stored["permutation"][number]
        packed = stored["mask_packed"][number]
        runs.append(
            BaselineRun(
                number,
                [bundle.views[name][order].astype(np.float64) for name in about["views"]],
                np.unpackbits(packed, count=len(order) * 5).reshape(-1, 5).astype(bool),
                np.asarray(bundle.labels)[order],
                about["views"],
                {name: stored[name] for name in stored.files},
            )
        )
    return runs
