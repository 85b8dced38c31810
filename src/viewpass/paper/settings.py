"""The paper's data sets and their substitutes, the methods, their search grids and defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

import numpy as np

from viewpass.errors import EngineError
from viewpass.evaluate.harness.cells import Cell, Result, Results
from viewpass.evaluate.harness.methods import Method


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


@dataclass
class PaperRun(Results):
    """A benchmark of the paper: which sets, how many seeds, how much of the large sets."""

    quick: bool = False
    parts: bool = False  # read only parts of the large sets
    sets: tuple[str, ...] = ()  # of figures 1 to 3; empty: all
    n_seeds: int = 5

    def results(self, cells: Sequence[Cell], *, alone: bool = False) -> list[Result]:
        """Results of the cells; here a method that fails is an error."""
        found = super().results(cells, alone=alone)
        for cell, result in zip(cells, found, strict=True):
            if "failed" in result:
                raise EngineError(f"{cell.name}: {result['failed']}")
        return found

    @property
    def in_parts(self) -> bool:
        """Whether only parts of the large sets are read."""
        return self.quick or self.parts

    def takes(self, data: str) -> bool:
        """Whether figures 1 to 3 use this set."""
        return not self.sets or data in self.sets

    @property
    def seeds(self) -> range:
        """The seeds of the repetitions."""
        return range(self.n_seeds)


def method(name: str, home: str = "viewpass.paper.published", **settings: Any) -> Method:
    """A method of the paper with its settings; `name` is a function or class of the module `home`."""
    given = ", ".join(f"{key}={value!r}" for key, value in sorted(settings.items()))
    return Method(f"{name}({given})", f"{home}:{name}({given})")


def published(title: str, **settings: Any) -> Method:
    """One of the paper's methods by its title."""
    if title == "OPIMC":
        return method("opimc", **settings)
    return method("compared", method=title, **settings)


def passes_cell(
    plan: PaperRun, data: str, title: str, rate: float, seed: int, n_passes: int, **more: Any
) -> Cell:
    """A method on a data set, scored after each pass; `more` are settings, or override the chunk size."""
    chosen, shuffle = SETS[data], more.pop("shuffle", True)
    settings = {"chunk_size": chosen.chunk(plan.in_parts), **more}
    own = published(title, **settings)
    n_rows = chosen.rows(plan.in_parts)
    return Cell(data, "paper", rate, seed, own, n_passes=n_passes, n_rows=n_rows, shuffle=shuffle)


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
