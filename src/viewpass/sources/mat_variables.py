"""The variables of a MATLAB file: versions 5 to 7 by SciPy, 7.3 (HDF5) by h5py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse
from scipy.io.matlab import MatlabFunction, MatlabOpaque

from viewpass.errors import DataError, missing_extra, not_a_file


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
