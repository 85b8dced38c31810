"""The classes and the masks of a MATLAB file: by their usual names and by shape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from viewpass.errors import DataError
from viewpass.kernels.grid import Array, Mask
from viewpass.sources.mat_file import is_text

# Names in lower case, the usual ones first.
LABELS = (
    "y", "gt", "truth", "gnd", "truelabel", "labels", "label", "groundtruth", "ground_truth", "gt_label",
    "true_label", "truelabels", "true_labels", "truthlabel", "class", "classes", "target", "targets",
    "label_y", "gtlabels", "cluster_labels", "labeltrue", "label_true",
)  # fmt: skip
MASKS = ("index", "ind", "observed", "mask", "masks", "folds", "ind_folds", "missingstatus")  # 1: present
NAMES = (
    "names",
    "view_names",
    "viewnames",
    "viewname",
    "feanames",
    "fea_names",
    "feature_names",
    "modalities",
)


def found_labels(
    path: Path, variables: dict[str, Any], views: dict[str, Any], wanted: str | None
) -> tuple[Array | None, str]:
    """The classes, one per row, and a note; None if there are none."""
    vectors = label_vectors(variables)
    if wanted is not None:
        if wanted not in vectors:
            known = ", ".join(vectors) or "none"
            raise DataError(
                f"{path}: {wanted!r} does not hold one class per row; variables that do: {known}."
            )
        return vectors[wanted], f"classes: {wanted}"
    sizes = {size for view in views.values() for size in (view.shape[0], view.shape[-1])}
    usual = [name for name in in_order(vectors, LABELS) if name not in views]
    fitting = [name for name in usual if len(vectors[name]) in sizes] or usual
    note = ""
    if not fitting:
        every = set.intersection(*({view.shape[0], view.shape[-1]} for view in views.values()))
        rest = [name for name in vectors if name not in views and name.lower() not in NAMES]
        fitting = [name for name in rest if len(vectors[name]) in every]
        note = ", the only vector of whole numbers" if fitting else ""
        if any(not same_classes(vectors[name], vectors[fitting[0]]) for name in fitting):
            return None, f"classes: none; {', '.join(fitting)} fit, choose one with labels="
    different = [name for name in fitting if not same_classes(vectors[name], vectors[fitting[0]])]
    if different:
        raise DataError(
            f"{path}: {fitting[0]} and {different[0]} both look like classes and differ. Say which with "
            f"labels={fitting[0]!r} or labels={different[0]!r}."
        )
    if fitting:
        return vectors[fitting[0]], f"classes: {fitting[0]}{note}"
    unread = [name for name in in_order(variables, LABELS) if name not in views]
    return None, "classes: none" + (f"; {unread[0]} does not hold one class per row" if unread else "")


def label_vectors(variables: dict[str, Any]) -> dict[str, Array]:
    """What can be classes."""
    found = {name: labels_of(x) for name, x in variables.items() if name.lower() not in MASKS}
    return {name: labels for name, labels in found.items() if labels is not None}


def same_classes(one: Array, other: Array) -> bool:
    """Whether two vectors are the same partition."""
    if len(one) != len(other):
        return False
    pairs = len(set(zip(one.tolist(), other.tolist(), strict=True)))
    return pairs == len(set(one.tolist())) == len(set(other.tolist()))


def labels_of(value: Any) -> Array | None:
    """Whole numbers or texts, one per row: a vector, a cell of equal ones, or one column per class."""
    if is_text(value):
        return value if len(value) > 1 else None
    if isinstance(value, list):
        if all(not isinstance(one, list) and one.size == 1 and not is_text(one) for one in value):
            return labels_of(np.array([[one[0, 0]] for one in value]))
        given = [labels_of(one) for one in value if isinstance(one, list) or one.size]
        found = [labels for labels in given if labels is not None]
        whole = len(found) == len(given) and all(same_classes(one, found[0]) for one in found)
        return found[0] if found and whole else None
    if value is None:
        return None
    array = value.toarray() if scipy.sparse.issparse(value) and min(value.shape) < 200 else value
    if scipy.sparse.issparse(array) or array.size < 2 or array.ndim != 2:
        return None
    if array.dtype.kind == "f" and not (np.isfinite(array) & (array == np.rint(array))).all():
        return None
    if 1 in array.shape:
        return np.asarray(array.ravel().astype(np.int64))
    for axis in (1, 0):
        one_hot = np.isin(array, (-1, 0, 1)).all() and ((array == 1).sum(axis=axis) == 1).all()
        if one_hot and array.shape[axis] < array.shape[1 - axis]:
            return np.asarray(array.argmax(axis=axis).astype(np.int64))
    repeated = array if (array == array[:, :1]).all() else array.T  # a column (or row) per view, all alike
    if (repeated == repeated[:, :1]).all() and repeated.shape[0] > repeated.shape[1]:
        return np.asarray(repeated[:, 0].astype(np.int64))
    return None


def found_masks(variables: dict[str, Any], n_rows: int, n_views: int) -> dict[str, Mask]:
    """The masks (rows x views) by name; several of one variable are numbered as in MATLAB."""
    out: dict[str, Mask] = {}
    for name in in_order(variables, MASKS):
        masks = list(_as_masks(variables[name], n_rows, n_views))
        for number, mask in enumerate(masks, 1):
            if not any(np.array_equal(mask, known) for known in out.values()):
                out[name if len(masks) == 1 else f"{name}{{{number}}}"] = mask
    return out


def _as_masks(value: Any, n_rows: int, n_views: int) -> Iterable[Mask]:
    if value is None or is_text(value):
        return
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
    if len(cell) != n_views or any(isinstance(one, list) or is_text(one) for one in cell):
        return None
    if any(one.size and 1 not in one.shape for one in cell):
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


def in_order(variables: Iterable[str], names: Sequence[str]) -> list[str]:
    """The variables with one of these names, in the order of the names."""
    order = {name: place for place, name in enumerate(names)}
    return sorted((v for v in variables if v.lower() in order), key=lambda v: order[v.lower()])
