"""Modalities: named rows of one matrix of an AnnData (`X`, a layer, an embedding), in memory or in a file.

Recognises AnnData and MuData objects without importing their libraries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from viewpass.errors import DataError
from viewpass.kernels.grid import Array, Integers, Matrix
from viewpass.views.checks import as_view, number_type
from viewpass.views.chunk import format_id

# What is no frame, series, AnnData or MuData, for sure: other checks take longer, and lists may hold many.
PLAIN_TYPES = (np.ndarray, list, tuple, dict, str, float, int, type(None))
NEAR_ROWS = 64  # rows of a file this close to each other are read together
SEARCHED_ROWS = 4096  # rows read at a time in search of a value


def is_mudata(x: Any) -> bool:
    """Whether x is a MuData; imports nothing, and does not look inside."""
    return _is(x, "mudata", "MuData")


def is_anndata(x: Any) -> bool:
    """Whether x is an AnnData; imports nothing, and does not look inside."""
    return _is(x, "anndata", "AnnData")


def _is(x: Any, module: str, name: str) -> bool:
    if isinstance(x, PLAIN_TYPES):
        return False
    return any(
        kind.__module__.partition(".")[0] == module and kind.__name__ == name for kind in type(x).__mro__
    )


@dataclass(frozen=True)
class Part:
    """Which matrix of an AnnData is a view: `X`, a layer, or an embedding in `obsm`."""

    layer: str | None = None
    use_rep: str | None = None

    @property
    def path(self) -> str:
        """Where it is, as in a file."""
        if self.use_rep is not None:
            return f"obsm/{self.use_rep}"
        return "X" if self.layer is None else f"layers/{self.layer}"


class Rows:
    """Rows of a matrix that can be sliced: an array, a CSR matrix, or either of them in a file."""

    def __init__(self, values: Any, name: str, *, stored: bool = False) -> None:
        if getattr(values, "ndim", len(getattr(values, "shape", ()))) != 2:
            raise DataError(
                f"view {name!r} has shape {getattr(values, 'shape', None)}; expected rows x columns."
            )
        number_type(np.dtype(values.dtype), name)
        self.values, self.name, self.stored = values, name, stored
        self.shape = int(values.shape[0]), int(values.shape[1])
        self.sparse = getattr(values, "format", None) == "csr"

    @property
    def row_bytes(self) -> float:
        """Average size of a row."""
        return float(np.dtype(self.values.dtype).itemsize * self.shape[1])

    def span(self, first: int, stop: int) -> Matrix:
        """Consecutive rows."""
        return as_view(self.values[first:stop], self.name, first)

    def at(self, places: Integers) -> Matrix | None:
        """The rows at these places, without entries where a place is -1; None if all are."""
        held = places >= 0
        wanted = places[held]
        if not len(wanted):
            return None
        first, stop = int(wanted[0]), int(wanted[-1]) + 1
        if stop - first == len(wanted) and (np.diff(wanted) == 1).all():
            found = self.span(first, stop)
        elif self.stored:
            found = self._gathered(wanted)
        else:
            found = as_view(self.values[wanted], self.name)
        return found if held.all() else _spread(found, held)

    def _gathered(self, wanted: Integers) -> Matrix:
        """Rows of a file in any order: those near each other are read together."""
        order = np.argsort(wanted, kind="stable")
        ordered = wanted[order]
        parts = []
        for run in np.split(ordered, np.flatnonzero(np.diff(ordered) > NEAR_ROWS) + 1):
            parts.append(self.span(int(run[0]), int(run[-1]) + 1)[run - run[0]])
        stack = scipy.sparse.vstack(parts, format="csr") if self.sparse else np.concatenate(parts)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return stack[back]

    def check_some_values(self, what: str) -> None:
        """Refuse a matrix without a single number: it is all NaN."""
        n_rows, width = self.shape
        for first in range(0, n_rows, SEARCHED_ROWS):
            part = self.span(first, min(first + SEARCHED_ROWS, n_rows))
            values = part.data if self.sparse else part
            if (self.sparse and part.nnz < part.shape[0] * width) or not np.isnan(values).all():
                return
        if n_rows and width:
            raise DataError(
                f"{what} holds NaN only: no observation has it. Leave the modality out, or name the layer or "
                "the embedding that holds its values (layer=, use_rep=)."
            )


def _spread(rows: Matrix, held: Array) -> Matrix:
    """Rows at the places that are held; those between have no entries."""
    if not scipy.sparse.issparse(rows):
        spread = np.zeros((len(held), rows.shape[1]), dtype=rows.dtype)
        spread[held] = rows
        return spread
    lengths = np.zeros(len(held), dtype=rows.indptr.dtype)
    lengths[held] = np.diff(rows.indptr)
    starts = np.concatenate((lengths[:1] * 0, np.cumsum(lengths, dtype=rows.indptr.dtype)))
    return scipy.sparse.csr_array((rows.data, rows.indices, starts), shape=(len(held), rows.shape[1]))


@dataclass(frozen=True)
class Modality:
    """Named rows of one matrix, with the names of its columns where it has them."""

    rows: Rows
    ids: Array
    columns: tuple[Any, ...] | None

    @classmethod
    def of(cls, data: Any, part: Part, name: str) -> Modality:
        """One matrix of an AnnData."""
        where = f"modality {name!r}"
        ids = unique_ids(data.obs_names, where)
        columns: tuple[Any, ...] | None = tuple(map(str, data.var_names))
        if part.use_rep is not None:
            values = _entry(data.obsm, part.use_rep, where, "use_rep")
            columns = tuple(map(str, values.columns)) if hasattr(values, "columns") else None
            values = values.to_numpy() if hasattr(values, "columns") else values
        elif part.layer is not None:
            values = _entry(data.layers, part.layer, where, "layer")
        else:
            values = data.X
        if values is None:
            raise DataError(f"{where} has no X. Name a layer (layer=) or an embedding (use_rep=).")
        stored = bool(getattr(data, "isbacked", False)) and part.path == "X"
        if stored and data.is_view:
            raise DataError(
                f"{where} is a selection of rows or columns of a backed object, which would be read as a "
                "whole. Give the path of the file, or copy the selection into memory: `.to_memory()`."
            )
        if not stored and not isinstance(values, np.ndarray):
            values = as_view(values, name)
        return cls(Rows(values, name, stored=stored), ids, columns)

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.rows.shape[1]


def _entry(entries: Any, key: str, where: str, setting: str) -> Any:
    if key not in entries:
        known = ", ".join(map(repr, entries)) or "none"
        raise DataError(f"{where} has no {key!r} for {setting}=; there is {known}.")
    return entries[key]


def unique_ids(names: Any, where: str) -> Array:
    """Names of observations, which may be encoded, as an array of text; refuse duplicates."""
    given = np.asarray(names).tolist()
    encoded = bool(given) and isinstance(given[0], bytes)
    texts = [name.decode("utf-8", "surrogatepass") for name in given] if encoded else list(map(str, given))
    ids = np.empty(len(texts), dtype=object)
    ids[:] = texts
    if len(set(texts)) == len(texts):
        return ids
    seen: dict[str, int] = {}
    for row, id in enumerate(texts):
        if (first := seen.setdefault(id, row)) != row:
            raise DataError(
                f"{where}: the observation name {format_id(id)} appears in rows {first} and {row}. "
                "Make the names unique (`.obs_names_make_unique()`), or remove the repeated rows."
            )
    return ids


def modalities(mdata: Any) -> Iterator[tuple[str, Any]]:
    """The modalities of a MuData that shares its observations."""
    if getattr(mdata, "axis", 0) != 0:
        raise DataError(
            f"this MuData shares variables (axis={mdata.axis}), not observations: its modalities are sets of "
            "rows rather than views. Give an AnnData of each, or a MuData with axis=0."
        )
    for name, data in mdata.mod.items():
        if not is_anndata(data):
            raise DataError(f"modality {name!r} is a {type(data).__name__}; an AnnData was expected.")
        yield str(name), data


def places_of(obsmap: Any, names: Array, own: Array, where: str) -> Integers:
    """The row of each observation in a modality, -1 where it lacks the modality, by MuData's `obsmap`.

    `names` are those of all observations, `own` those of the modality.
    """
    places = np.asarray(obsmap).ravel().astype(np.int64) - 1
    held = places >= 0
    sound = len(places) == len(names) and int(held.sum()) == len(own) and (places < len(own)).all()
    if not sound or not (own[places[held]] == names[held]).all():
        raise DataError(
            f"{where}: `obsmap` does not match the observation names of the modality, which was changed "
            "after the MuData was made. Call `mdata.update()`, and write the file again if it is one."
        )
    return places
