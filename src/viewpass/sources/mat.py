"""MATLAB files of multi-view sets: cells or numbered variables, classes, ready-made masks."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

from viewpass.errors import DataError, DataWarning
from viewpass.kernels.grid import Array, Mask
from viewpass.sources.bundle import Bundle
from viewpass.sources.mat_variables import read_variables

# Names in lower case, the usual ones first.
LABELS = (
    "y", "gt", "truth", "gnd", "truelabel", "labels", "label", "groundtruth", "ground_truth", "gt_label",
    "true_label", "truthlabel", "class", "classes", "target",
)  # fmt: skip
VIEWS = ("x", "fea", "data", "feature", "features", "views", "xs", "x_view", "xx")
MASKS = ("index", "ind", "observed", "mask", "missingstatus")  # 1: the row has the view
NUMBERED = re.compile(r"([a-z_]*?)_?(\d+)", re.IGNORECASE)


def load_mat(path: str | PathLike[str], *, turned: bool | None = None) -> Bundle:
    """Read a multi-view set from a MATLAB file; versions 5 to 7 by SciPy, 7.3 by h5py.

    Views are the entries of a cell (`X`, `fea`, `data` ...), numbered variables (`X1`, `X2` ...), or the
    matrices with one row per class label. Classes are `Y`, `gt`, `truth`, `gnd`, `truelabel` ..., as a
    row, a column, a cell or one column per class. Masks are `index` (the rows of each view, from 1),
    `ind`, `observed` or `MissingStatus` (rows x views, 1 where present); a row of NaN is missing, too.

    Parameters
    ----------
    path : path
        The file.
    turned : bool, optional
        Whether rows are stored as columns (d x n). By default that is found from the classes and from
        what the views have in common. A file that fits both ways is refused.

    Returns
    -------
    Bundle
        `notes` says how the file was read; turned views are reported by a DataWarning, too.
    """
    path = Path(path)
    reading = _Reading(path, read_variables(path))
    labels = reading.labels()
    views = reading.views(labels)
    n_rows, sideways = reading.orientation(views, labels, turned)
    rows = {
        name: _rows(view, axis, n_rows) for (name, view), axis in zip(views.items(), sideways, strict=True)
    }
    if labels is not None and len(labels) != n_rows:
        reading.notes.append(f"{len(labels)} labels for {n_rows} rows: left out")
        labels = None
    if any(sideways):
        which = "all views" if all(sideways) else ", ".join(np.array(list(views))[np.array(sideways) > 0])
        text = f"{which} turned: rows are stored as columns (d x n), the only reading that fits {n_rows} rows"
        reading.notes.append(text)
        warnings.warn(f"{path}: {text}. Pass turned=False to refuse that.", DataWarning, stacklevel=2)
    return Bundle(rows, labels, reading.observed(rows, n_rows), tuple(reading.notes))


def write_mat(path: str | PathLike[str], bundle: Bundle, **more: Any) -> None:
    """Write a bundle as a MATLAB file: `X` (a cell of views), `names`, `Y`, `observed`, and `more`."""
    cells = np.empty((1, len(bundle.views)), dtype=object)
    for place, view in enumerate(bundle.views.values()):
        cells[0, place] = (
            scipy.sparse.csc_matrix(view, dtype=np.float64) if scipy.sparse.issparse(view) else view
        )
    names = np.array(list(bundle.views), dtype=object).reshape(1, -1)
    found: dict[str, Any] = {"X": cells, "names": names, **more}
    if bundle.labels is not None:
        found["Y"] = bundle.labels.reshape(-1, 1)
    if bundle.observed is not None:
        found["observed"] = bundle.observed.astype(np.uint8)
    scipy.io.savemat(path, found, do_compression=True)


class _Reading:
    """Which variables are views, classes and masks."""

    def __init__(self, path: Path, variables: dict[str, Any]) -> None:
        self.path, self.variables = path, variables
        self.notes: list[str] = []
        self.used: set[str] = set()

    def _named(self, names: Sequence[str]) -> list[str]:
        order = {name: place for place, name in enumerate(names)}
        return sorted((v for v in self.variables if v.lower() in order), key=lambda v: order[v.lower()])

    def labels(self) -> Array | None:
        """The classes: the first of the usual names that holds some."""
        for name in self._named(LABELS):
            labels = _as_labels(self.variables[name])
            if labels is not None:
                self.used.add(name)
                self.notes.append(f"classes: {name}")
                return labels
        vectors = {name: found for name, x in self.variables.items() if (found := _as_labels(x)) is not None}
        vectors = {name: x for name, x in vectors.items() if x.size > 1 and name.lower() not in MASKS}
        if len(vectors) != 1:
            return None
        ((name, labels),) = vectors.items()
        self.used.add(name)
        self.notes.append(f"classes: {name}, the only vector of whole numbers")
        return labels

    def views(self, labels: Array | None) -> dict[str, Any]:
        """The views by name, as they are stored."""
        left = {
            name: value
            for name, value in self.variables.items()
            if name not in self.used and name.lower() not in MASKS
        }
        cells = {name: x for name, x in left.items() if isinstance(x, list) and _matrices(x)}
        chosen = [name for name in self._named(VIEWS) if name in cells] or list(cells)
        if chosen and (len(cells) == 1 or chosen[0].lower() in VIEWS):
            self.notes.append(f"views: the cell {chosen[0]}")
            return {f"{place + 1}": view for place, view in enumerate(cells[chosen[0]])}
        if cells:
            raise DataError(
                f"{self.path}: {', '.join(cells)} are all cells of matrices. Keep the one with the views, "
                "or name it X."
            )
        plain = {name: x for name, x in left.items() if not isinstance(x, list) and max(x.shape) > 1}
        numbered: dict[str, dict[int, str]] = {}
        for name in plain:
            if found := NUMBERED.fullmatch(name):
                numbered.setdefault(found[1], {})[int(found[2])] = name
        stems = [stem for stem, own in numbered.items() if len(own) > 1]
        if len(stems) == 1:
            names = [name for _, name in sorted(numbered[stems[0]].items())]
        else:
            fitting = [
                name
                for name, x in plain.items()
                if min(x.shape) > 1 and (labels is None or len(labels) in x.shape)
            ]
            names = [name for name in self._named(VIEWS) if name in plain][:1] or fitting
        if not names:
            known = ", ".join(self.variables) or "none"
            raise DataError(f"{self.path}: no variable holds views; its variables are {known}.")
        self.notes.append(f"views: {', '.join(names)}")
        return {name: plain[name] for name in names}

    def orientation(
        self, views: dict[str, Any], labels: Array | None, turned: bool | None
    ) -> tuple[int, list[int]]:
        """The number of rows, and the axis that counts them in each view."""
        shapes = [view.shape for view in views.values()]
        if turned is not None:
            axes = [len(shape) - 1 if turned else 0 for shape in shapes]
            sizes = {shape[axis] for shape, axis in zip(shapes, axes, strict=True)}
            if len(sizes) > 1:
                raise DataError(f"{self.path}: views of shapes {_shown(views)} do not have the same rows.")
            return sizes.pop(), axes
        counts = [len(labels)] if labels is not None else sorted({n for shape in shapes for n in shape})
        for stored in (True, False):  # all views the same way, or else each as it fits
            found = [reading for n in counts for reading in _fit(shapes, n, together=stored)]
            if len(found) > 1 and labels is not None and _symmetric(views):
                found = found[:1]
            if len(found) == 1:
                return found[0]
            if found:
                raise DataError(
                    f"{self.path}: views of shapes {_shown(views)} can be read with rows as rows or as "
                    "columns. Say which with turned=False or turned=True."
                )
        known = f"{len(labels)} labels" if labels is not None else "a common number of rows"
        raise DataError(f"{self.path}: views of shapes {_shown(views)} do not fit {known}.")

    def observed(self, views: dict[str, Any], n_rows: int) -> Mask | None:
        """The mask of the file, or of rows of NaN; None where nothing is missing."""
        absent = np.stack([_nan_rows(view) for view in views.values()], axis=1)
        for name in self._named(MASKS):
            mask = _as_mask(self.variables[name], n_rows, len(views))
            if mask is None:
                continue
            if name.lower() == "missingstatus" and absent.any():
                continue  # the generator that writes it hides only some of what it marks: NaN counts
            self.notes.append(f"mask: {name}, {1 - mask.mean():.1%} missing")
            return mask & ~absent
        if absent.any():
            self.notes.append(f"mask: rows of NaN, {absent.mean():.1%} missing")
        return ~absent if absent.any() else None


def _fit(shapes: Sequence[tuple[int, ...]], n: int, *, together: bool) -> list[tuple[int, list[int]]]:
    """The readings with `n` rows: first axis or last for all views, or one axis of each."""
    if together:
        return [
            (n, [axis % len(shape) for shape in shapes])
            for axis in (0, -1)
            if all(shape[axis] == n for shape in shapes)
        ]
    axes = [[axis for axis, size in enumerate(shape) if size == n] for shape in shapes]
    return [(n, [own[0] for own in axes])] if all(len(own) == 1 for own in axes) else []


def _symmetric(views: dict[str, Any]) -> bool:
    return all(x.ndim == 2 and x.shape[0] == x.shape[1] and not abs(x - x.T).max() for x in views.values())


def _shown(views: dict[str, Any]) -> str:
    return ", ".join("x".join(map(str, view.shape)) for view in views.values())


def _rows(view: Any, axis: int, n_rows: int) -> Any:
    if scipy.sparse.issparse(view):
        return scipy.sparse.csr_array(view.T if axis else view)
    kind = view.dtype if view.dtype.kind == "f" else np.float32 if view.dtype.itemsize < 4 else np.float64
    return np.ascontiguousarray(np.moveaxis(view, axis, 0).reshape(n_rows, -1), dtype=kind)


def _nan_rows(view: Any) -> Mask:
    if scipy.sparse.issparse(view):
        return np.zeros(view.shape[0], dtype=np.bool_)
    return np.asarray(np.isnan(view).all(axis=1))


def _matrices(cell: list[Any]) -> bool:
    return bool(cell) and all(not isinstance(x, list) and min(x.shape) > 0 for x in cell) and max(
        max(x.shape) for x in cell
    ) > 1 and any(min(x.shape) > 1 for x in cell)  # fmt: skip


def _as_labels(value: Any) -> Array | None:
    """Whole numbers, one per row: a vector, a cell of (equal) vectors, or one column of 0 and 1 per class."""
    if isinstance(value, list):
        found = [labels for one in value if (labels := _as_labels(one)) is not None]
        whole = len(found) == len(value) and all(np.array_equal(one, found[0]) for one in found)
        return found[0] if found and whole else None
    array = value.toarray() if scipy.sparse.issparse(value) and min(value.shape) < 200 else value
    if scipy.sparse.issparse(array) or array.dtype.kind not in "biuf" or array.size < 2 or array.ndim != 2:
        return None
    if array.dtype.kind == "f" and not (np.isfinite(array) & (array == np.rint(array))).all():
        return None
    if 1 in array.shape:
        return np.asarray(array.ravel().astype(np.int64))
    for axis in (1, 0):
        one_hot = np.isin(array, (0, 1)).all() and (array.sum(axis=axis) == 1).all()
        if one_hot and array.shape[axis] < array.shape[1 - axis]:
            return np.asarray(array.argmax(axis=axis).astype(np.int64))
    return None


def _as_mask(value: Any, n_rows: int, n_views: int) -> Mask | None:
    if isinstance(value, list):
        if len(value) != n_views or any(isinstance(one, list) for one in value):
            return None
        mask = np.zeros((n_rows, n_views), dtype=np.bool_)
        for view, own in enumerate(value):
            numbers = np.asarray(own).ravel()
            if numbers.size == n_rows and np.isin(numbers, (0, 1)).all():
                mask[:, view] = numbers > 0
            elif numbers.size and (numbers.min() < 1 or numbers.max() > n_rows):
                return None
            else:
                mask[numbers.astype(np.int64) - 1, view] = True
        return mask
    array = value.toarray() if scipy.sparse.issparse(value) else value
    if not np.isin(array, (0, 1)).all() or sorted(array.shape) != sorted((n_rows, n_views)):
        return None
    return np.asarray(array if array.shape == (n_rows, n_views) else array.T, dtype=np.bool_)
