"""What is recorded: a hash of each part of a fit, by kind of numbers, start and number of passes.

The published procedure is recorded apart from starts and graphs, where an external linear algebra library
may affect the last digits.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

import viewpass as vp
from bits.rows import REAL, Rows, rows, views_of

THREADS = (1, 5)


def labels_given(data: Rows) -> Any:
    return np.arange(min(data.chunk_size, data.n_rows), dtype=np.int64) * 7 % data.n_clusters


def memberships_given(data: Rows) -> Any:
    shape = (min(data.chunk_size, data.n_rows), data.n_clusters)
    return np.random.default_rng(9).random(shape)


def centres_given(data: Rows) -> Any:
    rng = np.random.default_rng(10)
    return [(rng.random((data.n_clusters, x.shape[1])) - 0.5) / x.shape[1] for x in data.views]


# Settings that differ from the defaults, by their name; functions compute theirs from the rows.
STARTS: dict[str, dict[str, dict[str, Any]]] = {
    "published": {
        "plain": {},
        "alpha-0": {"alpha": 0.0},
        "fill-none": {"fill": None},
        "fill-zeros": {"fill": "zero-filled-mean"},
        "one-update": {"max_iter": 1},
        "tol-0": {"tol": 0.0, "max_iter": 50},
        "large-chunks": {"chunk_size": 350},
        "labels": {"init": labels_given},
        "labels-one-update": {"init": labels_given, "max_iter": 1},
        "memberships": {"init": memberships_given},
        "centres": {"init": centres_given},
    },
    "solved": {
        "default": {},
        "sampled": {"sample_size": 150},
        "graph": {"consensus": "graph", "sample_size": 150},
        "plain": {"consensus": "plain", "sample_size": 150, "scale": "unit"},
        "standard": {"scale": "standard", "consensus": "plain"},
        "own-number": {"n_clusters": "auto"},
    },
}
# The first centres of a soft V solve a linear system. Where they are never made anew from the sums, their
# last digits depend on BLAS: those parts are recorded among the started ones.
LEFT_TO_BLAS = {"one-update": ("centres", "loss_curve")}


@dataclass(frozen=True)
class Cell:
    """One recording, which holds for any number of threads."""

    group: str
    data: str
    kind: str
    start: str
    n_passes: int
    seed: int = 0
    long: bool = False

    @property
    def name(self) -> str:
        seed = f"/seed-{self.seed}" if self.seed else ""
        return f"{self.data}/{self.kind}/{self.start}/{self.n_passes}{seed}"

    @property
    def section(self) -> str:
        return f"{self.group}, long" if self.long else self.group

    @property
    def input(self) -> tuple[str, str]:
        return self.data, self.kind

    @property
    def real(self) -> bool:
        return self.data in REAL

    @property
    def left_out(self) -> tuple[str, ...]:
        """Parts that are not recorded here."""
        return LEFT_TO_BLAS.get(self.start, ())

    def __str__(self) -> str:
        return f"{self.section}/{self.name}".replace(", ", "-")

    @property
    def views(self) -> list[Any]:
        return views_of(self.data, self.kind)

    def model(self, n_threads: int = 1) -> Any:
        data = rows(self.data)
        settings = {"n_clusters": data.n_clusters, "random_state": self.seed, "n_threads": n_threads}
        if self.group == "published":
            settings |= {"chunk_size": data.chunk_size, "n_passes": self.n_passes}
        settings |= STARTS[self.group][self.start]
        settings = {name: value(data) if callable(value) else value for name, value in settings.items()}
        return (vp.OPIMC if self.group == "published" else vp.ViewPass)(**settings)

    def fitted(self, n_threads: int = 1) -> Any:
        return self.model(n_threads).fit(self.views)

    def chunks(self) -> list[list[Any]]:
        size = self.model().chunk_size
        return [[x[at : at + size] for x in self.views] for at in range(0, rows(self.data).n_rows, size)]


# ---- which cells there are

KINDS = ("float32", "float64", "csr", "mixed")


def _product(group, datas, kinds, starts, passes=(1, 3), seeds=(0,), long=False):
    return [
        Cell(group, data, kind, start, n_passes, seed, long)
        for data in datas
        for kind in kinds
        for start in starts
        for n_passes in passes
        for seed in seeds
    ]


def _short() -> list[Cell]:
    shapes = ("tiles", "wide", "halves")
    special = [start for start in STARTS["published"] if start != "plain"]
    solved = list(STARTS["solved"])
    return [
        *_product("published", (*shapes, "ties", "odd", "many", "digit"), KINDS, ("plain",)),
        *_product("published", ("odd",), KINDS, special),
        *_product("published", (*shapes, "ties"), ("float32", "csr"), special, passes=(3,)),
        *_product("published", ("digit",), ("float32",), special, passes=(3,)),
        *_product("published", ("odd", "wide", "webkb"), ("csr64",), ("plain",)),
        *_product("published", ("webkb",), ("csr", "mixed"), ("plain",)),
        *_product("published", ("webkb",), ("csr",), special),
        *_product("solved", ("odd", "ties"), KINDS, solved, passes=(1,)),
        *_product(
            "solved", ("tiles", "wide", "halves"), ("float32", "csr"), ("default", "graph"), passes=(1,)
        ),
        *_product("solved", ("digit",), ("float32", "mixed"), ("default", "graph"), passes=(1,)),
        *_product("solved", ("webkb",), ("csr",), ("default", "sampled"), passes=(1,)),
    ]


def _long() -> list[Cell]:
    large = [f"large-{seed}" for seed in range(3)]
    shapes = ("tiles", "wide", "halves", "ties", "odd", "digit")
    published = list(STARTS["published"])
    return [
        *_product("published", (*shapes, "digit-2000", *large), KINDS, ("plain",), seeds=(1, 2), long=True),
        *_product("published", ("digit-2000", "large-0"), KINDS, published, long=True),
        *_product("published", ("ties", "many"), KINDS, published, seeds=(1,), long=True),
        *_product("published", ("webkb",), ("csr", "csr64", "mixed"), published, seeds=(1,), long=True),
        *_product("solved", ("digit-2000", *large), KINDS, ("default", "sampled"), passes=(1,), long=True),
    ]


CELLS = list(dict.fromkeys([*_short(), *_long()]))
BY_NAME = {str(cell): cell for cell in CELLS}


# ---- what is recorded of a model


def digest(*arrays: Any) -> str:
    """The first digits of the SHA-256 of arrays: their shapes, types and bits."""
    found = hashlib.sha256()
    for array in map(np.asarray, arrays):
        found.update(f"{array.dtype.str}{array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def parts(model: Any, labels: Any = None, stream_labels: Any = None) -> dict[str, Any]:
    """A hash of each part of what was learnt; `labels` and `stream_labels` where the model lacks them."""
    found = {
        "labels": digest(model.labels_ if labels is None else labels),
        "sums": digest(model.statistics_.flat),
        "counts": digest(*model.counts_),
        "centres": digest(*model.cluster_centers_),
    }
    if isinstance(model, vp.OPIMC):
        found |= {
            "stream_labels": digest(model.stream_labels_ if stream_labels is None else stream_labels),
            "loss_curve": digest(model.loss_curve_),
            "n_iter": int(model.n_iter_),
        }
    elif model.anchors_ is not None:
        found |= {"anchors": digest(model.anchors_), "anchor_centres": digest(*model.anchor_centers_)}
    return found


def different(mine: dict[str, Any], recorded: dict[str, Any]) -> list[str]:
    """The parts that are not as recorded."""
    return sorted(name for name in mine.keys() | recorded.keys() if mine.get(name) != recorded.get(name))


def input_digests(cells: list[Cell]) -> dict[str, str]:
    """A hash of the rows themselves, of each kind: where it differs, nothing else can be compared."""
    return {f"{data}/{kind}": input_digest(data, kind) for data, kind in sorted({c.input for c in cells})}


def input_digest(data: str, kind: str) -> str:
    arrays = []
    for x in views_of(data, kind):
        arrays += [x.data, x.indices, x.indptr] if sp.issparse(x) else [x]
    return digest(*arrays)
