"""Checks of views and masks that need no row to be read: types, shapes, lengths, column numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from viewpass.errors import DataError
from viewpass.kernels.grid import Array, Mask


def as_view(x: Any, name: str, start: int = 0) -> Array | scipy.sparse.csr_array:
    """Convert a view to a C-contiguous array or CSR matrix of float32 or float64; copy only if necessary.

    `start`: the number of its first row.
    """
    if scipy.sparse.issparse(x):
        return _as_csr(x, name)
    if isinstance(x, np.ma.MaskedArray):
        raise DataError(
            f"view {name!r} is a masked array. Fill it with NaN (`.filled(np.nan)`): "
            "a row of NaN is a missing view."
        )
    array = _as_array(x, name)
    if array.ndim == 0:
        raise DataError(f"view {name!r} is a {type(x).__name__}; a 2-D array or CSR matrix was expected.")
    if array.ndim != 2:
        raise DataError(f"view {name!r} has {array.ndim} dimension(s), 2 (rows x columns) were expected.")
    floats = np.ascontiguousarray(array, dtype=number_type(array.dtype, name))
    _refuse_rounded(array, floats, name, lambda place: start + place // array.shape[1])
    return floats


def number_type(dtype: np.dtype[Any], name: str) -> np.dtype[Any]:
    """Return the float type that a view of this type is read as: float32 and float64 are kept."""
    if dtype.kind == "f" and dtype.itemsize in (4, 8):
        return dtype.newbyteorder("=")
    if dtype.kind in "fiub":
        return np.dtype(np.float32 if dtype.itemsize < 4 else np.float64)
    raise DataError(
        f"view {name!r} holds {dtype} values, numbers were expected. Complex data not supported; "
        "encode text and categories as numbers first."
    )


def _as_array(x: Any, name: str) -> Array:
    try:
        array = np.asarray(x)
        if array.dtype.kind != "O" or array.ndim == 0:
            return array
        if any(isinstance(value, str | bytes) for value in array.flat):
            raise TypeError("it holds text")  # NumPy would parse text that looks like a number
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        raise DataError(
            f"view {name!r} cannot be read as numbers ({problem}). "
            "Rows must have equal lengths; encode text and categories as numbers first."
        ) from problem


def _refuse_rounded(integers: Array, floats: Array, name: str, row_of: Callable[[int], int]) -> None:
    """Refuse integers that were rounded: rows that differ only there would become equal."""
    if integers.dtype.kind not in "iu" or integers.dtype.itemsize < 8 or not integers.size:
        return
    if max(-int(integers.min()), int(integers.max())) <= 2**53:  # float64 holds every integer up to it
        return
    beyond = floats >= float(np.iinfo(integers.dtype).max)  # a power of two, which no integer here reaches
    rounded = beyond | (np.where(beyond, 0.0, floats).astype(integers.dtype) != integers)
    for place in np.flatnonzero(rounded)[:1].tolist():
        raise DataError(
            f"view {name!r}, row {row_of(place)}: the integer {integers.flat[place]} cannot be told from its "
            "neighbours as a 64-bit float. Subtract what all rows share, leave identifiers out, or convert "
            "the view (`.astype(float)`) if rounding does not matter."
        )


def _as_csr(x: Any, name: str) -> scipy.sparse.csr_array:
    if x.ndim != 2:
        raise DataError(f"view {name!r} has {x.ndim} dimension(s), 2 were expected.")
    dtype = number_type(x.dtype, name)
    try:
        if x.format in ("csc", "bsr"):  # conversion trusts the indices: an invalid one would corrupt memory
            type(x)((x.data, x.indices, x.indptr), shape=x.shape).check_format(full_check=True)
        rows = scipy.sparse.csr_array(x)  # shares memory with a CSR input
    except ValueError as problem:
        raise DataError(f"view {name!r} is not a valid sparse matrix: {problem}.") from problem
    if rows.dtype != dtype:
        floats = rows.astype(dtype)
        ends = rows.indptr[1:]
        _refuse_rounded(rows.data, floats.data, name, lambda at: int(np.searchsorted(ends, at, side="right")))
        rows = floats
    if (np.diff(rows.indptr) < 0).any():
        raise DataError(f"view {name!r}: the row pointers of the CSR matrix are not sorted.")
    return rows


def check_columns(rows: scipy.sparse.csr_array, where: str, start: int = 0) -> None:
    """Refuse column numbers outside a CSR matrix; `start` is the number of its first row."""
    used = rows.indices[: rows.indptr[-1]]
    if len(used) and (used.min() < 0 or used.max() >= rows.shape[1]):
        entry = np.flatnonzero((used < 0) | (used >= rows.shape[1]))[0]
        row = start + np.searchsorted(rows.indptr, entry, side="right") - 1
        raise DataError(
            f"{where}, row {row}: a column number of the CSR matrix lies outside its {rows.shape[1]} columns."
        )


def common_length(views: Sequence[Any], names: Sequence[str]) -> int:
    """Return the number of rows that all views have; those that are None do not count."""
    lengths = [(name, x.shape[0]) for name, x in zip(names, views, strict=True) if x is not None]
    if not lengths:
        raise DataError("every view is None: there are no rows to read.")
    name, n_rows = lengths[0]
    for other, length in lengths[1:]:
        if length != n_rows:
            raise DataError(
                f"view {other!r} has {length} rows, view {name!r} has {n_rows}. Row i of every "
                "view must be the same item; mark absent ones with NaN or observed=, or match "
                "rows by id with vp.frames."
            )
    return int(n_rows)


def check_observed(observed: Any, n_rows: int, n_views: int) -> Mask:
    """Convert the mask to an n_rows x n_views bool array, or say what is wrong with it."""
    try:
        mask = np.asarray(observed)
    except ValueError as problem:
        raise DataError(f"observed cannot be read as an array of True and False ({problem}).") from problem
    if mask.shape != (n_rows, n_views):
        raise DataError(
            f"observed has shape {mask.shape}, ({n_rows}, {n_views}) was expected: "
            "one row per item, one column per view."
        )
    if mask.dtype != bool:
        if mask.dtype.kind not in "iuf" or not np.isin(mask, (0, 1)).all():
            raise DataError("observed must hold True and False (or 1 and 0).")
        mask = mask.astype(bool)
    return mask


def check_mask(
    observed: Any, views: Sequence[Any], names: Sequence[str], n_rows: int, start: int = 0
) -> Mask:
    """Check a mask and the column numbers of the sparse views it goes with.

    The kernels skip rows that the mask hides, so they would not find invalid numbers there.
    """
    mask = check_observed(observed, n_rows, len(names))
    for name, view in zip(names, views, strict=True):
        if scipy.sparse.issparse(view):
            check_columns(view, f"view {name!r}", start)
    return mask
