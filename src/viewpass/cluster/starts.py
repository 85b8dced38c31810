"""Check what a user gives as `init` and bring it into the form the core takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from viewpass.errors import SettingError
from viewpass.kernels.grid import Array

NAMES = ("auto", "k-means++", "random")


def checked_consensus(consensus: str | None, n_anchors: Any, n_clusters: Any, init: Any) -> str:
    """Whether there are anchors, and what becomes of them; refused where the settings fight."""
    wanted = consensus in ("merge", "graph") or n_clusters == "auto"
    if consensus is None or n_anchors is None:
        if wanted:
            what = "n_clusters='auto'" if n_clusters == "auto" else f"consensus={consensus!r}"
            none = "consensus=None" if consensus is None else "n_anchors=None"
            raise SettingError(f"{what} needs anchors, which {none} rules out.")
        return "plain"
    if isinstance(init, str) and init != "random":
        if "auto" not in (n_anchors, n_clusters) and n_anchors < n_clusters:
            raise SettingError(
                f"n_anchors={n_anchors} cannot form n_clusters={n_clusters} clusters: give more anchors "
                "(some 20 for each cluster), or 'auto'."
            )
        return consensus
    if wanted:
        raise SettingError(
            f"init={init if isinstance(init, str) else 'arrays'!r} starts clusters, not anchors: "
            "use init='auto', or consensus=None and a number of clusters."
        )
    return "plain"


def checked_init(init: Any, n_clusters: int | None, names: tuple[str, ...]) -> Any:
    """A name, an array (memberships or labels of the first rows), or a list of centres a view."""
    if isinstance(init, str):
        if init not in NAMES:
            raise SettingError(f"init={init!r}: one of {', '.join(map(repr, NAMES))} or an array.")
        return init
    if n_clusters is None:
        raise SettingError("init as arrays starts a number of clusters: give it as n_clusters, not 'auto'.")
    if isinstance(init, Mapping):
        init = {str(name): values for name, values in init.items()}
        unknown = [name for name in init if name not in names]
        absent = [name for name in names if name not in init]
        if unknown or absent:
            raise SettingError(
                f"init has centres for {', '.join(map(repr, init))}; "
                f"the views are {', '.join(map(repr, names))}."
            )
        return [_centres(init[name], name, n_clusters) for name in names]
    if isinstance(init, list | tuple) and all(_is_matrix(part) for part in init):
        if len(init) != len(names):
            raise SettingError(f"init has centres of {len(init)} views, the data has {len(names)}.")
        return [_centres(u, name, n_clusters) for u, name in zip(init, names, strict=True)]
    array = _copied(init, "init")
    if array.ndim == 1 and array.dtype.kind in "iu":
        if len(array) and (array.min() < 0 or array.max() >= n_clusters):
            raise SettingError(f"init: labels must lie between 0 and {n_clusters - 1}.")
        return array
    if array.ndim == 2 and array.dtype.kind in "iufb" and array.shape[1] == n_clusters:
        array = array.astype(np.float64)
        if not np.isfinite(array).all() or (array < 0).any():
            raise SettingError("init: memberships must be finite and not negative.")
        return array
    raise SettingError(
        f"init is an array of shape {array.shape} and type {array.dtype}; expected memberships "
        f"(rows of the first chunk x {n_clusters}), integer labels of those rows, or a list "
        "with the centres of each view."
    )


def _is_matrix(part: Any) -> bool:
    return getattr(part, "ndim", 0) == 2 or (
        isinstance(part, list | tuple) and all(isinstance(row, list | tuple | np.ndarray) for row in part)
    )


def _copied(values: Any, where: str) -> Array:
    """A copy: the stream may need it after the caller has written over his array."""
    try:
        return np.array(values)
    except ValueError as problem:
        raise SettingError(f"{where} cannot be read as an array ({problem}).") from problem


def _centres(values: Any, name: str, n_clusters: int) -> Array:
    array = _copied(values, f"init, view {name!r}")
    if array.dtype.kind in "iufb":
        array = array.astype(np.float64)
    if (
        array.dtype != np.float64
        or array.ndim != 2
        or len(array) != n_clusters
        or not np.isfinite(array).all()
    ):
        raise SettingError(f"init, view {name!r}: {n_clusters} finite centres (a row each) were expected.")
    return array
