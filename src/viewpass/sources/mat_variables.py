"""The variables of a MATLAB file (versions 5 to 7 by SciPy, 7.3 by h5py), and their roles.

Which are views, classes and masks follows from usual names and from shapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse
from scipy.io.matlab import MatlabFunction, MatlabOpaque

from viewpass.errors import DataError, missing_extra, not_a_file
from viewpass.kernels.grid import Array, Mask


def read_variables(path: Path) -> dict[str, Any]:
    """Arrays, sparse matrices and lists (cells) by name; text and functions are left out."""
    if (kind := not_a_file(path)) is not None:
        raise DataError(f"{path} is {kind}, not a MATLAB file.")
    try:
        with path.open("rb") as file:
            start = file.read(520)
        if start[:8] == b"\x89HDF\r\n\x1a\n" or start[512:520] == b"\x89HDF\r\n\x1a\n":
            return _of_hdf5(path)
        found = scipy.io.loadmat(path)
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file.") from None
    except (ValueError, TypeError, OSError, KeyError, NotImplementedError, EOFError, IndexError) as problem:
        raise DataError(f"{path} cannot be read as a MATLAB file: {problem}") from problem
    except Exception as problem:  # scipy's own error for a damaged file, and zlib's
        raise DataError(f"{path} is damaged or not a MATLAB file: {problem}") from problem
    return _kept({name: _of_scipy(x) for name, x in found.items() if not name.startswith("__")})


def _kept(variables: dict[str, Any]) -> dict[str, Any]:
    """Without text; the fields of a struct are variables of their own."""
    out: dict[str, Any] = {}
    for name, value in variables.items():
        if isinstance(value, dict):
            out |= _kept(value)
        elif value is not None:
            out[name] = value
    return out


def _of_scipy(value: Any) -> Any:
    if scipy.sparse.issparse(value):
        return scipy.sparse.csr_array(value)
    array = np.asarray(value)
    if isinstance(value, (MatlabOpaque, MatlabFunction)) or not array.size:
        return None
    if array.dtype.names:  # a struct, or an array of them: its fields are cells
        own = {name: [_of_scipy(one) for one in array[name].ravel(order="F")] for name in array.dtype.names}
        return {name: values[0] if array.size == 1 else _cell(values) for name, values in own.items()}
    if array.dtype == object:
        return _cell([_of_scipy(one) for one in array.ravel(order="F")])
    return array if array.dtype.kind in "biuf" and array.ndim >= 2 and array.size else None


def _cell(entries: list[Any]) -> list[Any] | None:
    """A cell of arrays; one that holds a single cell is that cell, and cells of one entry are opened."""
    entries = [one[0] if isinstance(one, list) and len(one) == 1 else one for one in entries]
    if any(one is None or isinstance(one, dict) for one in entries) or not entries:
        return None
    return entries[0] if len(entries) == 1 and isinstance(entries[0], list) else entries


def _of_hdf5(path: Path) -> dict[str, Any]:
    try:
        import h5py
    except ImportError:
        raise missing_extra("h5py", "omics", "reading MATLAB 7.3 files") from None
    with h5py.File(path, "r") as file:
        return _kept({name: _of_h5(file, x) for name, x in file.items() if not name.startswith("#")})


def _of_h5(file: Any, value: Any) -> Any:
    """HDF5 holds MATLAB's arrays transposed, cells as references, sparse matrices by column."""
    if "MATLAB_sparse" in value.attrs:
        starts = value["jc"][:].astype(np.int64)
        data, rows = (value[part][:] if part in value else np.empty(0) for part in ("data", "ir"))
        shape = int(value.attrs["MATLAB_sparse"]), len(starts) - 1
        return scipy.sparse.csr_array(
            scipy.sparse.csc_array((data, rows.astype(np.int64), starts), shape=shape)
        )
    if hasattr(value, "items"):
        return {name: _of_h5(file, own) for name, own in value.items()}
    kind = value.attrs.get("MATLAB_class", b"")
    if kind == b"char" or "MATLAB_empty" in value.attrs:
        return None
    if value.dtype.kind == "O":
        return _cell([_of_h5(file, file[one]) for one in value[()].ravel()])
    array = value[()].T
    return array if array.dtype.kind in "biuf" and array.ndim >= 2 and array.size else None


# Names in lower case, the usual ones first.
LABELS = (
    "y", "gt", "truth", "gnd", "truelabel", "labels", "label", "groundtruth", "ground_truth", "gt_label",
    "true_label", "truelabels", "truthlabel", "class", "classes", "target", "targets",
)  # fmt: skip
VIEWS = ("x", "fea", "data", "feature", "features", "views", "xs", "x_view", "xx")
MASKS = ("index", "ind", "observed", "mask", "masks", "folds", "ind_folds", "missingstatus")  # 1: present
NUMBERED = re.compile(r"([a-z_]*?)_?(\d+)", re.IGNORECASE)


