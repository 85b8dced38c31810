"""Files of AnnData and MuData (`.h5ad`, `.h5mu`): opened for each reading, read row by row, never whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse

from viewpass.errors import DataError, missing_extra
from viewpass.kernels.grid import Array, Integers
from viewpass.sources.ids import as_texts
from viewpass.sources.matched import MatrixRows, Rows


@contextmanager
def opened(path: str, mode: str = "r") -> Iterator[Any]:
    """An HDF5 file; errors of the file are DataErrors that name it."""
    try:
        import anndata  # noqa: F401  (reads names, whichever way they are stored)
        import h5py
    except ImportError:
        raise missing_extra("anndata", "omics", "reading .h5mu and .h5ad files") from None
    try:
        with h5py.File(path, mode) as file:
            yield file
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file.") from None
    except (OSError, KeyError, RuntimeError) as problem:
        text = " ".join(str(problem).split()).strip("'\"")
        raise DataError(f"{path} cannot be read as a file of AnnData or MuData: {text}.") from problem


def elements() -> Any:
    """The module of anndata that reads and writes elements of a file."""
    try:
        from anndata import io
    except ImportError:  # before anndata 0.11
        from anndata import experimental as io
    return io


def names_of(group: Any, axis: str) -> Array:
    """The names of the observations ("obs") or variables ("var") of a file or modality, as text."""
    frame = group[axis]
    if "_index" not in frame.attrs:
        raise KeyError(f"{group.name}/{axis} has no index; write the file again with a newer anndata")
    return as_texts(elements().read_elem(frame[frame.attrs["_index"]]))


def modality_groups(file: Any) -> dict[str, Any]:
    """The modalities of a MuData file, in their order; {} for a file of one AnnData."""
    if "mod" not in file:
        return {}
    if int(file.attrs.get("axis", 0)) != 0:
        raise DataError(f"{file.filename}: its modalities share variables (axis=1), not observations.")
    groups = file["mod"]
    order = [str(name) for name in groups.attrs.get("mod-order", list(groups))]
    return {name: groups[name] for name in order if name in groups}


def stored_rows(group: Any, path: str, name: str) -> MatrixRows:
    """The rows of a matrix of a file, read as they are asked for."""
    element = _element(group, path)
    kind = str(element.attrs.get("encoding-type", "array"))
    columns = element.attrs.get("column-order") if path.startswith("obsm/") else names_of(group, "var")
    columns = None if columns is None else tuple(map(str, columns))
    if kind == "csr_matrix":
        return CsrRows(element, name, columns, path)
    if kind == "array" and hasattr(element, "shape"):
        return MatrixRows(element, name, columns, path, stored=True)
    if kind == "dataframe":  # as obsm may hold; no file has one that is large
        return MatrixRows(elements().read_elem(element).to_numpy(), name, columns, path)
    remedy = "Convert it (`adata.X = adata.X.tocsr()`) and write the file again."
    if kind != "csc_matrix":
        remedy = "Arrays and CSR matrices can be read."
    raise DataError(
        f"{group.file.filename}, modality {name!r}: {path} is stored as {kind}, which cannot be read row by "
        f"row. {remedy}"
    )


@contextmanager
def opened_rows(path: str, parts: Mapping[str, str]) -> Iterator[Mapping[str, Rows]]:
    """The rows of a matrix of each modality, or of the only AnnData, while the file is open."""
    with opened(path) as file:
        groups = modality_groups(file)
        yield {name: stored_rows(groups.get(name, file), part, name) for name, part in parts.items()}


def _element(group: Any, path: str) -> Any:
    if path not in group:
        parent = path.rpartition("/")[0]
        known = ", ".join(map(repr, group[parent])) if parent and parent in group else ""
        hint = f"there is {known or 'none'}" if parent else "name a layer (layer=) or an embedding (use_rep=)"
        raise DataError(f"{group.file.filename}: {group.name.rstrip('/')}/{path} does not exist; {hint}.")
    return group[path]


class CsrRows(MatrixRows):
    """Rows of a CSR matrix in a file; its row pointers are in memory."""

    def __init__(self, group: Any, name: str, columns: tuple[Any, ...] | None, part: str) -> None:
        self._data, self._indices = group["data"], group["indices"]
        shape = tuple(int(n) for n in group.attrs["shape"])
        described = SimpleNamespace(shape=shape, dtype=self._data.dtype, format="csr")
        super().__init__(described, name, columns, part, stored=True)
        self._starts: Array = group["indptr"][:].astype(np.int64)
        n_stored = self._data.shape[0]
        sound = len(self._starts) == self.shape[0] + 1 and self._indices.shape == (n_stored,)
        if (
            not sound
            or self._starts[0] != 0
            or self._starts[-1] != n_stored
            or (np.diff(self._starts) < 0).any()
        ):
            raise DataError(
                f"{group.file.filename}, modality {name!r}: the row pointers of {group.name} are damaged."
            )
        size = self._data.dtype.itemsize + self._indices.dtype.itemsize
        self.row_bytes = float(size * n_stored / max(self.shape[0], 1))

    def _read(self, wanted: slice | Integers) -> Any:
        assert isinstance(wanted, slice)
        begin, end = int(self._starts[wanted.start]), int(self._starts[wanted.stop])
        starts = self._starts[wanted.start : wanted.stop + 1] - begin
        entries = self._data[begin:end], self._indices[begin:end], starts
        return scipy.sparse.csr_array(entries, shape=(wanted.stop - wanted.start, self.shape[1]))
