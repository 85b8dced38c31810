"""Parameters of OPIMC and IMC, checked, in the form the core takes: plan, init, scale, view weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from viewpass.core.model import Plan
from viewpass.core.state.view_weights import LEAST, Weights, relative
from viewpass.core.step.chunk_step import Rules
from viewpass.errors import SettingError
from viewpass.kernels.grid import Array
from viewpass.views.scaling import NAMES

WARMUP_ROWS = 4000
WARMUP_ROWS_A_CLUSTER = 50


def plan_of(settings: Any, names: tuple[str, ...]) -> Plan:
    """The plan of a stream over views of these names; refuses settings that cannot be."""
    n_clusters = None if settings.n_clusters == "auto" else int(settings.n_clusters)
    init = checked_init(settings.init, n_clusters, names)
    scale = checked_scale(settings.scale, names)
    if isinstance(init, list):  # centres are in a scale their maker knew
        scale = tuple("unit" if name == "auto" else name for name in scale)
    check_whole(settings.reservoir, "reservoir")
    return Plan(
        n_clusters,
        Rules(settings.alpha, settings.max_iter, settings.tol, settings.fill),
        init,
        _warmup_rows(settings.warmup, init, n_clusters),
        scale=scale,
        n_anchors=None if settings.n_anchors in ("auto", None) else int(settings.n_anchors),
        consensus=checked_consensus(settings.consensus, settings.n_anchors, settings.n_clusters, init),
        weights=checked_weights(settings.view_weights, names),
        reservoir=int(settings.reservoir),
    )


def _warmup_rows(warmup: int | str, init: Any, n_clusters: int | None) -> int:
    if not isinstance(init, str) or init == "random":
        return 0
    return warmup_rows(n_clusters) if warmup == "auto" else int(warmup)


def warmup_rows(n_clusters: int | None) -> int:
    """Rows of the warm-up where none are given."""
    return max(WARMUP_ROWS, WARMUP_ROWS_A_CLUSTER * (n_clusters or 0))


def check_whole(value: Any, name: str) -> None:
    """Refuse True and False where a number is meant: to Python they are 1 and 0."""
    if isinstance(value, bool):
        raise SettingError(f"{name}={value!r}: a number was expected.")


STARTS = ("auto", "k-means++", "random")


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
        if init not in STARTS:
            raise SettingError(f"init={init!r}: one of {', '.join(map(repr, STARTS))} or an array.")
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


SCALES = ", ".join(map(repr, NAMES))


def checked_scale(scale: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    """The name of a scale for every view."""
    if isinstance(scale, str):
        return (_checked_name(scale, "scale="),) * len(names)
    each = for_each_view(scale, names, "scale")
    if each is not None:
        pairs = zip(names, each, strict=True)
        return tuple(_checked_name(value, f"scale of view {name!r}: ") for name, value in pairs)
    raise SettingError(f"scale={scale!r}: one of {SCALES}, or a list or dict with one for each view.")


def _checked_name(value: Any, where: str) -> str:
    if not isinstance(value, str) or value not in NAMES:
        raise SettingError(f"{where}{value!r}: one of {SCALES} was expected.")
    return value


def checked_weights(given: Any, names: tuple[str, ...]) -> Weights | str | None:
    """Weights by the largest of them, "auto", or None where all views count the same."""
    if given is None or (isinstance(given, str) and given == "auto"):
        return given
    if isinstance(given, np.ndarray) and given.ndim == 1:
        given = given.tolist()
    each = for_each_view(given, names, "view_weights")
    if each is None:
        raise SettingError(
            f"view_weights={given!r}: None, 'auto', or a list or dict with a number for each view."
        )
    weights = [_checked_weight(value, name) for value, name in zip(each, names, strict=True)]
    largest = max(weights)
    if largest == 0:
        raise SettingError("view_weights are all 0: at least one view must count.")
    for weight, name in zip(weights, names, strict=True):
        if 0 < weight < LEAST * largest:
            raise SettingError(
                f"view_weights, view {name!r}: {weight:g} is less than a millionth of the largest. "
                "Use 0 to leave the view out."
            )
    return relative(weights)


def _checked_weight(value: Any, name: str) -> float:
    number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if not number or not math.isfinite(value) or value < 0:
        raise SettingError(f"view_weights, view {name!r}: {value!r}: a number from 0 on was expected.")
    return float(value)


def for_each_view(given: Any, names: tuple[str, ...], setting: str) -> list[Any] | None:
    """The values in the order of the views; None if it is neither list nor dict."""
    if isinstance(given, Mapping):
        by_name = {str(name): value for name, value in given.items()}
        if set(by_name) != set(names):
            raise SettingError(
                f"{setting} is given for {', '.join(map(repr, by_name)) or 'no view'}; "
                f"the views are {', '.join(map(repr, names))}."
            )
        return [by_name[name] for name in names]
    if not isinstance(given, list | tuple):
        return None
    if len(given) != len(names):
        raise SettingError(f"{setting} has {len(given)} entries, the data has {len(names)} views.")
    return list(given)
