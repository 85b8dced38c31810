"""Sources of arrays in files: npy files, one per view, npz bundles (both memory-mapped), MATLAB files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from viewpass.errors import DataError, SettingError, not_a_file
from viewpass.sources.arrays import ArraySource
from viewpass.sources.bundle import load_bundle
from viewpass.sources.mat import load_mat
from viewpass.sources.quantised import Quantised, Widened, check_names
from viewpass.views.chunk import unique_names


def mapped(
    arrays: Mapping[str, Any],
    views: Any = None,
    id: str | None = None,
    stored: Mapping[str, Quantised] = MappingProxyType({}),
) -> ArraySource:
    """Make a source of npy files (or arrays) given by view name."""
    _check_plain(id)
    opened = {name: _opened(Path(x)) if isinstance(x, str | PathLike) else x for name, x in arrays.items()}
    chosen = _chosen(opened, views)
    check_names(stored, chosen)
    return ArraySource(
        {name: Widened(x, stored[name], name) if name in stored else x for name, x in chosen.items()}
    )


def mapped_files(
    paths: Sequence[str],
    views: Any = None,
    id: str | None = None,
    stored: Mapping[str, Quantised] = MappingProxyType({}),
) -> ArraySource:
    """Make a source of one npz bundle or MATLAB file, or of npy files that are named after their views."""
    if paths[0].lower().endswith(".npy"):
        names = unique_names(Path(path).stem for path in paths)
        return mapped(dict(zip(names, paths, strict=True)), views, id, stored)
    _check_plain(id)
    check_names(stored, ())
    if len(paths) > 1:
        raise DataError(f"{len(paths)} bundles were given ({paths[0]}, ...): give one at a time.")
    matlab = paths[0].lower().endswith(".mat")
    bundle = load_mat(paths[0]) if matlab else load_bundle(paths[0], mapped=True)
    source = bundle.source()
    chosen = _chosen({name: name for name in bundle.views}, views)
    if list(chosen) == list(chosen.values()) == list(bundle.views):
        return source
    order = [list(bundle.views).index(name) for name in chosen.values()]
    return ArraySource(
        {name: bundle.views[old] for name, old in chosen.items()},
        None if bundle.observed is None else bundle.observed[:, order],
    )


def _opened(path: Path) -> Any:
    if (kind := not_a_file(path)) is not None:
        raise DataError(f"{path} is {kind}, not an npy file.")
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file.") from None
    except (ValueError, OSError, EOFError) as problem:
        raise DataError(f"{path} cannot be read as an npy file: {problem}") from problem


def _chosen(arrays: dict[str, Any], views: Any) -> dict[str, Any]:
    """Select the views that `views=` names: {name: name in the data}, a list, or one name."""
    if views is None:
        return arrays
    wanted = {name: name for name in ([views] if isinstance(views, str) else views)}
    wanted = dict(views) if isinstance(views, Mapping) else wanted
    for name in wanted.values():
        if not isinstance(name, str) or name not in arrays:
            known = ", ".join(map(repr, arrays))
            raise DataError(f"there is no view {name!r}; the views are {known}.")
    return {name: arrays[old] for name, old in wanted.items()}


def _check_plain(id: str | None) -> None:
    if id is not None:
        raise SettingError(f"id={id!r}: npy, npz and mat files have no ids; their rows are known by number.")
