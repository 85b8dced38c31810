"""`vp.from_mudata`: MuData and AnnData, objects or files; modalities are views, rows go by `obsmap`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

import numpy as np

from viewpass.errors import DataError, SettingError
from viewpass.kernels.grid import Array, Integers
from viewpass.sources.arrow.files import File, find_files
from viewpass.sources.hdf5 import encoded_names, matrix_columns, modality_groups, opened, stored_rows
from viewpass.sources.ids import warn_apart
from viewpass.sources.modalities import (
    Modality,
    Part,
    Rows,
    is_anndata,
    is_mudata,
    modalities,
    places_of,
    unique_ids,
)
from viewpass.sources.source import Source, ahead, check_known, chunk_end
from viewpass.views.chunk import Chunk, Schema, format_id, join

ALONE = "X"  # the name of the only view of an AnnData


@dataclass
class Observations:
    """Consecutive rows: those of one object, or of one file, which is opened whenever they are read."""

    ids: Array
    places: dict[str, Integers] = field(default_factory=dict)  # per view: the row there, -1 if it is missing
    columns: dict[str, tuple[Any, ...] | None] = field(default_factory=dict)
    widths: dict[str, int] = field(default_factory=dict)
    sparse: dict[str, bool] = field(default_factory=dict)
    row_bytes: float = 0.0
    objects: dict[str, Rows] = field(default_factory=dict)
    file: File | None = None
    parts: dict[str, Part] = field(default_factory=dict)

    def add(self, name: str, rows: Rows, columns: tuple[Any, ...] | None, places: Integers) -> None:
        """One more view."""
        what = f"modality {name!r}"
        rows.check_some_values(what if self.file is None else f"{self.file.name}, {what}")
        self.places[name], self.columns[name] = places, columns
        self.widths[name], self.sparse[name] = rows.shape[1], rows.sparse
        self.row_bytes += rows.row_bytes
        if self.file is None:
            self.objects[name] = rows

    @contextmanager
    def reading(self) -> Iterator[Mapping[str, Rows]]:
        """The rows of every view."""
        if self.file is None:
            yield self.objects
            return
        with opened(self.file.path) as file:
            groups = modality_groups(file) or {ALONE: file}
            yield {name: stored_rows(groups[name], self.parts[name], name) for name in self.places}


class MuDataSource(Source):
    """Observations of a MuData or AnnData, or of files of them. Made by `vp.from_mudata`."""

    n_rows: int
    row_ids: Array

    def __init__(self, pieces: Sequence[Observations]) -> None:
        self._pieces = list(pieces)
        names = tuple(pieces[0].places)
        _check_alike(pieces)
        self.row_ids = np.concatenate([piece.ids for piece in pieces])
        if len(pieces) > 1:
            _check_apart(pieces)
        _warn_apart(pieces)
        self._starts = np.cumsum([0, *(len(piece.ids) for piece in pieces)])
        self.n_rows = len(self.row_ids)
        self.in_memory = all(piece.file is None for piece in pieces)
        self.portable = not self.in_memory
        self.row_bytes = None if self.in_memory else int(max(piece.row_bytes for piece in pieces)) + 1
        self._describe(names)

    def _describe(self, names: tuple[str, ...]) -> None:
        first = self._pieces[0]
        columns = tuple(first.columns.get(name) for name in names)
        self.schema = Schema(
            names,
            tuple(first.widths.get(name) for name in names),
            columns if any(given is not None for given in columns) else (),
        )
        self.sparse_widths = {
            name: first.widths[name] for name in names if any(p.sparse.get(name, False) for p in self._pieces)
        }

    def chunks(self, size: int, start: int = 0) -> Iterator[Chunk]:
        """Read the rows from `start` on, in chunks that end at multiples of `size`."""
        made = self._chunks(size, start)
        return made if self.in_memory else ahead(made)

    def _chunks(self, size: int, start: int) -> Iterator[Chunk]:
        waiting: list[Chunk] = []
        for number, piece in enumerate(self._pieces):
            first, stop = int(self._starts[number]), int(self._starts[number + 1])
            if stop <= start and stop < self.n_rows:
                continue
            with piece.reading() as rows:
                while start < stop:
                    end = min(chunk_end(start, size), stop)
                    waiting.append(self._chunk(piece, rows, start - first, end - first, start))
                    if end == min(chunk_end(start, size), self.n_rows):
                        chunk = _joined(waiting, self.schema)
                        waiting = []
                        yield chunk
                    start = end

    def _chunk(
        self, piece: Observations, rows: Mapping[str, Rows], first: int, stop: int, start: int
    ) -> Chunk:
        names, absent = self.schema.names, np.full(stop - first, -1)
        places = [piece.places[name][first:stop] if name in piece.places else absent for name in names]
        return Chunk.of(
            [
                rows[name].at(place) if name in rows else None
                for name, place in zip(names, places, strict=True)
            ],
            names=names,
            observed=np.column_stack([place >= 0 for place in places]),
            start=start,
            row_ids=piece.ids[first:stop],
            columns=self.schema.columns,
        )

    def arranged(self, names: tuple[str, ...]) -> MuDataSource:
        """Return the same rows with the views in this order; modalities that are not there are absent."""
        check_known(self.schema.names, names)
        if names == self.schema.names:
            return self
        made = copy(self)
        made._describe(names)
        return made

    def place(self, start: int, stop: int) -> str:
        """Describe rows by their numbers and files."""
        ends = zip(self._starts[:-1], self._starts[1:], self._pieces, strict=True)
        files = [p.file.name for first, last, p in ends if p.file and first < stop and last > start]
        return super().place(start, stop) + (f" ({', '.join(files)})" if files else "")

    def identity(self) -> dict[str, Any]:
        """The files, or a hash of the names of the observations; and the matrix of each view."""
        digest = sha256("\n".join(self.row_ids.tolist()).encode("utf-8", "surrogatepass"))
        names = zip(self.schema.names, self.schema.widths, strict=True)
        return {
            "kind": "mudata",
            "rows": self.n_rows,
            "files": [piece.file.identity() for piece in self._pieces if piece.file is not None],
            "views": dict(names),
            "matrices": {name: part.path for name, part in self._pieces[0].parts.items()},
            "ids": digest.hexdigest()[:16],
        }


def _joined(chunks: Sequence[Chunk], schema: Schema) -> Chunk:
    if len(chunks) == 1:
        return chunks[0]
    return replace(join(chunks), columns=schema.columns)


def from_mudata(
    data: Any, layer: Any = None, use_rep: Any = None, modalities: Sequence[str] | None = None
) -> MuDataSource:
    """Read a MuData or AnnData: modalities are views, observations absent from a modality lack the view.

    Parameters
    ----------
    data : MuData, AnnData, path, or list of paths
        An object, backed or not, or `.h5mu` or `.h5ad` files, which are read in chunks and never as a whole.
        Several files have the same modalities and variables, and different observations. An AnnData has one
        view, `"X"`.
    layer : str or dict of str, optional
        The layer to read instead of `X`; a dict gives it by modality.
    use_rep : str or dict of str, optional
        The embedding in `obsm` to read instead of `X`, such as `"X_pca"`; a dict gives it by modality.
    modalities : list of str, optional
        The modalities to read, in this order. By default all of them.

    Returns
    -------
    MuDataSource
        To be given to `fit`, `predict`, `transform` or `score`. Observation names are its `row_ids`.

    Examples
    --------
    >>> import anndata, mudata
    >>> import pandas as pd
    >>> import viewpass as vp
    >>> rna = pd.DataFrame({"g1": [9.0, 8.0, 1.0], "g2": [1.0, 2.0, 7.0]}, index=["p1", "p2", "p3"])
    >>> protein = pd.DataFrame({"a": [5.0, 1.0], "b": [1.0, 6.0]}, index=["p2", "p4"])
    >>> mdata = mudata.MuData({"rna": anndata.AnnData(rna), "protein": anndata.AnnData(protein)})
    >>> cohort = vp.from_mudata(mdata)
    >>> cohort.schema.names, cohort.schema.widths, sorted(cohort.row_ids)
    (('rna', 'protein'), (2, 2), ['p1', 'p2', 'p3', 'p4'])
    """
    if is_mudata(data) or is_anndata(data):
        return MuDataSource([_of_object(data, layer, use_rep, modalities)])
    several = isinstance(data, list | tuple) and data
    if not (_is_path(data) or (several and all(map(_is_path, data)))):
        raise DataError(
            f"vp.from_mudata was given a {type(data).__name__}; expected a MuData, an AnnData, or the path "
            "of a .h5mu or .h5ad file (or a list of paths)."
        )
    return of_files(find_files(data), layer, use_rep, modalities)


def of_files(
    files: Sequence[File], layer: Any = None, use_rep: Any = None, modalities: Sequence[str] | None = None
) -> MuDataSource:
    """Make a source of files."""
    for file in files:
        if file.system is not None:
            raise DataError(f"{file.name}: .h5mu and .h5ad files must be local files. Download it first.")
    return MuDataSource([_of_file(file, layer, use_rep, modalities) for file in files])


def _is_path(x: Any) -> bool:
    return isinstance(x, str | os.PathLike)


def _of_object(data: Any, layer: Any, use_rep: Any, chosen: Sequence[str] | None) -> Observations:
    found = dict(modalities(data)) if is_mudata(data) else {ALONE: data}
    parts = _parts(list(found), layer, use_rep, chosen)
    made = Observations(unique_ids(data.obs_names, type(data).__name__), parts=parts)
    for name, part in parts.items():
        own = Modality.of(found[name], part, name)
        places = np.arange(len(own.ids))
        if is_mudata(data):
            places = places_of(data.obsmap[name], made.ids, own.ids, f"modality {name!r}")
        made.add(name, own.rows, own.columns, places)
    return made


def _of_file(file: File, layer: Any, use_rep: Any, chosen: Sequence[str] | None) -> Observations:
    with opened(file.path) as stored:
        groups = modality_groups(stored)
        parts = _parts(list(groups or {ALONE: None}), layer, use_rep, chosen)
        names = encoded_names(stored, "obs")
        made = Observations(unique_ids(names, file.name), parts=parts, file=file)
        for name, part in parts.items():
            group, where = groups.get(name, stored), f"{file.name}, modality {name!r}"
            rows = stored_rows(group, part, name)
            places = np.arange(len(made.ids))
            if groups:
                own = encoded_names(group, "obs")
                if len(set(own.tolist())) < len(own):
                    unique_ids(own, where)  # says which
                places = places_of(stored["obsmap"][name][:], names, own, where)
            made.add(name, rows, matrix_columns(group, part), places)
    return made


def _parts(names: list[str], layer: Any, use_rep: Any, chosen: Sequence[str] | None) -> dict[str, Part]:
    """The matrix of each modality that is read."""
    wanted = names if chosen is None else [chosen] if isinstance(chosen, str) else list(chosen)
    _check_names(wanted, names, "modalities")
    if not wanted:
        raise DataError("there is no modality to read.")
    layers, reps = _each(layer, wanted, names, "layer"), _each(use_rep, wanted, names, "use_rep")
    for name in wanted:
        if layers[name] is not None and reps[name] is not None:
            raise SettingError(
                f"layer={layers[name]!r} and use_rep={reps[name]!r} are both given for modality {name!r}: "
                "a view is one of the two. Give dicts by modality."
            )
    return {name: Part(layers[name], None if reps[name] == "X" else reps[name]) for name in wanted}


def _each(given: Any, wanted: Sequence[str], names: Sequence[str], setting: str) -> dict[str, str | None]:
    if isinstance(given, Mapping):
        _check_names(list(given), names, setting)
        return {name: given.get(name) for name in wanted}
    if given is not None and not isinstance(given, str):
        raise SettingError(f"{setting}={given!r}: expected a name, or a dict of names by modality.")
    return dict.fromkeys(wanted, given)


def _check_names(given: Sequence[Any], names: Sequence[str], setting: str) -> None:
    for name in given:
        if name not in names:
            raise SettingError(
                f"{setting}=: there is no modality {name!r}; they are {', '.join(map(repr, names))}."
            )


def _check_alike(pieces: Sequence[Observations]) -> None:
    """Refuse files that differ in modalities or variables."""
    first = pieces[0]
    for piece in pieces[1:]:
        assert first.file is not None
        assert piece.file is not None
        if list(piece.places) != list(first.places):
            raise DataError(
                f"{piece.file.name} has the modalities {', '.join(map(repr, piece.places))}, "
                f"{first.file.name} {', '.join(map(repr, first.places))}. "
                "Choose those that all files have (modalities=)."
            )
        for name, columns in first.columns.items():
            other, where = piece.columns[name], f"{piece.file.name}, modality {name!r}"
            if piece.widths[name] != first.widths[name]:
                raise DataError(
                    f"{where} has {piece.widths[name]} variables, in {first.file.name} there are "
                    f"{first.widths[name]}. Give files with the same variables, in the same order."
                )
            for number, (mine, theirs) in enumerate(zip(columns or (), other or (), strict=True)):
                if mine != theirs:
                    raise DataError(
                        f"{where}: variable {number} is {theirs!r}, in {first.file.name} it is {mine!r}. "
                        "Give files with the same variables, in the same order."
                    )


def _warn_apart(pieces: Sequence[Observations]) -> None:
    """Warn of modalities whose observations hardly occur in any other."""
    places = {name: np.concatenate([piece.places[name] for piece in pieces]) for name in pieces[0].places}
    everyone = np.concatenate([piece.ids for piece in pieces])
    warn_apart({name: everyone[own >= 0] for name, own in places.items()}, places)


def _check_apart(pieces: Sequence[Observations]) -> None:
    """Refuse observations that occur in two files."""
    seen: dict[str, Observations] = {}
    for piece in pieces:
        for id in piece.ids.tolist():
            if id in seen:
                assert piece.file is not None
                other = seen[id].file
                raise DataError(
                    f"the observation {format_id(id)} is in {other.name if other else ''} and in "
                    f"{piece.file.name}. Names must be unique over all files; add a prefix to each."
                )
        seen.update(dict.fromkeys(piece.ids.tolist(), piece))
