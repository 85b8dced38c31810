"""Random estimator inputs: every one is refused with a promised error, or gives labels that make sense.

An input is a few views of one data set with something odd about them (types, shapes, NaN, inf, zeros, sparse
forms, text, frames), a mask, weights and settings that may not fit.
"""

from __future__ import annotations

import copy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import viewpass as vp

SECONDS = 2
PROMISED = (vp.ViewpassError, ValueError, TypeError)  # scikit-learn's own errors are of the last two

NUMBERS = ["int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64", ">f4", "bool"]
ODD_TYPES = ["complex128", "U3", "S3", "M8[s]", "longdouble"]
ODD_VALUES = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308, 1e-308, 5e-324, 2.0**60, -1.0]
SPARSE = [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array, sp.lil_array, sp.bsr_array, sp.dok_array]
PUBLISHED = {
    "init": ["random", "k-means++", "none", np.eye(3), [np.eye(3)], [[1, 2], [3]], 7],
    "fill": ["mean", "zero-filled-mean", None, "zero"],
    "tol": [0.0, 1e-6, -1.0],
}
MODELS: dict[str, dict[str, list[Any]]] = {
    "ViewPass": {
        "sample_size": ["auto", 1, 5, 0],
        "consensus": ["auto", "plain", "neighbours", "graph", "merge"],
        "n_anchors": ["auto", 1, 4, 0],
        "projection": ["auto", None, 2, 1],
        "missing_entries": ["refuse", "fill", "local", "guess"],
        "view_weights": [None, [1.0, 2.0], [0.0, 0.0], {"view0": 1}, [np.nan, 1.0]],
        "compute_labels": [True, False],
    },
    "OPIMC": {"chunk_size": [1, 3, 7, 1000], "n_passes": [1, 2], **PUBLISHED},
    "IMC": {"n_init": [1, 3], "max_iter": [1, 5], **PUBLISHED},
}
SETTINGS: dict[str, list[Any]] = {
    "n_clusters": [1, 2, 3, 8, 0, -1, 2.5, True, "two", None],
    "alpha": [0.1, 0.0, 10.0, -1.0, np.nan],
    "scale": ["unit", "standard", "idf", "auto", "none", ["unit"], {"view0": "unit"}],
    "random_state": [0, None, "seed", -1],
}


def pick(random: np.random.Generator, values: Any) -> Any:
    return values[int(random.integers(len(values)))]


