"""One list of awkward data and one of settings, for the laws that hold for whatever `fit` accepts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp

import viewpass as vp
from inputs import csr, strided

WIDTHS = (4, 3)


class Data(NamedTuple):
    """What `fit` is given, and `observed` or weights beside it."""

    X: Any
    beside: dict[str, Any]


def made(rng: np.random.Generator) -> list[np.ndarray]:
    """Two views of some rows around a few centres."""
    n_rows, n_groups = int(rng.integers(8, 80)), int(rng.integers(1, 6))
    groups, noise = rng.integers(n_groups, size=n_rows), rng.choice([0.05, 0.5, 2.0])
    return [
        rng.standard_normal((n_groups, width))[groups] + noise * rng.standard_normal((n_rows, width))
        for width in WIDTHS
    ]


def hidden(rng: np.random.Generator, views: list[np.ndarray]) -> list[np.ndarray]:
    """The same with some rows of NaN."""
    views = [view.astype(np.float64) for view in views]
    for view in views:
        view[rng.random(len(view)) < rng.choice([0.1, 0.5, 0.9])] = np.nan
    return views


def few_kinds(rng: np.random.Generator) -> list[np.ndarray]:
    n_kinds = int(rng.integers(1, 6))
    kinds = rng.integers(n_kinds, size=int(rng.integers(6, 90)))
    return [rng.standard_normal((n_kinds, width))[kinds] for width in WIDTHS]


def ties(rng: np.random.Generator) -> list[np.ndarray]:
    n_rows = int(rng.integers(6, 60))
    return [rng.integers(-1, 2, size=(n_rows, width)).astype(np.float64) for width in WIDTHS]


def equal_rows(rng: np.random.Generator) -> list[np.ndarray]:
    views = made(rng)
    some = rng.random(len(views[0])) < 0.5
    for view in views:
        view[some] = view[0]
    return views


def constant(rng: np.random.Generator) -> list[np.ndarray]:
    views = made(rng)
    views[int(rng.integers(2))][:] = rng.choice([0.0, 1.0, -3.0])
    return views


def marks(rng: np.random.Generator) -> list[np.ndarray]:
    return [
        (view > rng.choice([0.0, 1.0])).astype(rng.choice(["int8", "float32", "bool"])) for view in made(rng)
    ]


def extreme(rng: np.random.Generator) -> list[np.ndarray]:
    views = made(rng)
    factor = 10.0 ** rng.choice([-300, -160, -90, 30, 90, 150, 300])
    where = rng.integers(3)
    for view in views[: int(rng.integers(1, 3))]:
        if where == 0:
            view *= factor
        elif where == 1:
            view[:, 0] *= factor
        else:
            view[rng.random(len(view)) < 0.1] *= factor
    return views


def sentinels(rng: np.random.Generator) -> list[np.ndarray]:
    views = made(rng)
    for view in views:
        view[rng.random(view.shape) < 0.1] = rng.choice([-999.0, 1e9, 2.0**31, 0.0])
    return views


def numbers(rng: np.random.Generator) -> list[np.ndarray]:
    kinds = ["int8", "uint8", "int16", "int32", "uint64", "float16", "float32", "float64", ">f4"]
    return [np.abs(9 * view).astype(rng.choice(kinds)) for view in made(rng)]


def laid_out(rng: np.random.Generator) -> list[np.ndarray]:
    views = [rng.choice([np.asfortranarray, strided, np.array])(view) for view in made(rng)]
    for view in views:
        view.flags.writeable = False
    return views


def counts(rng: np.random.Generator) -> list[Any]:
    views = [rng.poisson(np.abs(view)) for view in made(rng)]
    return [sp.csr_array(view.astype(np.float64)) for view in views]


def sparse(rng: np.random.Generator) -> list[Any]:
    found = []
    for view in made(rng):
        view[rng.random(view.shape) < 0.5] = 0.0
        rows = csr(view, flip=bool(rng.integers(2)), halves=bool(rng.integers(2)))
        rows.data[rng.random(len(rows.data)) < 0.2] = 0.0
        found.append(rows)
    return found


def arrow(rng: np.random.Generator) -> Any:
    """A table of lists, in one of Arrow's many forms."""
    columns = {}
    for name, view in zip(("image", "text"), hidden(rng, made(rng)), strict=True):
        lists = [None if np.isnan(row).any() else row.tolist() for row in view]
        form = rng.integers(4)
        if form == 0:
            columns[name] = pa.array([None, *lists], pa.list_(pa.float64()))[1:]
        elif form == 1:
            columns[name] = pa.array(lists, pa.list_(pa.float32(), view.shape[1]))
        elif form == 2:
            columns[name] = pa.array(lists, pa.large_list(pa.float64()))
        else:
            columns[name] = pa.array(lists, pa.list_(pa.float64()))
    table = pa.table(columns)
    if rng.integers(2):
        table = pa.concat_tables([table[:0], table[: len(table) // 2], table[:0], table[len(table) // 2 :]])
    return table


def frames(rng: np.random.Generator) -> dict[str, pd.DataFrame]:
    views = hidden(rng, made(rng))
    return {
        name: pd.DataFrame(view, columns=[f"{name}{c}" for c in range(view.shape[1])])
        for name, view in zip("ab", views, strict=True)
    }


def one_row(rng: np.random.Generator) -> list[np.ndarray]:
    return [view[:1] for view in made(rng)]


def gaps(rng: np.random.Generator) -> list[np.ndarray]:
    """Values missing inside rows."""
    views = rng.choice([made, extreme, marks, constant])(rng)
    views = [view.astype(np.float64) for view in views]
    for view in views:
        view[rng.random(view.shape) < 0.2] = np.nan
    return views


def absent(rng: np.random.Generator) -> list[Any]:
    views: list[Any] = list(made(rng))
    views.insert(int(rng.integers(3)), rng.choice([None, "nan"]))
    return [
        np.full((len(made_), 2), np.nan) if isinstance(view, str) else view
        for made_ in [next(v for v in views if isinstance(v, np.ndarray))]
        for view in views
    ]


KINDS = {
    f.__name__: f
    for f in (
        made,
        few_kinds,
        ties,
        equal_rows,
        constant,
        marks,
        extreme,
        sentinels,
        numbers,
        laid_out,
        counts,
        sparse,
        arrow,
        frames,
        one_row,
        gaps,
        absent,
    )
}
SETTINGS: dict[str, list[Any]] = {
    "scale": ["unit", "standard", "idf", "euclidean", "counts", "composition", "binary"],
    "consensus": ["plain", "neighbours", "graph"],
    "n_anchors": [2, 5, 12],
    "projection": [None, 2, 3],
    "alpha": [0.0, 0.1, 10.0],
    "view_weights": [[1.0, 0.25], [0.0, 1.0]],
    "missing_entries": ["fill", "local"],
    "sample_size": [10, 25],
    "compute_labels": [False],
    "robust": [True],
}
STREAMS: list[dict[str, Any]] = [
    {"window": 8},
    {"window": 30},
    {"half_life": 5},
    {"half_life": 40},
    {"n_clusters": "grow"},
    {"n_clusters": "grow", "max_clusters": 3, "window": 24},
]
PUBLISHED: dict[str, list[Any]] = {
    "scale": ["auto", "standard", "idf", "euclidean"],
    "init": ["random", "k-means++"],
    "fill": ["mean", "zero-filled-mean", None],
    "alpha": [0.0, 0.1, 10.0],
}


def data(rng: np.random.Generator, kind: str) -> Data:
    """Awkward data of a kind, with views hidden and rows weighted at times."""
    X, beside = KINDS[kind](rng), dict[str, Any]()
    if isinstance(X, list) and all(isinstance(view, np.ndarray) for view in X):
        if rng.random() < 0.3 and X[0].dtype.kind == "f" and X[0].dtype.isnative and kind != "gaps":
            X = hidden(rng, X)
        elif rng.random() < 0.3:
            beside["observed"] = rng.random((len(X[0]), len(X))) < 0.7
        if rng.random() < 0.2:
            weights = rng.integers(0, 4, size=len(X[0]))
            beside["sample_weight"] = weights / 3 if rng.random() < 0.5 else weights
    return Data(X, beside)


def part(data: Data, rows: slice) -> Data:
    """Some rows of awkward data."""
    X, beside = data
    if isinstance(X, list):
        X = [view if view is None else view[rows] for view in X]
    elif isinstance(X, dict):
        X = {name: view[rows] for name, view in X.items()}
    else:
        X = X[rows]
    return Data(X, {name: values[rows] for name, values in beside.items()})


def n_rows_of(X: Any) -> int:
    """Rows of awkward data."""
    views = X.values() if isinstance(X, dict) else X if isinstance(X, list) else [X]
    return next(view.shape[0] for view in views if view is not None)


def model(rng: np.random.Generator, X: Any) -> Any:
    """An estimator with a few legal settings; the number of clusters may be that of the rows, or more."""
    n_rows = n_rows_of(X)
    number = rng.choice([1, 2, 3, 5, 8, n_rows, n_rows + 1])
    settings: dict[str, Any] = {
        "n_clusters": int(number),
        "random_state": int(rng.integers(99)),
        "n_threads": 1,
    }
    kind = rng.choice(["ViewPass"] * 6 + ["OPIMC", "IMC"])
    choices = SETTINGS if kind == "ViewPass" else PUBLISHED
    for name, values in choices.items():
        if rng.random() < 0.3:
            settings[name] = values[int(rng.integers(len(values)))]
    if kind == "ViewPass" and rng.random() < 0.1:
        settings["n_clusters"] = "auto"
    if kind == "ViewPass" and rng.random() < 0.2:
        settings |= STREAMS[int(rng.integers(len(STREAMS)))]
    if kind == "OPIMC":
        settings["chunk_size"] = int(rng.choice([7, 1000]))
    if kind == "IMC":
        settings["n_init"] = 2
    return getattr(vp, kind)(**settings)
