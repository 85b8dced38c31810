"""What is refused before a row is read: types, shapes, masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from viewpass.errors import DataError
from viewpass.kernels.grid import Array, Mask


def as_view(x: Any, name: str) -> Array | scipy.sparse.csr_array:
    """Give a 2-D C-contiguous or CSR matrix of float32 or float64; copy only where it must."""
    if scipy.sparse.issparse(x):
        return _as_csr(x, name)
    if isinstance(x, np.ma.MaskedArray):
        raise DataError(
            f"view {name!r} is a masked array. Fill it with NaN (`.filled(np.nan)`): "
            "a row of NaN is a missing view."
        )
    array = np.asarray(x)
    if array.dtype.kind == "O":
        array = _from_objects(array, name)
    if array.ndim != 2:
        raise DataError(f"view {name!r} has {array.ndim} dimension(s), 2 (rows x columns) were expected.")
    return np.ascontiguousarray(array, dtype=number_type(array.dtype, name))


def number_type(dtype: np.dtype[Any], name: str) -> np.dtype[Any]:
    """The float type in which a view of this type is read: its own where it is one of the two."""
    if dtype.kind == "f" and dtype.itemsize in (4, 8):
        return dtype.newbyteorder("=")
    if dtype.kind == "f":
        return np.dtype(np.float32 if dtype.itemsize < 4 else np.float64)
    if dtype.kind in "iub":
        return np.dtype(np.float32 if dtype.itemsize < 4 else np.float64)
    raise DataError(
        f"view {name!r} holds {dtype} values, numbers were expected. Complex data not supported; "
        "encode text and categories as numbers first."
    )


def _from_objects(array: Array, name: str) -> Array:
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as problem:
        raise DataError(
            f"view {name!r} cannot be read as numbers ({problem}). "
            "Rows must have equal lengths; encode text and categories as numbers first."
        ) from problem


def _as_csr(x: Any, name: str) -> scipy.sparse.csr_array:
    if x.ndim != 2:
        raise DataError(f"view {name!r} has {x.ndim} dimension(s), 2 were expected.")
    dtype = number_type(x.dtype, name)
    rows = scipy.sparse.csr_array(x)  # shares memory with a CSR input
    if rows.dtype != dtype:
        rows = rows.astype(dtype)
    start, end = rows.indptr[0], rows.indptr[-1]
    if start < 0 or end > min(len(rows.data), len(rows.indices)) or (np.diff(rows.indptr) < 0).any():
        raise DataError(f"view {name!r}: the row pointers of the CSR matrix are not in order.")
    return rows


def check_observed(observed: Any, n_rows: int, n_views: int) -> Mask:
    """Give the mask as an n_rows x n_views bool array, or say what is wrong with it."""
    mask = np.asarray(observed)
    if mask.shape != (n_rows, n_views):
        raise DataError(
            f"observed has shape {mask.shape}, ({n_rows}, {n_views}) was expected: "
            "one row an item, one column a view."
        )
    if mask.dtype != bool:
        if mask.dtype.kind not in "iuf" or not np.isin(mask, (0, 1)).all():
            raise DataError("observed must hold True and False (or 1 and 0).")
        mask = mask.astype(bool)
    return mask
