"""Views and their true classes, and the folder that passes them to the measured processes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

PARTS = ("data", "indices", "indptr")


@dataclass
class Data:
    """A missing view is a row of NaN in a dense view, an empty row in a sparse one."""

    views: list[Any]  # (n, d) arrays or CSR arrays
    classes: np.ndarray

    def head(self, n_rows: int) -> Data:
        return Data([view[:n_rows] for view in self.views], self.classes[:n_rows])

    @property
    def n_rows(self) -> int:
        return len(self.classes)

    @property
    def n_bytes(self) -> int:
        return sum(buffer.nbytes for view in self.views for buffer in buffers(view))


def buffers(view: Any) -> list[np.ndarray]:
    """The arrays a view is made of."""
    return [getattr(view, part) for part in PARTS] if scipy.sparse.issparse(view) else [view]


def observed(view: Any) -> np.ndarray:
    """Which rows of a view are there."""
    there = np.diff(view.indptr) > 0 if scipy.sparse.issparse(view) else ~np.isnan(view[:, 0])
    return np.asarray(there)


def save(folder: Path, data: Data) -> None:
    folder.mkdir()
    np.save(folder / "classes.npy", data.classes)
    for number, view in enumerate(data.views):
        if scipy.sparse.issparse(view):
            for part in PARTS:
                np.save(folder / f"view{number}_{part}.npy", getattr(view, part))
            np.save(folder / f"view{number}_shape.npy", np.array(view.shape))
        else:
            np.save(folder / f"view{number}.npy", view)


def load(folder: Path, n_rows: int | None = None) -> Data:
    """Read into ordinary memory: pages of a mapped file would be counted as a method's own."""
    views: list[Any] = []
    while True:
        stem = folder / f"view{len(views)}"
        if stem.with_suffix(".npy").exists():
            views.append(np.load(stem.with_suffix(".npy"), mmap_mode=None if n_rows is None else "r"))
        elif Path(f"{stem}_shape.npy").exists():
            parts = tuple(np.load(f"{stem}_{part}.npy") for part in PARTS)
            shape = tuple(map(int, np.load(f"{stem}_shape.npy")))
            views.append(scipy.sparse.csr_array(parts, shape=shape))
        else:
            break
    data = Data(views, np.load(folder / "classes.npy"))
    if n_rows is None or n_rows == data.n_rows:
        return data if n_rows is None else Data([_owned(view) for view in data.views], data.classes)
    return Data([_owned(view[:n_rows]) for view in data.views], data.classes[:n_rows].copy())


def _owned(view: Any) -> Any:
    return view if scipy.sparse.issparse(view) else np.array(view)
