"""MATLAB files of multi-view sets: cells or numbered variables, classes, ready-made masks."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

from viewpass.errors import DataError, warn
from viewpass.kernels.grid import Array, Mask
from viewpass.sources.bundle import Bundle
from viewpass.sources.mat_classes import found_labels, found_masks
from viewpass.sources.mat_file import read_variables
from viewpass.sources.mat_variables import found_views, joined, symmetric


def load_mat(
    path: str | PathLike[str],
    *,
    views: str | Sequence[str] = (),
    labels: str | None = None,
    mask: str | None = None,
    turned: bool | None = None,
) -> Bundle:
    """Read a multi-view set from a MATLAB file; versions 4 to 7 by SciPy, 7.3 by h5py.

    Views are the entries of a cell (`X`, `fea`, `data` ...; named by the text in `names`), numbered
    variables (`X1`, `X2` ...), or the matrices with one row per class label. Classes are `Y`, `gt`,
    `truth`, `gnd`, `truelabel` ..., as numbers or text, in a row, a column, a cell or one column per class.
    Masks are `index` (the rows of each view, from 1), `ind`, `folds`, `observed` or `MissingStatus` (rows x
    views, 1 where present); a row of NaN is missing, too. Training and test parts (`x1_train`, `x1_test`)
    are joined. A file that can be read in two ways is refused; the options say which way is right.

    Parameters
    ----------
    path : path
        The file.
    views : str or sequence of str
        The variable with the cell of views, or the variables that are views.
    labels : str, optional
        The variable with the classes.
    mask : str, optional
        The mask to use, where the file has several: `"folds{3}"` is the third of the cell `folds`.
        Without it none of several is used, and a DataWarning lists them.
    turned : bool, optional
        Whether rows are stored as columns (d x n). By default that is found from the classes and from
        what the views have in common.

    Returns
    -------
    Bundle
        `notes` says how the file was read; turned views are reported by a DataWarning, too.
    """
    path = Path(path)
    variables, notes = read_variables(path), list[str]()
    if not views and labels is None:
        variables, notes = joined(variables)
    stored, of_views = found_views(path, variables, views)
    classes, of_classes = found_labels(path, variables, stored, labels)
    notes = [of_classes, *of_views, *notes]
    present, sideways = _present_rows(variables, stored, classes)
    if present is None:
        sideways = _orientation(path, stored, classes, turned)
    rows = {name: _rows(view, axis) for (name, view), axis in zip(stored.items(), sideways, strict=True)}
    if present is not None:
        rows = {name: _filled(view, seen) for (name, view), seen in zip(rows.items(), present.T, strict=True)}
        notes.append("each view holds its present rows only; the others are missing")
    n_rows = next(iter(rows.values())).shape[0]
    if any(sideways):
        which = "all views" if all(sideways) else ", ".join(np.array(list(stored))[np.array(sideways) > 0])
        text = f"{which} turned: rows are stored as columns (d x n)"
        if turned is None:
            text += f", the only reading that fits {n_rows} rows"
            warn(f"{path}: {text}. Pass turned=False to refuse that.")
        notes.append(text)
    observed, of_mask = _observed(path, variables, rows, mask)
    return Bundle(rows, classes, observed, (*notes, *of_mask))


def write_mat(path: str | PathLike[str], bundle: Bundle, **more: Any) -> None:
    """Write a bundle as a MATLAB file: `X` (a cell of views), `names`, `Y`, `observed`, and `more`."""
    cells = np.empty((1, len(bundle.views)), dtype=object)
    for place, view in enumerate(bundle.views.values()):
        cells[0, place] = (
            scipy.sparse.csc_matrix(view, dtype=np.float64) if scipy.sparse.issparse(view) else view
        )
    names = _texts(list(bundle.views)).reshape(1, -1)
    found: dict[str, Any] = {"X": cells, "names": names, **more}
    if bundle.labels is not None:
        labels = bundle.labels
        found["Y"] = (labels if labels.dtype.kind in "biuf" else _texts(labels)).reshape(-1, 1)
    if bundle.observed is not None:
        found["observed"] = bundle.observed.astype(np.uint8)
    scipy.io.savemat(path, found, do_compression=True)


def _texts(values: Any) -> Array:
    """Text as a cell of strings."""
    return np.array([str(value) for value in values], dtype=object)


def _present_rows(
    variables: dict[str, Any], views: dict[str, Any], labels: Array | None
) -> tuple[Mask | None, list[int]]:
    """The mask and the axes of rows, where each view holds only the rows that a mask says are present."""
    shapes = [view.shape for view in views.values()]
    if labels is None or all(len(labels) in shape for shape in shapes):
        return None, []
    for mask in found_masks(variables, len(labels), len(shapes)).values():
        counts = mask.sum(axis=0).tolist()
        for axis in (0, 1):
            if [shape[axis] for shape in shapes] == counts:
                return mask, [axis] * len(shapes)
    return None, []


def _orientation(path: Path, views: dict[str, Any], labels: Array | None, turned: bool | None) -> list[int]:
    """The axis that counts rows, of each view."""
    shapes = [view.shape for view in views.values()]
    if turned is not None:
        axes = [len(shape) - 1 if turned else 0 for shape in shapes]
        sizes = {shape[axis] for shape, axis in zip(shapes, axes, strict=True)}
        if len(sizes) > 1 or (labels is not None and len(labels) not in sizes):
            known = "the same rows" if labels is None else f"{len(labels)} rows, one per label"
            raise DataError(f"{path}: views of shapes {_shown(views)} do not have {known}.")
        return axes
    counts = [len(labels)] if labels is not None else sorted({n for shape in shapes for n in shape})
    for together in (True, False):  # all views the same way, or else each as it fits
        found = [reading for n in counts for reading in _fit(shapes, n, together=together)]
        if len(found) > 1 and labels is not None and all(map(symmetric, views.values())):
            found = found[:1]
        if len(found) == 1:
            return found[0]
        if found:
            raise DataError(
                f"{path}: views of shapes {_shown(views)} can be read with rows as rows or as "
                "columns. Say which with turned=False or turned=True."
            )
    known = f"{len(labels)} labels" if labels is not None else "a common number of rows"
    raise DataError(f"{path}: views of shapes {_shown(views)} do not fit {known}.")


def _observed(
    path: Path, variables: dict[str, Any], views: dict[str, Any], wanted: str | None
) -> tuple[Mask | None, list[str]]:
    """The mask of the file, or of rows of NaN; None where nothing is missing; and notes."""
    n_rows = next(iter(views.values())).shape[0]
    absent = np.stack([_nan_rows(view) for view in views.values()], axis=1)
    masks = found_masks(variables, n_rows, len(views))
    if absent.any():  # the generator that writes it hides only some of what it marks: NaN counts
        masks = {name: mask for name, mask in masks.items() if name.lower() != "missingstatus"}
    if wanted is not None and wanted not in masks:
        known = ", ".join(masks) or "none"
        raise DataError(f"{path}: there is no mask {wanted!r} for {n_rows} rows; its masks are {known}.")
    if wanted is None and len(masks) > 1:
        shares = [1 - mask.mean() for mask in masks.values()]
        names = list(masks)
        shown = ", ".join(names) if len(names) < 4 else f"{names[0]} to {names[-1]}"
        text = f"{len(masks)} masks, none used: {shown} ({min(shares):.1%} to {max(shares):.1%} missing)"
        warn(f"{path}: {text}. Choose one with mask=.")
        notes = [f"masks: {text}"]
        masks = {}
    else:
        masks = {name: mask for name, mask in masks.items() if wanted in (None, name)}
        notes = [f"mask: {name}, {1 - mask.mean():.1%} missing" for name, mask in masks.items()]
    if absent.any():
        notes.append(f"mask: rows of NaN, {absent.mean():.1%} missing")
    if not masks and not absent.any():
        return None, notes
    return np.logical_and.reduce([~absent, *masks.values()]), notes


def _fit(shapes: Sequence[tuple[int, ...]], n: int, *, together: bool) -> list[list[int]]:
    """The readings with `n` rows: first axis or last for all views, or one axis of each."""
    if together:
        return [
            [axis % len(shape) for shape in shapes]
            for axis in (0, -1)
            if all(shape[axis] == n for shape in shapes)
        ]
    axes = [[axis for axis, size in enumerate(shape) if size == n] for shape in shapes]
    return [[own[0] for own in axes]] if all(len(own) == 1 for own in axes) else []


def _shown(views: dict[str, Any]) -> str:
    return ", ".join("x".join(map(str, view.shape)) for view in views.values())


def _rows(view: Any, axis: int) -> Any:
    if scipy.sparse.issparse(view):
        return scipy.sparse.csr_array(view.T if axis else view)
    kind = view.dtype if view.dtype.kind == "f" else np.float32 if view.dtype.itemsize < 4 else np.float64
    return np.ascontiguousarray(np.moveaxis(view, axis, 0).reshape(view.shape[axis], -1), dtype=kind)


def _filled(view: Any, seen: Mask) -> Any:
    """A view of all rows, from its present ones; the others are NaN, or empty where it is sparse."""
    if scipy.sparse.issparse(view):
        places = scipy.sparse.csr_array(
            (np.ones(len(view.indptr) - 1), (np.flatnonzero(seen), np.arange(view.shape[0]))),
            shape=(len(seen), view.shape[0]),
        )
        return scipy.sparse.csr_array(places @ view)
    out = np.full((len(seen), view.shape[1]), np.nan, dtype=view.dtype)
    out[seen] = view
    return out


def _nan_rows(view: Any) -> Mask:
    if scipy.sparse.issparse(view):
        return np.zeros(view.shape[0], dtype=np.bool_)
    return np.asarray(np.isnan(view).all(axis=1))
