"""The paper's data sets and their substitutes, the methods, their search grids and defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product
from typing import Any

import numpy as np

from viewpass.errors import DataError
from viewpass.evaluate import load_digit, load_webkb, make_like, remove_per_view
from viewpass.evaluate.data.folder import folder_of
from viewpass.paper.cells import Cell, PaperRun, Result
from viewpass.sources.bundle import Bundle, load_bundle


@dataclass(frozen=True)
class Set:
    """A data set of the paper, or the real one measured in its place."""

    name: str
    title: str
    n_clusters: int
    chunk_size: int
    stands_for: str
    large: bool = False
    quick_rows: int | None = None
    quick_chunk: int | None = None

    def chunk(self, quick: bool) -> int:
        """Rows per chunk."""
        return self.quick_chunk if quick and self.quick_chunk else self.chunk_size

    def rows(self, quick: bool) -> int:
        """Maximum number of rows to read; 0 for all."""
        return self.quick_rows if quick and self.quick_rows else 0


SETS = {
    "webkb": Set("webkb", "WebKB", 2, 50, "WebKB"),
    "digit": Set("digit", "Digit", 10, 50, "Digit"),
    "reuters1200": Set("reuters1200", "Reuters, a sample of 1,200", 6, 50, "Reuters"),
    "debian_l10n": Set(
        "debian_l10n", "Debian descriptions (for Reuters)", 26, 2000, "Reuters", True, 2000, 500
    ),
    "mnist70k_3v": Set("mnist70k_3v", "MNIST in 3 views (for YouTube)", 10, 2000, "YouTube", True, 3000, 500),
}

ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)
BEST_ALPHA = {"webkb": 10.0, "digit": 0.1, "reuters1200": 0.01, "debian_l10n": 0.01, "mnist70k_3v": 1.0}

METHODS = ("OPIMC", "IMC", "OMVC", "MultiNMF", "ONMF-I", "ONMF-DA")
ONLINE = ("OPIMC", "OMVC", "ONMF-I", "ONMF-DA")
DEFAULTS: dict[str, dict[str, float]] = {
    "OPIMC": {"alpha": 0.1},
    "IMC": {"alpha": 0.1},
    "OMVC": {"agreement": 1e-2, "sparsity": 1e-7},
    "MultiNMF": {"agreement": 1e-2},
    "ONMF-I": {"multiple": 1},
    "ONMF-DA": {"multiple": 1},
}
SEARCH_SEED = 1000  # settings are chosen on data that is not reported


def grid(method: str, quick: bool) -> list[dict[str, float]]:
    """The settings the paper searches; a few of them in a quick run.

    ONMF has none in the paper. Its rank is set to once and twice the number of clusters, so that a
    rank too small for k-means does not hold it back (see the part `baselines`).
    """
    if method in ("OPIMC", "IMC"):
        return [{"alpha": alpha} for alpha in ALPHAS]
    if method == "OMVC":
        agreements = (1e-2, 1e-1) if quick else (1e-3, 1e-2, 1e-1, 1.0)
        sparsities = (1e-7,) if quick else (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
        return [{"agreement": a, "sparsity": b} for a, b in product(agreements, sparsities)]
    if method == "MultiNMF":
        return [{"agreement": a} for a in ((1e-2,) if quick else (1e-3, 1e-2, 1e-1, 1.0))]
    return [{"multiple": times} for times in (1, 2)]


def settings_text(more: dict[str, float]) -> str:
    """Settings as text for tables."""
    names = {"multiple": "components per cluster"}
    return ", ".join(f"{names.get(name, name)} {value:g}" for name, value in more.items())


@dataclass(frozen=True)
class Trial:
    """Rows in the order of the stream, with views removed."""

    views: dict[str, Any]
    truth: np.ndarray
    observed: np.ndarray


@lru_cache(maxsize=2)
def loaded(name: str, folder: str | None, n_rows: int) -> Bundle:
    """A data set; cached per process."""
    if name == "webkb":
        return load_webkb(folder)
    if name == "digit":
        return load_digit(folder)
    if name.startswith("made "):
        return make_like(name.removeprefix("made "), n_rows or None)
    path = folder_of(folder) / f"{name}.npz"
    if not path.exists():
        raise DataError(f"{path}: no such file; this part of the paper needs it.")
    return load_bundle(path)


def trial(
    name: str, rate: float, seed: int, folder: str | None, n_rows: int = 0, *, shuffle: bool = True
) -> Trial:
    """A set with `rate` of each view removed; a set with missing views of its own keeps those only."""
    bundle = loaded(name, folder, n_rows if name.startswith("made ") else 0)
    assert bundle.labels is not None
    rng = np.random.default_rng([seed, round(100 * rate)])
    order = rng.permutation(bundle.n_rows) if shuffle else np.arange(bundle.n_rows)
    if n_rows:
        order = order[:n_rows]
    views = {view: x[order] for view, x in bundle.views.items()}
    if bundle.observed is not None:
        observed = bundle.observed[order]
    else:
        observed = remove_per_view(len(order), len(views), rate, rng)
    return Trial(views, bundle.labels[order], observed)


def passes_cell(
    plan: PaperRun, data: str, method: str, rate: float, seed: int, n_passes: int, **more: Any
) -> Cell:
    """A method on a data set, scored after each pass; `more` overrides the chunk size and rows of the set."""
    chosen = SETS[data]
    size = {"chunk_size": chosen.chunk(plan.in_parts), "n_rows": chosen.rows(plan.in_parts)}
    own = {"data": data, "method": method, "rate": rate, "seed": seed, "n_passes": n_passes}
    return Cell.of("passes", **{**size, **own, **more})


def score_rows(found: Mapping[Any, dict[str, np.ndarray]]) -> list[list[Any]]:
    """Table rows: key, pass, ACC, NMI."""
    return [
        [key, number, float(acc), float(nmi)]
        for key, scores in found.items()
        for number, (acc, nmi) in enumerate(zip(scores["acc"], scores["nmi"], strict=True), 1)
    ]


def mean_scores(results: Iterator[Result], n_seeds: int) -> dict[str, np.ndarray]:
    """ACC and NMI after each pass: means of the next `n_seeds` results."""
    own = list(islice(results, n_seeds))
    return {score: np.mean([result[score] for result in own], axis=0) for score in ("acc", "nmi")}
