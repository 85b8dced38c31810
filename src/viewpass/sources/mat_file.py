"""MATLAB files as Python values: versions 4 to 7 by SciPy, 7.3 by h5py.

Matrices become 2-D (or larger) arrays, sparse ones CSR, cells lists, text arrays of strings. What cannot
be read (objects such as tables, functions) is None.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse
from scipy.io.matlab import MatlabFunction, MatlabOpaque

from viewpass.errors import DataError, MissingExtraError, missing_extra, not_a_file
from viewpass.kernels.grid import Array

HDF5 = b"\x89HDF\r\n\x1a\n"
NUMBERS = (
    b"",
    b"double",
    b"single",
    b"logical",
    *(f"{u}int{n}".encode() for u in ("", "u") for n in (8, 16, 32, 64)),
)


def read_variables(path: Path) -> dict[str, Any]:
    """The variables by name; the fields of a struct are variables of their own."""
    if (kind := not_a_file(path)) is not None:
        raise DataError(f"{path} is {kind}, not a MATLAB file.")
    try:
        with path.open("rb") as file:
            start = file.read(520)
        found = _of_hdf5(path) if HDF5 in (start[:8], start[512:520]) else _of_old(path)
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file.") from None
    except MissingExtraError:
        raise
    except Exception as problem:  # SciPy's, h5py's and zlib's own errors for a damaged file
        raise DataError(f"{path} is damaged or cannot be read as a MATLAB file: {problem}") from problem
    return _flat(found)


def _flat(variables: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in variables.items():
        fields = _flat(value) if isinstance(value, dict) else {name: value}
        out |= {(f"{name}.{field}" if field in out else field): own for field, own in fields.items()}
    return out


def _cell(entries: list[Any]) -> Any:
    """A cell: text, a list of its entries, or None if one cannot be read; cells of one entry are opened."""
    entries = [one[0] if isinstance(one, list) and len(one) == 1 else one for one in entries]
    if not entries or any(one is None or isinstance(one, dict) for one in entries):
        return None
    if all(is_text(one) and one.size == 1 for one in entries):
        return np.concatenate(entries)
    return entries[0] if len(entries) == 1 and isinstance(entries[0], list) else entries


def is_text(value: Any) -> bool:
    """Whether a value is an array of strings."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "U"


def _text(lines: list[str]) -> Array:
    return np.array([line.rstrip("\0 ") for line in lines] or [""])


# ---- versions 4 to 7


def _of_old(path: Path) -> dict[str, Any]:
    found = scipy.io.loadmat(path)
    return {name: _of_scipy(value) for name, value in found.items() if not name.startswith("__")}


def _of_scipy(value: Any) -> Any:
    if scipy.sparse.issparse(value):
        return scipy.sparse.csr_array(value)
    if isinstance(value, (MatlabOpaque, MatlabFunction)):
        return None
    array = np.asarray(value)
    if array.dtype.names:  # a struct, or an array of them: its fields are cells
        own = {name: [_of_scipy(one) for one in array[name].ravel(order="F")] for name in array.dtype.names}
        return {name: values[0] if array.size == 1 else _cell(values) for name, values in own.items()}
    if array.dtype == object:
        return _cell([_of_scipy(one) for one in array.ravel(order="F")]) if array.ndim else None
    if array.dtype.kind == "U":
        return _text([str(one) for one in array.ravel()])
    return array if array.dtype.kind in "biuf" and array.ndim >= 2 else None


# ---- version 7.3


def _of_hdf5(path: Path) -> dict[str, Any]:
    try:
        import h5py
    except ImportError:
        raise missing_extra("h5py", "omics", "reading MATLAB 7.3 files") from None
    with h5py.File(path, "r") as file:
        return {name: _of_h5(file, value) for name, value in file.items() if not name.startswith("#")}


def _of_h5(file: Any, value: Any) -> Any:
    """HDF5 holds MATLAB's arrays transposed, cells as references, sparse matrices by column."""
    if "MATLAB_sparse" in value.attrs:
        starts = value["jc"][:].astype(np.int64)
        data, rows = (value[part][:] if part in value else np.empty(0) for part in ("data", "ir"))
        shape = int(value.attrs["MATLAB_sparse"]), len(starts) - 1
        columns = scipy.sparse.csc_array((data, rows.astype(np.int64), starts), shape=shape)
        return scipy.sparse.csr_array(columns)
    given = value.attrs.get("MATLAB_class", b"")
    kind = given.encode() if isinstance(given, str) else bytes(given)
    if "MATLAB_object_decode" in value.attrs or (
        kind and kind not in (*NUMBERS, b"char", b"cell", b"struct")
    ):
        return None
    if hasattr(value, "items"):
        order = [b"".join(letters).decode() for letters in value.attrs.get("MATLAB_fields", ())]
        fields = {name: _of_h5(file, own) for name, own in value.items()}
        return {name: fields.pop(name) for name in order if name in fields} | fields
    if value.attrs.get("MATLAB_empty", 0):
        return _text([]) if kind == b"char" else None if kind in (b"cell", b"struct") else np.zeros((0, 0))
    if kind == b"char":
        return _text(["".join(map(chr, row)) for row in np.atleast_2d(value[()]).T])
    if value.dtype.kind == "O":
        return _cell([_of_h5(file, file[one]) for one in value[()].ravel()])
    array = value[()]
    array = array.reshape(-1, 1) if array.ndim == 1 else array.T
    return array if array.dtype.kind in "biuf" and array.ndim >= 2 else None
