"""npz bundles: `view_<name>` arrays or the four arrays of a CSR matrix, with `labels` and `mask`."""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from struct import unpack
from typing import Any, Literal
from zipfile import ZIP_STORED, BadZipFile, ZipInfo, is_zipfile

import numpy as np
import scipy.sparse

from viewpass.errors import DataError, not_a_file
from viewpass.kernels.grid import Array, Mask
from viewpass.sources.arrays import ArraySource
from viewpass.views.checks import check_observed

_PARTS = ("data", "indices", "indptr", "shape")
# What reading a damaged zip may raise; RuntimeError: members marked as encrypted.
BAD_ARCHIVE = (ValueError, OSError, EOFError, KeyError, RuntimeError, BadZipFile, zlib.error)


@dataclass(frozen=True)
class Bundle:
    """The contents of an npz bundle or MATLAB file. `source()` makes a source of it."""

    views: dict[str, Any]
    labels: Array | None = None
    observed: Mask | None = None
    notes: tuple[str, ...] = ()  # how a MATLAB file was read

    @property
    def n_rows(self) -> int:
        """Number of items in the bundle."""
        return int(next(iter(self.views.values())).shape[0])

    def source(self) -> ArraySource:
        """Make a source of the views and their mask."""
        return ArraySource(self.views, self.observed)

    def write(self, path: str | PathLike[str], **more: Any) -> None:
        """Write it as an npz bundle, as `load_bundle` describes them; `more` are further arrays.

        A file of that name is replaced when the new one is complete.
        """
        arrays: dict[str, Any] = dict(more)
        for name, view in self.views.items():
            parts = {f"view_{name}": view}
            if scipy.sparse.issparse(view):
                rows = scipy.sparse.csr_array(view)
                values = rows.data, rows.indices, rows.indptr, np.array(rows.shape)
                parts = {f"view_{name}_{part}": x for part, x in zip(_PARTS, values, strict=True)}
            if not arrays.keys().isdisjoint(parts):
                raise DataError(f"view {name!r}: another view or array has the same name in the file.")
            arrays |= parts
        arrays |= {} if self.labels is None else {"labels": self.labels}
        arrays |= {} if self.observed is None else {"mask": self.observed}
        path = Path(path)
        new = path.with_name(f".{path.name}.{os.getpid()}.npz")
        try:
            np.savez_compressed(new, **arrays)
            new.replace(path)
        finally:
            new.unlink(missing_ok=True)


def load_bundle(path: str | PathLike[str], *, mapped: bool = False) -> Bundle:
    """Read an npz bundle; nothing in it is ever executed.

    Dense views are arrays `view_<name>`; sparse ones are `view_<name>_data`, `_indices`, `_indptr`
    and `_shape`. `labels` are true classes, `mask` (rows x views, in the order of the views in the
    file) says which views each row has; both are optional. With `mapped`, views that are not compressed
    are memory-mapped.
    """
    path = Path(path)
    arrays = _arrays(path, mapped)
    views: dict[str, Any] = {}
    for key in arrays:
        name = _view_name(key, arrays)
        if name is not None and name not in views:
            views[name] = _view(name, arrays, path)
    if not views:
        raise DataError(f"{path} holds no view: arrays named `view_<name>` were expected.")
    labels, mask = arrays.get("labels"), arrays.get("mask")
    try:
        n_rows = ArraySource(views).n_rows
        observed = None if mask is None else check_observed(mask, n_rows, len(views))
    except DataError as problem:
        raise DataError(f"{path}: {problem}") from problem
    if labels is not None and labels.shape != (n_rows,):
        raise DataError(f"{path}: labels of shape {labels.shape}, ({n_rows},) was expected.")
    return Bundle(views, labels, observed)


def _arrays(path: Path, mapped: bool) -> dict[str, Array]:
    if (kind := not_a_file(path)) is not None:
        raise DataError(f"{path} is {kind}, not an npz bundle.")
    try:
        with path.open("rb") as opened:
            if not is_zipfile(opened):
                raise ValueError("it is not a zip archive, or only part of one.")
            opened.seek(0)
            with np.load(opened, allow_pickle=False) as file:
                stored = {info.filename: info for info in file.zip.infolist()} if mapped else {}
                members = {key: _member(file, key, path, stored.get(f"{key}.npy")) for key in file.files}
        for key, member in members.items():
            if key.startswith("view_") and not isinstance(member, np.ndarray):
                raise ValueError(f"its `{key}` is not an array.")
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file.") from None
    except BAD_ARCHIVE as problem:
        raise DataError(f"{path} cannot be read as an npz bundle: {problem}") from problem
    return members


def _member(file: Any, key: str, path: Path, info: ZipInfo | None) -> Any:
    """Read an array of the archive; memory-map it if its archive entry is given and it is not compressed."""
    if info is None or info.compress_type != ZIP_STORED or not key.startswith("view_"):
        return file[key]
    with path.open("rb") as opened:
        opened.seek(info.header_offset + 26)
        n_name, n_extra = unpack("<HH", opened.read(4))
        opened.seek(n_name + n_extra, 1)
        version = np.lib.format.read_magic(opened)
        reads = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        if version not in reads:
            return file[key]
        shape, by_columns, dtype = reads[version](opened)
        place = opened.tell()
    if dtype.hasobject or 0 in shape:
        return file[key]
    order: Literal["F", "C"] = "F" if by_columns else "C"
    return np.memmap(path, dtype, mode="r", offset=place, shape=shape, order=order)


def _view_name(key: str, arrays: dict[str, Array]) -> str | None:
    if not key.startswith("view_"):
        return None
    name = key.removeprefix("view_")
    stem, _, part = name.rpartition("_")
    if part in _PARTS and f"view_{stem}_indptr" in arrays:
        return stem
    return name


def _view(name: str, arrays: dict[str, Array], path: Path) -> Any:
    whole = arrays.get(f"view_{name}")
    if whole is not None:
        return whole
    parts = [arrays.get(f"view_{name}_{part}") for part in _PARTS]
    for part, value in zip(_PARTS, parts, strict=True):
        if value is None:
            raise DataError(f"{path}, view {name!r}: the array `view_{name}_{part}` is missing.")
    data, indices, indptr, shape = parts
    assert shape is not None
    try:
        matrix = scipy.sparse.csr_array((data, indices, indptr), shape=tuple(map(int, shape)))
        matrix.check_format(full_check=True)
        return matrix
    except (TypeError, ValueError) as problem:
        raise DataError(f"{path}, view {name!r} is not a CSR matrix: {problem}") from problem
