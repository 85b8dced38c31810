"""Measurements of the baselines themselves: on complete data, and on filled data."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.decomposition import NMF

from viewpass.baselines.base import kmeans
from viewpass.baselines.daimc import DAIMC
from viewpass.baselines.mic import MIC
from viewpass.baselines.multinmf import MultiNMF
from viewpass.baselines.omvc import OMVC
from viewpass.baselines.onmf import ONMF
from viewpass.evaluate import accuracy, nmi
from viewpass.paper.settings import SETS, Trial, trial

Result = dict[str, Any]


def complete(
    *, method: str, scale: str, two: bool, rank: int, quick: bool, seed: int, folder: str | None,
    n_threads: int,
) -> Result:  # fmt: skip
    """A method on Digit with nothing missing; ACC and NMI at the end."""
    given = trial("digit", 0.0, seed, folder)
    views = [x for name, x in given.views.items() if not two or name in ("fou", "pix")]
    shared: dict[str, Any] = {"random_state": seed, "n_threads": n_threads}
    online: dict[str, Any] = {"chunk_size": 50, "n_passes": 5 if quick else 10, **shared}
    short = {"max_iter": 50} if quick else {}
    models: dict[str, Callable[[], Any]] = {
        "OMVC": lambda: OMVC(10, scale=scale, **online),
        "ONMF-I": lambda: ONMF(10, n_components=rank, **online),
        "ONMF-DA": lambda: ONMF(10, n_components=rank, hessian="diagonal", **online),
        "MultiNMF": lambda: MultiNMF(10, **short, **shared),
        "MIC": lambda: MIC(10, **shared),
        "DAIMC": lambda: DAIMC(10, **shared),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if method in models:
            labels = models[method]().fit(views).labels_
        else:
            labels = kmeans(_reduced(_joined(views, scale), method, rank, seed), 10, 20, seed)[1]
    return scores(given, labels)


def filled(
    *, data: str, rate: float, method: str, scale: str, quick: bool, seed: int, folder: str | None,
    n_threads: int,
) -> Result:  # fmt: skip
    """OMVC, or k-means on its input or on unit rows, with absent rows filled with a mean.

    OMVC fills with the mean of earlier rows; "filled beforehand" uses that of all rows, which a stream
    does not know; both with weight 1, so that nothing else differs. NMI is measured with the classes,
    and with the presence of each view (the largest value).
    """
    given = trial(data, rate, seed, folder)
    n_clusters = SETS[data].n_clusters
    views = [_plain(x) for x in given.views.values()]
    if method == "k-means" and scale == "unit":
        views = [_unit(x) for x in views]
    whole = [_with_means(x, there) for x, there in zip(views, given.observed.T, strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if method == "k-means":
            joined = np.hstack(whole) if scale == "unit" else _joined(whole, scale)
            labels = kmeans(joined, n_clusters, 20, seed)[1]
        else:
            model = OMVC(
                n_clusters, chunk_size=50, n_passes=5 if quick else 10, random_state=seed,
                n_threads=n_threads, weights="dynamic" if method == "OMVC" else "one",
            )  # fmt: skip
            if method == "OMVC, filled beforehand":
                labels = model.fit(whole).labels_
            else:
                labels = model.fit(views, observed=given.observed).labels_
    presence = max(nmi(there, labels) for there in given.observed.T)
    return {**scores(given, labels), "presence": presence}


def scores(given: Trial, labels: Any) -> Result:
    """ACC and NMI."""
    return {"acc": accuracy(given.truth, labels), "nmi": nmi(given.truth, labels)}


def _plain(x: Any) -> Any:
    return np.array(x.toarray() if hasattr(x, "toarray") else x, dtype=np.float64)


def _unit(x: Any) -> Any:
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)


def _with_means(x: Any, present: Any) -> Any:
    """A copy with absent rows replaced by the mean of the present ones."""
    out = x.copy()
    out[~present] = out[present].mean(axis=0)
    return out


def _joined(views: list[Any], scale: str) -> Any:
    """Concatenated views: clipped and divided by their sums, clipped unit rows, or unit rows."""
    if scale == "unit":
        return np.hstack([_unit(x) for x in views])
    views = [np.maximum(x, 0) for x in views]
    return np.hstack([x / x.sum() if scale == "sums" else _unit(x) for x in views])


def _reduced(rows: Any, method: str, rank: int, seed: int) -> Any:
    """The rows themselves, their non-negative factors, or their best subspace."""
    if method == "nmf":
        factors = NMF(rank, init="random", random_state=seed, max_iter=500, tol=1e-5)
        return factors.fit_transform(rows) * np.linalg.norm(factors.components_, axis=1)
    if method == "svd":
        left, lengths, _ = np.linalg.svd(rows, full_matrices=False)
        return left[:, :rank] * lengths[:rank]
    return rows
