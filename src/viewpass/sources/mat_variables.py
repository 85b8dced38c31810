"""Which variables of a MATLAB file are its views: by their usual names and by shape."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from viewpass.errors import DataError, SettingError
from viewpass.sources.mat_classes import LABELS, MASKS, NAMES, in_order, label_vectors, labels_of
from viewpass.sources.mat_file import is_text

VIEWS = ("x", "fea", "data", "feature", "features", "views", "xs", "x_view", "xx")
GRAPHS = ("w", "a", "s", "g", "k", "adj", "graph", "affinity", "similarity", "distance", "dist", "kernel")
NUMBERED = re.compile(r"(\D*?)_?(\d+)_?(\D*)")
PARTS = (r"train|tr", r"val|valid|validation", r"test|te")  # rows of one set in parts


def found_views(path: Path, variables: dict[str, Any], wanted: Any) -> tuple[dict[str, Any], list[str]]:
    """The views as they are stored, by name, and notes."""
    if not isinstance(wanted, str | Sequence) or not all(isinstance(name, str) for name in wanted):
        raise SettingError(
            f"views={wanted!r}: expected the name of the variable with the cell of views, or the names of "
            f"the variables that are views; the variables of {path} are {_listed(variables)}."
        )
    if wanted:
        return _named_views(path, variables, [wanted] if isinstance(wanted, str) else list(wanted))
    numeric = {name: x for name, x in variables.items() if x is not None and not is_text(x)}
    left = {name: x for name, x in numeric.items() if name.lower() not in (*MASKS, *LABELS)}
    cells = {name: x for name, x in left.items() if isinstance(x, list) and _matrices(x)}
    usual = in_order(cells, VIEWS) or list(cells)
    if any(not _same_cells(cells[name], cells[usual[0]]) for name in usual[1:]):
        raise DataError(
            f"{path}: {' and '.join(usual)} are cells of matrices. Say which holds the views with "
            f"views={usual[0]!r} or views={usual[1]!r}."
        )
    if usual:
        views, notes = _of_cell(cells[usual[0]], variables), [f"views: the cell {usual[0]}"]
        used = set(usual)
    else:
        plain = {name: x for name, x in left.items() if not isinstance(x, list) and x.size > 1}
        names = _numbered(path, plain) or _matching(path, plain, variables)
        if not names:
            raise DataError(f"{path}: no variable holds views; its variables are {_listed(variables)}.")
        used, notes = set(names), [f"views: {', '.join(names)}"]
        views = {name: plain[name] for name in names}
        if len(names) == 1 and plain[names[0]].ndim == 3:
            views = _stacked(views, variables)
    sizes = {size for x in views.values() for size in x.shape}
    others = [
        name
        for name, x in left.items()
        if name not in used and not isinstance(x, list) and min(x.shape) > 1 and sizes & set(x.shape)
    ]
    return views, [*notes, *([f"not used: {', '.join(others)}"] if others else [])]


def _named_views(
    path: Path, variables: dict[str, Any], wanted: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    absent = [name for name in wanted if variables.get(name) is None]
    if absent:
        raise DataError(
            f"{path}: there is no variable {absent[0]!r}; its variables are {_listed(variables)}."
        )
    values = {name: variables[name] for name in wanted}
    if len(wanted) == 1 and isinstance(values[wanted[0]], list):
        values = _of_cell(values[wanted[0]], variables)
    if any(isinstance(view, list) or is_text(view) for view in values.values()):
        raise DataError(f"{path}: views={list(wanted)}: expected one cell of matrices, or matrices.")
    return values, [f"views: {', '.join(wanted)}"]


def _of_cell(cell: list[Any], variables: dict[str, Any]) -> dict[str, Any]:
    """The entries of a cell, without empty ones; named by a variable with as many names, or by number."""
    names = [f"{v + 1}" for v in range(len(cell))]
    for given in in_order(variables, NAMES):
        text = variables[given]
        if is_text(text) and len(text) == len(cell) == len(set(text) - {""}):
            names = [str(name) for name in text]
            break
    return {name: view for name, view in zip(names, cell, strict=True) if min(view.shape)}


def _stacked(views: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
    """The views of an array views x rows x columns, where only its middle axis fits the classes.

    Symmetric matrices of rows x rows x views are views, too: kernels.
    """
    ((name, x),) = views.items()
    if symmetric(x):
        return {f"{v + 1}": kernel for v, kernel in enumerate(np.moveaxis(x, 2, 0))}
    lengths = {len(labels) for key, labels in label_vectors(variables).items() if key.lower() in LABELS}
    middle = x.shape[1] in lengths and not lengths & {x.shape[0], x.shape[2]}
    return {f"{v + 1}": view for v, view in enumerate(x)} if middle else {name: x}


def _numbered(path: Path, plain: dict[str, Any]) -> list[str]:
    """Variables such as X1, X2 in their order."""
    stems: dict[tuple[str, str], dict[int, str]] = {}
    for name in plain:
        if found := NUMBERED.fullmatch(name):
            stems.setdefault((found[1], found[3]), {})[int(found[2])] = name
    groups = [[name for _, name in sorted(own.items())] for own in stems.values() if len(own) > 1]
    several = [names for names in groups if any(min(plain[name].shape) > 1 for name in names)]
    if len(several) > 1:
        shown = " or ".join(f"views={names}" for names in several)
        raise DataError(f"{path}: several groups of numbered variables can be the views. Say which: {shown}.")
    return several[0] if several else []


def _matching(path: Path, plain: dict[str, Any], variables: dict[str, Any]) -> list[str]:
    """Matrices with an axis as long as the classes (any matrix, if there are none), without graphs.

    A square matrix beside others is taken for a graph over the rows if it is symmetric or named as one.
    """
    lengths = {len(x) for name, x in label_vectors(variables).items() if name.lower() in LABELS}
    fitting = [
        name
        for name, x in plain.items()
        if min(x.shape) > 1 and (not lengths or lengths & {x.shape[0], x.shape[-1]})
    ]
    usual = in_order(plain, VIEWS)[:1]
    others = [name for name in fitting if name not in usual and not _graph(name, plain[name])]
    if usual and others:
        raise DataError(
            f"{path}: {usual[0]} can be the only view, or one beside {', '.join(others)}. Say which with "
            f"views={usual[0]!r} or views={[*usual, *others]}."
        )
    return usual or others or fitting


def _graph(name: str, x: Any) -> bool:
    square = x.ndim == 2 and x.shape[0] == x.shape[1]
    return bool(square and (name.lower() in GRAPHS or symmetric(x)))


def symmetric(x: Any) -> bool:
    """Whether a matrix, or each of several in a 3-D array, equals its transpose."""
    square = x.ndim in (2, 3) and x.shape[0] == x.shape[1]
    return bool(square and not abs(x - (x.T if x.ndim == 2 else x.swapaxes(0, 1))).max())


def joined(variables: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Variables that hold training and test rows of one set (x1_train, x1_test) as one, and a note.

    They are joined along the axis that differs, or that is as long as the classes of the part.
    """
    parts: dict[str, dict[int, str]] = {}
    for name in variables:
        for place, words in enumerate(PARTS):
            if found := re.fullmatch(rf"(?:{words})_?(.+)|(.+?)_?(?:{words})", name, re.IGNORECASE):
                parts.setdefault(found[1] or found[2], {})[place] = name
    parts = {stem: own for stem, own in parts.items() if {0, 2} <= own.keys() and stem not in variables}
    groups = {stem: [variables[own[place]] for place in sorted(own)] for stem, own in parts.items()}
    n_rows = next(
        (tuple(map(_length, group)) for stem, group in groups.items() if stem.lower() in LABELS), ()
    )
    whole = {stem: _concatenated(group, n_rows) for stem, group in groups.items()}
    views = [stem for stem, x in whole.items() if isinstance(x, list) or (x is not None and min(x.shape) > 1)]
    if not views or any(x is None for x in whole.values()):
        return variables, []
    used = [name for own in parts.values() for name in own.values()]
    rest = {name: x for name, x in variables.items() if name not in used}
    return rest | whole, [f"training and test rows joined: {', '.join(sorted(used))}"]


