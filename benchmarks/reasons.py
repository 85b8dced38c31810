"""Whether reasons hold on real sets: calibration, outliers, estimates of missing views.

`python -m benchmarks.reasons` prints the figures of docs/reasons.md; the data is in VIEWPASS_DATA or
../shared/data.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

import viewpass as vp

FOLDER = Path(os.environ.get("VIEWPASS_DATA", Path(__file__).parents[2] / "shared" / "data"))
DIGIT = ("fou", "fac", "kar", "pix", "zer")
DENSE = (
    "mfeat",
    "msrc_v1_6v",
    "aloi10",
    "landuse21",
    "mnist_hog5000",
    "wikipedia",
    "mnist70k_3v",
    "nutrimouse",
)
SPARSE = ("webkb", "reuters1200", "reuters600", "bbcsport", "3sources", "hw2sources", "bdgp", "emoji_l10n")
TATE = ("title_emb", "medium_emb", "subjects_emb", "size")
MOST = 20_000  # rows that are compared
MOST_RANKED, MOST_PATTERNS = 8000, 10  # rows, and combinations of as many views


def dense(name: str, views: tuple[str, ...] = ()) -> tuple[list[Any], Any]:
    """The dense views of a set and its classes, in random order."""
    stored = np.load(FOLDER / f"{name}.npz")
    names = [f"view_{view}" for view in views] or [key for key in stored if key.startswith("view_")]
    order = np.random.default_rng(0).permutation(len(stored["labels"]))
    return [stored[key][order].astype(np.float64) for key in names], stored["labels"][order]


def tate() -> list[Any]:
    """The views of the Tate table, in its own order; rows of NaN where they are missing."""
    import pyarrow.parquet as pq

    views = []
    for column in (pq.read_table(FOLDER / "tate.parquet", columns=list(TATE))[name] for name in TATE):
        lists = column.to_pylist()
        width = len(next(x for x in lists if x is not None))
        views.append(np.array([[np.nan] * width if x is None else x for x in lists], dtype=np.float32))
    return views


def calibration(name: str, views: list[Any], n_clusters: int) -> Iterator[str]:
    """Expected calibration error of "same label as by all views", and agreement of both halves."""
    model = vp.ViewPass(n_clusters, random_state=0).fit(views)
    rows = np.flatnonzero(~np.isnan(np.column_stack([x[:, 0] for x in views])).any(axis=1))
    rows = np.sort(np.random.default_rng(0).choice(rows, min(len(rows), MOST), replace=False))
    whole = [x[rows] for x in views]
    labels = model.predict(whole)
    for size in sorted({1, 2, len(views)}):
        sure, same = [], []
        for chosen in combinations(range(len(views)), size):
            some = [x if v in chosen else None for v, x in enumerate(whole)]
            sure.append(model.confidence(some))
            same.append(model.predict(some) == labels)
        low, high = halves(np.concatenate(sure), np.concatenate(same))
        error = calibration_error(np.concatenate(sure), np.concatenate(same))
        yield f"{name}, {size} of {len(views)} views: error {error:.3f}; halves agree {low:.3f}, {high:.3f}"


def ranked(name: str) -> str:
    """How often both halves by confidence have the label by all views, and the class, by number of views.

    A cluster stands for the class that most of its rows have. Rows that lack one of the views kept are left
    out; of the label by all views, so are rows that have no more than these.
    """
    views, classes = any_kind(name)
    model = vp.ViewPass(len(np.unique(classes)), random_state=0).fit(views)
    labels, seen = model.predict(views), np.stack([present(x) for x in views])
    majority = np.array(
        [np.bincount(classes[labels == k], minlength=1).argmax() for k in range(labels.max() + 1)]
    )
    parts = []
    for size in range(1, len(views) + 1):
        sure, same, right, shown = [], [], [], []
        for chosen in list(combinations(range(len(views)), size))[:MOST_PATTERNS]:
            rows = np.flatnonzero(seen[list(chosen)].all(axis=0))
            some = [x[rows] if v in chosen else None for v, x in enumerate(views)]
            found = model.predict(some)
            sure.append(model.confidence(some))
            same.append(found == labels[rows])
            right.append(majority[found] == classes[rows])
            shown.append(seen[:, rows].sum(axis=0) > size)
        confidence, more = np.concatenate(sure), np.concatenate(shown)
        text = f"class {show(halves(confidence, np.concatenate(right)))}"
        if more.any():
            text += f", label {show(halves(confidence[more], np.concatenate(same)[more]))}"
        parts.append(f"{size}: {text}")
    return f"{name}, halves by number of views: {'; '.join(parts)}"


def any_kind(name: str) -> tuple[list[Any], Any]:
    """At most MOST_RANKED rows of a set, in random order, with the gaps it has; classes from 0 on."""
    bundle = vp.load_bundle(FOLDER / f"{name}.npz")
    assert bundle.labels is not None
    order = np.random.default_rng(0).permutation(bundle.n_rows)[:MOST_RANKED]
    views: list[Any] = []
    for v, x in enumerate(bundle.views.values()):
        own = x[order] if scipy.sparse.issparse(x) else np.asarray(x)[order].astype(np.float64)
        if bundle.observed is not None:
            there = np.asarray(bundle.observed)[order, v]
            own = scipy.sparse.diags_array(there.astype(float)) @ own if scipy.sparse.issparse(x) else own
            if not scipy.sparse.issparse(x):
                own[~there] = np.nan
        views.append(scipy.sparse.csr_array(own) if scipy.sparse.issparse(own) else own)
    return views, np.unique(bundle.labels[order], return_inverse=True)[1].reshape(-1)


def present(view: Any) -> Any:
    """Which rows have a view: neither NaN nor all zero."""
    if scipy.sparse.issparse(view):
        return np.diff(view.indptr) > 0
    return ~np.isnan(view[:, 0]) & (view != 0).any(axis=1)


def show(shares: tuple[float, float]) -> str:
    """Two shares."""
    return (
        f"{shares[0]:.3f} < {shares[1]:.3f}"
        if shares[0] < shares[1]
        else f"{shares[0]:.3f} NOT < {shares[1]:.3f}"
    )


def calibration_error(sure: Any, same: Any) -> float:
    """The mean difference between confidence and agreement over ten bins."""
    bins = np.minimum((sure * 10).astype(int), 9)
    parts = (bins == b for b in np.unique(bins))
    return float(sum(mine.mean() * abs(sure[mine].mean() - same[mine].mean()) for mine in parts))


def halves(sure: Any, same: Any) -> tuple[float, float]:
    """Agreement of the less and of the more confident half."""
    order = np.argsort(sure, kind="stable")
    middle = len(order) // 2
    return float(same[order[:middle]].mean()), float(same[order[middle:]].mean())


def outliers(seed: int, *, held_out: bool = False, **settings: Any) -> str:
    """The area under the curve for noise in place of 5 % of Digit's rows, with all views and with one.

    `held_out`: of the half of the rows that the model was not fitted to, noise among both.
    """
    views, _ = dense("mfeat", DIGIT)
    rng = np.random.default_rng(seed)
    noise = np.zeros(2000, dtype=bool)
    noise[rng.choice(2000, 100, replace=False)] = True
    for x in views:
        x[noise] = x.mean(axis=0) + x.std(axis=0) * rng.standard_normal((100, x.shape[1]))
    fitted = np.random.default_rng(9).random(2000) < (0.5 if held_out else 1.0)
    model = vp.ViewPass(10, random_state=seed, **settings).fit([x[fitted] for x in views])
    if held_out:
        views, noise = [x[~fitted] for x in views], noise[~fitted]
    alone = [model.outlier_score([x if u == v else None for u, x in enumerate(views)]) for v in range(5)]
    single = ", ".join(f"{area(score, noise):.3f}" for score in alone)
    which = f"Digit{', other rows' if held_out else ''}, {settings}, seed {seed}"
    return f"{which}: {area(model.outlier_score(views), noise):.3f}; one view: {single}"


def area(score: Any, positive: Any) -> float:
    """Under the curve of hits against false alarms."""
    ranks = np.argsort(np.argsort(score)) + 1.0
    n = int(positive.sum())
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(score) - n)))


def highest(views: list[Any], n_clusters: int) -> str:
    """The share of rows by number of views among the 500 highest outlier scores, over that in the table."""
    score = vp.ViewPass(n_clusters, random_state=0).fit(views).outlier_score(views)
    n_views = sum(~np.isnan(x[:, 0]) for x in views)
    top = np.argsort(-np.nan_to_num(score, nan=-np.inf), kind="stable")[:500]
    ratios = [(n_views[top] == n).mean() / (n_views == n).mean() for n in range(1, len(views) + 1)]
    return "Tate, shares among the 500 highest over those of the table: " + ", ".join(
        f"{r:.2f}" for r in ratios
    )


def imputation(name: str) -> str:
    """The squared error of removed views over that of the mean, view by view."""
    views, classes = dense(name)
    views = [x[:8000] for x in views]
    n_rows, n_views = len(views[0]), len(views)
    rng = np.random.default_rng(1)
    hidden = rng.random((n_rows, n_views)) < 0.3
    hidden[np.arange(n_rows), rng.integers(n_views, size=n_rows)] = False
    given = [np.where(hidden[:, [v]], np.nan, x) for v, x in enumerate(views)]
    found = vp.ViewPass(len(np.unique(classes)), random_state=0).fit(given).impute(given)
    parts = []
    for v, x in enumerate(views):
        rows = hidden[:, v] & ~np.isnan(found.spread[:, v])
        mean = x[~hidden[:, v]].mean(axis=0)
        error, before = (
            ((found.views[v][rows] - x[rows]) ** 2).mean(axis=1),
            ((mean - x[rows]) ** 2).mean(axis=1),
        )
        parts.append(f"{error.mean() / before.mean():.2f}")
    return f"{name}: {', '.join(parts)}"


def main() -> None:
    """Print all figures."""
    warnings.simplefilter("ignore")
    sets: dict[str, tuple[list[Any], int]] = {"Digit": (dense("mfeat", DIGIT)[0], 10)}
    sets |= {"mnist70k_3v": (dense("mnist70k_3v")[0], 10), "Tate": (tate(), 15)}
    for name, (views, n_clusters) in sets.items():
        for line in calibration(name, views, n_clusters):
            print(line, flush=True)
    plain: dict[str, Any] = {"consensus": "plain", "scale": "unit"}
    for seed in range(3):
        print(outliers(seed), outliers(seed, **plain), outliers(seed, held_out=True, **plain), sep="\n")
    print(highest(*sets["Tate"]), sep="\n", flush=True)
    for name in (*DENSE, *SPARSE):
        print(ranked(name), flush=True)
    for name in DENSE:
        print(imputation(name), flush=True)


if __name__ == "__main__":
    main()