def odd_view(random: np.random.Generator, n_rows: int) -> Any:
    """A view of about n_rows rows, ordinary or with something odd about it."""
    width = int(pick(random, [1, 2, 3, 5, 0]) if random.random() < 0.2 else random.integers(1, 6))
    x: Any = random.standard_normal((n_rows, width)) * 10.0 ** random.integers(-3, 4)
    kind = random.random()
    if kind < 0.35:
        return x
    if kind < 0.45:
        with np.errstate(all="ignore"):
            return x.astype(pick(random, NUMBERS if random.random() < 0.7 else ODD_TYPES))
    if kind < 0.6 and x.size:
        for _ in range(int(random.integers(1, 4))):
            row = int(random.integers(n_rows))
            where = slice(None) if random.random() < 0.5 else int(random.integers(width))
            x[row, where] = pick(random, ODD_VALUES)
        return x
    if kind < 0.75:
        x[random.random(x.shape) < 0.6] = 0
        return pick(random, SPARSE)(x)
    if kind < 0.82:
        return pd.DataFrame(x, index=random.permutation(n_rows) if random.random() < 0.3 else None)
    odd = [
        None,
        x[: n_rows // 2],
        x[:, :, None],
        x[:, 0] if width else x,
        x.tolist(),
        x.astype(object),
        np.where(x > 0, x, None),
        np.full(x.shape, "a", dtype=object),
        np.ma.masked_array(x, x > 0),
        np.asfortranarray(x),
        x[::-1],
        "views",
        7,
        {"a": x},
        [],
    ]
    return pick(random, odd)


def odd_input(random: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    """X, and what is passed beside it."""
    n_rows = int(pick(random, [0, 1, 2]) if random.random() < 0.1 else random.integers(3, 30))
    views = [odd_view(random, n_rows) for _ in range(int(random.integers(1, 4)))]
    X: Any = views
    form = random.random()
    if form < 0.15:
        X = views[0]
    elif form < 0.3:
        X = {f"view{v}": x for v, x in enumerate(views)}
    elif form < 0.35:
        X = tuple(views)
    beside: dict[str, Any] = {}
    odd: list[Any]
    if random.random() < 0.3:
        mask: Any = random.random((n_rows, len(views))) < 0.7
        odd = [mask, mask.astype(int), mask.tolist(), mask[:1], mask * 2.0, "all"]
        beside["observed"] = pick(random, odd)
    if random.random() < 0.2:
        weights: Any = random.integers(0, 4, size=n_rows)
        odd = [weights, weights / 3, -weights, weights * np.nan, weights[:-1], weights.astype(str), 2.0]
        beside["sample_weight"] = pick(random, odd)
    return X, beside


def odd_model(random: np.random.Generator) -> Any:
    """An estimator with a few settings, most of them valid."""
    name = pick(random, list(MODELS))
    settings: dict[str, Any] = {"n_clusters": 2, "random_state": 0, "n_threads": 1}
    for setting, values in (SETTINGS | MODELS[name]).items():
        if random.random() < 0.15:
            settings[setting] = pick(random, values)
    return getattr(vp, name)(**settings)


def trial(random: np.random.Generator, folder: Path) -> None:
    """One random input through `fit`, `predict`, `transform` and `partial_fit`."""
    model, (X, beside) = odd_model(random), odd_input(random)
    told = f"{' '.join(repr(model).split())} on {described(X)}, {', '.join(beside) or 'nothing'} beside it"
    before = copy.deepcopy(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        if promised(lambda: model.fit(X, **beside), f"fit of {told}"):
            check_answer(model, X, beside, told)
        elif random.random() < 0.5:
            model.set_params(n_clusters=2)
        if hasattr(model, "partial_fit"):
            check_partial_fit(model, *odd_input(random), told)
    if not same(X, before):
        raise AssertionError(f"the input was changed: {told}")


def promised(call: Any, what: str) -> bool:
    """Whether the call succeeded; an error that is not promised is a finding."""
    try:
        call()
    except PROMISED:
        return False
    except Exception as problem:
        raise AssertionError(f"{what}: {type(problem).__name__}: {problem}".replace("\n", " ")) from problem
    return True


def check_answer(model: Any, X: Any, beside: dict[str, Any], told: str) -> None:
    """Labels, distances and counts of an accepted input agree with each other."""
    given = {name: value for name, value in beside.items() if name == "observed"}
    labels, distances = model.predict(X, **given), model.transform(X, **given)
    n_clusters = distances.shape[1]
    problems = {
        "labels are out of range": labels.min(initial=0) < -1 or labels.max(initial=0) >= n_clusters,
        "labels and rows differ in number": not len(labels) == len(distances) == model.n_samples_seen_,
        "label -1 is not a row of NaN": bool(((labels == -1) != np.isnan(distances).all(axis=1)).any()),
        "a distance is negative": bool((distances < -1e-6).any()),
        "labels_ is not predict": hasattr(model, "labels_") and not np.array_equal(model.labels_, labels),
        "objective_ is not a number": not np.isfinite(model.objective_),
        "rows without views are miscounted": model.n_rows_without_views_ != int((labels == -1).sum()),
    }
    for problem, found in problems.items():
        if found:
            raise AssertionError(f"{problem}: {told}")


def check_partial_fit(model: Any, X: Any, beside: dict[str, Any], told: str) -> None:
    """A refused chunk leaves the model as it was."""
    fitted = hasattr(model, "_learnt")
    before = model.statistics_ if fitted else None
    if not promised(lambda: model.partial_fit(X, **beside), f"partial_fit of {described(X)} after {told}"):
        if fitted and model.statistics_ != before:
            raise AssertionError(f"a refused chunk changed the model: {described(X)} after {told}")
        return
    given = {name: value for name, value in beside.items() if name == "observed"}
    promised(lambda: model.predict(X, **given), f"predict of {described(X)} after {told}")


def described(X: Any) -> str:
    """The kinds of the views, in a line."""
    if isinstance(X, dict) and not sp.issparse(X):
        return "{" + ", ".join(f"{name}: {described(x)}" for name, x in X.items()) + "}"
    if isinstance(X, list | tuple) and any(hasattr(x, "shape") for x in X):
        return "[" + ", ".join(map(described, X)) + "]"
    shape, dtype = getattr(X, "shape", ""), getattr(X, "dtype", "")
    return f"{type(X).__name__}{shape}{dtype}"


def same(one: Any, other: Any) -> bool:
    """Whether two inputs hold the same; NaN equals NaN."""
    if sp.issparse(one):
        return same(one.toarray(), other.toarray())
    if isinstance(one, dict):
        return all(same(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray | pd.DataFrame):
        return np.array(one).astype(str).tolist() == np.array(other).astype(str).tolist()
    return bool(one == other or one != one)