def _length(value: Any) -> int:
    labels = labels_of(value)
    return -1 if labels is None else len(labels)


def _concatenated(parts: list[Any], n_rows: tuple[int, ...]) -> Any:
    """Parts of rows as one array (or cell of arrays); None where the axis of the rows is unclear."""
    if all(isinstance(part, list) for part in parts) and len({len(part) for part in parts}) == 1:
        cells = [_concatenated(list(entries), n_rows) for entries in zip(*parts, strict=True)]
        return None if any(one is None for one in cells) else cells
    if any(part is None or isinstance(part, list) or is_text(part) for part in parts):
        return None
    shapes = [part.shape for part in parts]
    if len({len(shape) for shape in shapes}) > 1:
        return None
    axes = [axis for axis, sizes in enumerate(zip(*shapes, strict=True)) if sizes == n_rows]
    axes = axes or [axis for axis, sizes in enumerate(zip(*shapes, strict=True)) if len(set(sizes)) > 1]
    same = len(axes) == 1 and len({(*shape[: axes[0]], *shape[axes[0] + 1 :]) for shape in shapes}) == 1
    if not same:
        return None
    if scipy.sparse.issparse(parts[0]):
        stack = scipy.sparse.hstack if axes[0] else scipy.sparse.vstack
        return scipy.sparse.csr_array(stack(parts))
    return np.concatenate(parts, axis=axes[0])


def _listed(variables: dict[str, Any]) -> str:
    return ", ".join(variables) or "none"


def _matrices(cell: list[Any]) -> bool:
    """Whether a cell holds matrices (or empty entries), and one of them has rows and columns."""
    arrays = not any(isinstance(x, list) or is_text(x) for x in cell)
    return arrays and any(min(x.shape) > 1 for x in cell)


def _same_cells(one: list[Any], other: list[Any]) -> bool:
    """Whether two cells hold the same matrices, up to turning."""
    if one is other:
        return True
    return len(one) == len(other) and all(
        any(x.shape == y.shape and not abs(x - y).max() for y in (given, given.T))
        for x, given in zip(one, other, strict=True)
        if x.size or given.size
    )