def found_views(path: Path, variables: dict[str, Any], wanted: Sequence[str]) -> tuple[dict[str, Any], str]:
    """The views as they are stored, by name, and a note."""
    if wanted:
        return _named_views(path, variables, wanted)
    left = {name: x for name, x in variables.items() if name.lower() not in (*MASKS, *LABELS)}
    cells = {name: x for name, x in left.items() if isinstance(x, list) and _matrices(x)}
    usual = _in_order(cells, VIEWS) or list(cells)
    if len(usual) > 1:
        raise DataError(
            f"{path}: {' and '.join(usual)} are cells of matrices. Say which holds the views with "
            f"views={usual[0]!r} or views={usual[1]!r}."
        )
    if usual:
        return {f"{v + 1}": view for v, view in enumerate(cells[usual[0]])}, f"views: the cell {usual[0]}"
    plain = {name: x for name, x in left.items() if not isinstance(x, list) and max(x.shape) > 1}
    names = _numbered(path, plain) or _matching(path, plain, variables)
    if not names:
        known = ", ".join(variables) or "none"
        raise DataError(f"{path}: no variable holds views; its variables are {known}.")
    return {name: plain[name] for name in names}, f"views: {', '.join(names)}"


def _named_views(path: Path, variables: dict[str, Any], wanted: Sequence[str]) -> tuple[dict[str, Any], str]:
    absent = [name for name in wanted if name not in variables]
    if absent:
        raise DataError(
            f"{path}: there is no variable {absent[0]!r}; its variables are {', '.join(variables)}."
        )
    note = f"views: {', '.join(wanted)}"
    values = {name: variables[name] for name in wanted}
    if len(wanted) == 1 and isinstance(values[wanted[0]], list):
        values = {f"{v + 1}": view for v, view in enumerate(values[wanted[0]])}
    if any(isinstance(view, list) for view in values.values()):
        raise DataError(f"{path}: {note}: expected one cell of matrices, or matrices.")
    return values, note


def _numbered(path: Path, plain: dict[str, Any]) -> list[str]:
    """Variables such as X1, X2 in their order."""
    stems: dict[str, dict[int, str]] = {}
    for name in plain:
        if found := NUMBERED.fullmatch(name):
            stems.setdefault(found[1], {})[int(found[2])] = name
    several = [[name for _, name in sorted(own.items())] for own in stems.values() if len(own) > 1]
    if len(several) > 1:
        shown = " or ".join(f"views={names}" for names in several)
        raise DataError(f"{path}: several groups of numbered variables can be the views. Say which: {shown}.")
    return several[0] if several else []


def _matching(path: Path, plain: dict[str, Any], variables: dict[str, Any]) -> list[str]:
    """Matrices with an axis as long as the classes (any matrix, if there are none), without graphs."""
    lengths = {len(x) for name, x in label_vectors(variables).items() if name.lower() in LABELS}
    fitting = [
        name
        for name, x in plain.items()
        if min(x.shape) > 1 and (not lengths or lengths & {x.shape[0], x.shape[-1]})
    ]
    usual = _in_order(plain, VIEWS)[:1]
    others = [name for name in fitting if name not in usual and len(set(plain[name].shape)) > 1]
    if usual and others:
        raise DataError(
            f"{path}: {usual[0]} can be the only view, or one beside {', '.join(others)}. Say which with "
            f"views={usual[0]!r} or views={[*usual, *others]}."
        )
    return usual or others or fitting


def found_labels(
    path: Path, variables: dict[str, Any], views: dict[str, Any], wanted: str | None
) -> tuple[Array | None, str]:
    """The classes, one per row, and a note; None if there are none."""
    vectors = label_vectors(variables)
    if wanted is not None:
        if wanted not in vectors:
            raise DataError(f"{path}: {wanted!r} does not hold classes, one whole number per row.")
        return vectors[wanted], f"classes: {wanted}"
    sizes = {size for view in views.values() for size in (view.shape[0], view.shape[-1])}
    usual = _in_order(vectors, LABELS)
    fitting = [name for name in usual if len(vectors[name]) in sizes] or usual
    note = ""
    if not fitting:
        skipped = (*MASKS, *(name.lower() for name in views))
        every = set.intersection(*({view.shape[0], view.shape[-1]} for view in views.values()))
        fitting = [name for name, x in vectors.items() if len(x) in every and name.lower() not in skipped]
        note = ", the only vector of whole numbers" if len(fitting) == 1 else ""
        if len(fitting) > 1:
            return None, f"classes: none; {', '.join(fitting)} fit, choose one with labels="
    different = [name for name in fitting if not same_classes(vectors[name], vectors[fitting[0]])]
    if different:
        raise DataError(
            f"{path}: {fitting[0]} and {different[0]} both look like classes and differ. Say which with "
            f"labels={fitting[0]!r} or labels={different[0]!r}."
        )
    return (vectors[fitting[0]], f"classes: {fitting[0]}{note}") if fitting else (None, "classes: none")


