"""What a run of the paper measures: data sets and their substitutes, settings, cells, means over seeds."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from viewpass.errors import EngineError
from viewpass.evaluate.harness.cells import Cell, Result, Results
from viewpass.evaluate.harness.methods import Method
from viewpass.kernels.grid import Floats

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Set:
    """A data set of the paper, or the real one measured in its place."""

    title: str
    stands_for: str
    chunk_size: int
    alpha: float  # the best one, says the paper
    missing: float  # in figure 2; 0: the views that it lacks itself
    part: tuple[int, int] | None = None  # rows and chunk size where parts of large sets are read

    @property
    def short(self) -> str:
        """The title without what it stands for."""
        return self.title.split(" (")[0]

    @property
    def substitute(self) -> bool:
        """Whether it is not the paper's own set."""
        return self.title != self.stands_for


SETS = {
    "webkb": Set("WebKB", "WebKB", 50, 10.0, 0.3),
    "digit": Set("Digit", "Digit", 50, 0.1, 0.3),
    "reuters1200": Set("Reuters, a sample of 1,200", "Reuters", 50, 0.01, 0.4),
    "mnist70k_3v": Set("MNIST in 3 views (for YouTube)", "YouTube", 2000, 1.0, 0.4, (3000, 500)),
    "debian_l10n": Set("Debian descriptions (for Reuters)", "Reuters", 2000, 0.01, 0.0, (2000, 500)),
}
ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)


@dataclass
class PaperRun(Results):
    """A benchmark of the paper: which sets, how many seeds, how much of the large sets."""

    quick: bool = False
    parts: bool = False  # read only parts of the large sets
    n_seeds: int = 5
    used: list[Cell] = field(default_factory=list)  # cells of the part that is measured

    @property
    def in_parts(self) -> bool:
        """Whether only parts of the large sets are read."""
        return self.quick or self.parts

    def results(self, cells: Sequence[Cell], *, alone: bool = False) -> list[Result]:
        """Results of the cells; here a method that fails is an error."""
        found = super().results(cells, alone=alone)
        self.used += cells
        for cell, result in zip(cells, found, strict=True):
            if "failed" in result:
                raise EngineError(f"{cell.name}: {result['failed']}")
        return found

    def means(self, kinds: Mapping[Key, Callable[[int], Cell]]) -> dict[Key, dict[str, Floats]]:
        """Means over the seeds of each kind of cell after each pass, and their spreads ("nmi sd")."""
        results = iter(self.results([cell(seed) for cell in kinds.values() for seed in range(self.n_seeds)]))
        out = {}
        for kind in kinds:
            own = [next(results) for _ in range(self.n_seeds)]
            out[kind] = dict[str, Floats]()
            for score in ("acc", "nmi", "presence"):
                values = np.array([result[score] for result in own])
                out[kind][score] = values.mean(axis=0)
                out[kind][f"{score} sd"] = (
                    values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
                )
        return out

    def cell(self, data: str, title: str, rate: float, seed: int, n_passes: int, **more: Any) -> Cell:
        """A method on a data set, scored after each pass; `more` are settings, or override the chunk size."""
        n_rows, chunk_size = 0, SETS[data].chunk_size
        if self.in_parts:
            n_rows, chunk_size = SETS[data].part or (0, chunk_size)
        shuffle = more.pop("shuffle", True)
        own = published(title, **{"chunk_size": chunk_size, **more})
        return Cell(data, "paper", rate, seed, own, n_passes=n_passes, n_rows=n_rows, shuffle=shuffle)


def method(name: str, home: str = "viewpass.paper.methods", **settings: Any) -> Method:
    """A method of the paper with its settings; `name` is a function or class of the module `home`."""
    given = ", ".join(f"{key}={value!r}" for key, value in sorted(settings.items()))
    return Method(f"{name}({given})", f"{home}:{name}({given})")


def published(title: str, **settings: Any) -> Method:
    """One of the paper's methods by its title."""
    if title == "OPIMC":
        return method("opimc", **settings)
    return method("compared", method=title, **settings)
