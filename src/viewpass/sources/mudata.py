"""`vp.from_mudata`: MuData and AnnData, objects or files; modalities are views, rows go by `obsmap`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from viewpass.errors import DataError, SettingError
from viewpass.kernels.grid import Array, Integers
from viewpass.sources.files import File, find_files
from viewpass.sources.hdf5 import modality_groups, names_of, opened, opened_rows, stored_rows
from viewpass.sources.ids import as_texts, refuse_repeated
from viewpass.sources.kinds import is_anndata, is_mudata, is_path
from viewpass.sources.matched import MatchedSource, MatrixRows, Piece, Rows, View
from viewpass.views.checks import as_view

ALONE = "X"  # the name of the only view of an AnnData
SETTINGS = {"layers": "layer", "obsm": "use_rep"}


def from_mudata(
    data: Any, layer: Any = None, use_rep: Any = None, modalities: Sequence[str] | None = None
) -> MatchedSource:
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
    Source
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
        return MatchedSource([_of_object(data, layer, use_rep, modalities)], "mudata")
    several = isinstance(data, list | tuple) and data
    if not (is_path(data) or (several and all(map(is_path, data)))):
        raise DataError(
            f"vp.from_mudata was given a {type(data).__name__}; expected a MuData, an AnnData, or the path "
            "of a .h5mu or .h5ad file (or a list of paths)."
        )
    return of_files(find_files(data), layer, use_rep, modalities)


def of_files(
    files: Sequence[File], layer: Any = None, use_rep: Any = None, modalities: Sequence[str] | None = None
) -> MatchedSource:
    """Make a source of files."""
    for file in files:
        if file.system is not None:
            raise DataError(f"{file.name}: .h5mu and .h5ad files must be local files. Download it first.")
    return MatchedSource([_of_file(file, layer, use_rep, modalities) for file in files], "mudata")


def _of_object(data: Any, layer: Any, use_rep: Any, chosen: Sequence[str] | None) -> Piece:
    held: Mapping[str, Any] = {ALONE: data}
    if is_mudata(data):
        if getattr(data, "axis", 0) != 0:
            raise DataError(
                f"this MuData shares variables (axis={data.axis}), not observations: its modalities are sets "
                "of rows rather than views. Give an AnnData of each, or a MuData with axis=0."
            )
        held = {str(name): own for name, own in data.mod.items()}
    ids = unique_ids(data.obs_names, type(data).__name__)
    rows: dict[str, Rows] = {}
    places = {}
    for name, path in _parts(list(held), layer, use_rep, chosen).items():
        own, rows[name] = modality(held[name], name, path)
        places[name] = np.arange(len(own))
        if is_mudata(data):
            places[name] = places_of(data.obsmap[name], ids, own, f"modality {name!r}")
    return Piece.of(ids, rows, places)


def _of_file(file: File, layer: Any, use_rep: Any, chosen: Sequence[str] | None) -> Piece:
    views = {}
    with opened(file.path) as stored:
        groups = modality_groups(stored)
        parts = _parts(list(groups or {ALONE: None}), layer, use_rep, chosen)
        ids = unique_ids(names_of(stored, "obs"), file.name)
        for name, path in parts.items():
            group, where = groups.get(name, stored), f"{file.name}, modality {name!r}"
            rows, places = stored_rows(group, path, name), np.arange(len(ids))
            rows.check_some_values(where)
            if groups:
                own = unique_ids(names_of(group, "obs"), where)
                places = places_of(stored["obsmap"][name][:], ids, own, where)
            views[name] = View.of(rows, places)
    return Piece(ids, views, partial(opened_rows, file.path, parts), file)


def modality(data: Any, name: str, path: str = "X") -> tuple[Array, MatrixRows]:
    """The names and the rows of one matrix of an AnnData: `X`, `layers/NAME` or `obsm/NAME`, as in a file."""
    where = f"modality {name!r}"
    if not is_anndata(data):
        raise DataError(f"{where} is a {type(data).__name__}; an AnnData was expected.")
    columns: tuple[Any, ...] | None = tuple(map(str, data.var_names))
    folder, _, key = path.partition("/")
    values = data.X if not key else _entry(getattr(data, folder), key, where, SETTINGS[folder])
    if folder == "obsm":
        columns = tuple(map(str, values.columns)) if hasattr(values, "columns") else None
        values = values.to_numpy() if hasattr(values, "columns") else values
    if values is None:
        raise DataError(f"{where} has no X. Name a layer (layer=) or an embedding (use_rep=).")
    stored = bool(getattr(data, "isbacked", False)) and path == "X"
    if stored and data.is_view:
        raise DataError(
            f"{where} is a selection of rows or columns of a backed object, which would be read as a whole. "
            "Give the path of the file, or copy the selection into memory: `.to_memory()`."
        )
    if not stored and not isinstance(values, np.ndarray):
        values = as_view(values, name)
    rows = MatrixRows(values, name, columns, path, stored=stored)
    rows.check_some_values(where)
    return unique_ids(data.obs_names, where), rows


def _entry(entries: Any, key: str, where: str, setting: str) -> Any:
    if key not in entries:
        known = ", ".join(map(repr, entries)) or "none"
        raise DataError(f"{where} has no {key!r} for {setting}=; there is {known}.")
    return entries[key]


def unique_ids(names: Any, where: str) -> Array:
    """Names of observations as text; refuse duplicates."""
    ids = as_texts(names)
    remedy = "Make the names unique (`.obs_names_make_unique()`), or remove the repeated rows."
    refuse_repeated(ids.tolist(), ids, f"{where}: the observation name", remedy)
    return ids


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


def _parts(names: list[str], layer: Any, use_rep: Any, chosen: Sequence[str] | None) -> dict[str, str]:
    """The path of the matrix of each modality that is read."""
    wanted = names if chosen is None else [chosen] if isinstance(chosen, str) else list(chosen)
    _check_names(wanted, names, "modalities")
    if not wanted:
        raise DataError("there is no modality to read.")
    layers, reps = _each(layer, wanted, names, "layer"), _each(use_rep, wanted, names, "use_rep")
    paths = dict.fromkeys(wanted, "X")
    for name in wanted:
        if layers[name] is not None and reps[name] is not None:
            raise SettingError(
                f"layer={layers[name]!r} and use_rep={reps[name]!r} are both given for modality {name!r}: "
                "a view is one of the two. Give dicts by modality."
            )
        if layers[name] is not None:
            paths[name] = f"layers/{layers[name]}"
        elif reps[name] not in (None, "X"):
            paths[name] = f"obsm/{reps[name]}"
    return paths


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