def label_vectors(variables: dict[str, Any]) -> dict[str, Array]:
    """What can be classes."""
    found = {name: _as_labels(x) for name, x in variables.items() if name.lower() not in MASKS}
    return {name: labels for name, labels in found.items() if labels is not None}


def same_classes(one: Array, other: Array) -> bool:
    """Whether two vectors are the same partition."""
    if len(one) != len(other):
        return False
    pairs = len(set(zip(one.tolist(), other.tolist(), strict=True)))
    return pairs == len(set(one.tolist())) == len(set(other.tolist()))


def found_masks(variables: dict[str, Any], n_rows: int, n_views: int) -> dict[str, Mask]:
    """The masks (rows x views) by name; several of one variable are numbered as in MATLAB."""
    out: dict[str, Mask] = {}
    for name in _in_order(variables, MASKS):
        masks = list(_as_masks(variables[name], n_rows, n_views))
        for number, mask in enumerate(masks, 1):
            if not any(np.array_equal(mask, known) for known in out.values()):
                out[name if len(masks) == 1 else f"{name}{{{number}}}"] = mask
    return out


def _in_order(variables: Iterable[str], names: Sequence[str]) -> list[str]:
    order = {name: place for place, name in enumerate(names)}
    return sorted((v for v in variables if v.lower() in order), key=lambda v: order[v.lower()])


def _matrices(cell: list[Any]) -> bool:
    return bool(cell) and all(not isinstance(x, list) and min(x.shape) > 0 for x in cell) and max(
        max(x.shape) for x in cell
    ) > 1 and any(min(x.shape) > 1 for x in cell)  # fmt: skip


def _as_labels(value: Any) -> Array | None:
    """Whole numbers, one per row: a vector, a cell of equal ones, or one column of 0 and 1 per class."""
    if isinstance(value, list):
        if all(not isinstance(one, list) and one.shape == (1, 1) for one in value):
            return _as_labels(np.array([[one[0, 0]] for one in value]))
        found = [labels for one in value if (labels := _as_labels(one)) is not None]
        whole = len(found) == len(value) and all(same_classes(one, found[0]) for one in found)
        return found[0] if found and whole else None
    array = value.toarray() if scipy.sparse.issparse(value) and min(value.shape) < 200 else value
    if scipy.sparse.issparse(array) or array.dtype.kind not in "biuf" or array.size < 2 or array.ndim != 2:
        return None
    if array.dtype.kind == "f" and not (np.isfinite(array) & (array == np.rint(array))).all():
        return None
    if 1 in array.shape:
        return np.asarray(array.ravel().astype(np.int64))
    for axis in (1, 0):
        one_hot = np.isin(array, (-1, 0, 1)).all() and ((array == 1).sum(axis=axis) == 1).all()
        if one_hot and array.shape[axis] < array.shape[1 - axis]:
            return np.asarray(array.argmax(axis=axis).astype(np.int64))
    return None


def _as_masks(value: Any, n_rows: int, n_views: int) -> Iterable[Mask]:
    if not isinstance(value, list):
        array = value.toarray() if scipy.sparse.issparse(value) else value
        if array.ndim == 3 and array.shape[:2] in ((n_rows, n_views), (n_views, n_rows)):
            for one in np.moveaxis(array, 2, 0):
                yield from _as_masks(one, n_rows, n_views)
        elif np.isin(array, (0, 1)).all() and sorted(array.shape) == sorted((n_rows, n_views)):
            yield np.asarray(array if array.shape == (n_rows, n_views) else array.T, dtype=np.bool_)
    elif (mask := _of_row_numbers(value, n_rows, n_views)) is not None:
        yield mask
    else:
        for one in value:
            yield from _as_masks(one, n_rows, n_views)


def _of_row_numbers(cell: list[Any], n_rows: int, n_views: int) -> Mask | None:
    """A cell with the present rows of each view, counted from 1, or 0 and 1 for each row."""
    if len(cell) != n_views or any(isinstance(one, list) or 1 not in one.shape for one in cell):
        return None
    mask = np.zeros((n_rows, n_views), dtype=np.bool_)
    for view, own in enumerate(cell):
        numbers = np.asarray(own).ravel()
        if numbers.size == n_rows and np.isin(numbers, (0, 1)).all():
            mask[:, view] = numbers > 0
        elif numbers.size and (numbers.min() < 1 or numbers.max() > n_rows):
            return None
        else:
            mask[numbers.astype(np.int64) - 1, view] = True
    return mask
