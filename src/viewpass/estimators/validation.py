"""Checks the parameters of estimators and turns them into the settings that the core takes."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from viewpass.algorithm1.algorithm1 import Settings
from viewpass.errors import DataError, SettingError
from viewpass.graph.soft_assignment import MAX_ROWS
from viewpass.kernels.grid import WEIGHT_UNIT, Array, Floats, Integers, Mask
from viewpass.solve.centres import ASSUMED_CLUSTERS
from viewpass.solve.plan import Plan
from viewpass.solve.ridge import FIRST_ALPHA
from viewpass.sources.source import Source
from viewpass.streams.horizon import Horizon, microseconds
from viewpass.sums.rules import SMALLEST_WEIGHT, Rules, Weights, relative
from viewpass.views.scaling import SCALE_NAMES

SOLVE_UPDATES, SOLVE_TOLERANCE = 20, 1e-6  # of the centres in a solve
# Numbers per column of a sparse view that a fit holds, as measured for 3 to 50 clusters: statistics of
# the columns, and the sums and centres of the starts that compete.
NUMBERS_PER_COLUMN, NUMBERS_PER_CENTRE = 100, 30
ASSUMED_MEMORY = 2**34  # where the system does not say


def published_settings(
    settings: Any,
    names: tuple[str, ...],
    single: tuple[int | None, int] | None,
    starts: tuple[str, ...] = ("random",),
) -> Settings:
    """The settings of Algorithm 1, checked.

    `single`: rows of the first chunk and columns of a single 2-D array, whose centres may be one array.
    """
    init = checked_init(settings.init, int(settings.n_clusters), names, single, starts)
    rules = Rules(float(settings.alpha), int(settings.max_iter), float(settings.tol), settings.fill)
    return Settings(int(settings.n_clusters), rules, init, fixed_scale(settings.scale, names))


def fixed_scale(scale: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    """The name of the scale of each view, where none is chosen."""
    found = checked_scale(scale, names)
    if "auto" in found:
        raise SettingError(
            "scale='auto': a scale is chosen by ViewPass; the published method has scale='unit'."
        )
    return found


def solving_plan(settings: Any, names: tuple[str, ...]) -> Plan:
    """The settings of ViewPass as the plan of a solve; refuses those that conflict."""
    n_clusters = None if settings.n_clusters in ("auto", "grow") else int(settings.n_clusters)
    n_anchors = None if settings.n_anchors == "auto" else int(settings.n_anchors)
    if n_anchors is not None and settings.consensus in ("plain", "neighbours"):
        ruled = f"which consensus={settings.consensus!r} rules out"
        raise SettingError(f"n_anchors={n_anchors} needs anchors, {ruled}.")
    if n_anchors is not None and n_clusters is not None and n_anchors < n_clusters:
        raise SettingError(
            f"n_anchors={n_anchors} cannot form n_clusters={n_clusters} clusters: give more anchors "
            "(about 20 per cluster), or 'auto'."
        )
    if settings.sample_size != "auto" and n_clusters is not None and settings.sample_size < n_clusters:
        raise SettingError(
            f"sample_size={settings.sample_size} rows cannot form n_clusters={n_clusters} clusters: give "
            "more rows (about 50 per cluster), or 'auto'."
        )
    if settings.robust and settings.n_clusters == "grow":
        raise SettingError(
            "robust=True keeps rows that are far from all clusters out of the centres; n_clusters='grow' "
            "makes clusters of such rows. Give one of them."
        )
    alpha = FIRST_ALPHA if settings.alpha == "auto" else float(settings.alpha)
    return Plan(
        n_clusters,
        Rules(alpha, SOLVE_UPDATES, SOLVE_TOLERANCE, "mean"),
        scale=checked_scale(settings.scale, names),
        n_anchors=n_anchors,
        consensus=settings.consensus,
        weights=checked_weights(settings.view_weights, names),
        missing_entries=str(settings.missing_entries),
        projection=settings.projection if settings.projection in ("auto", None) else int(settings.projection),
        auto_alpha=settings.alpha == "auto",
        robust=bool(settings.robust),
    )


def stream_horizon(settings: Any) -> Horizon:
    """Which rows of a stream count; refuses settings that conflict."""
    window, half_life, most = settings.window, settings.half_life, settings.max_clusters
    if window is not None and half_life is not None:
        raise SettingError("window= and half_life= are two ways to forget: give one of them.")
    duration = None
    if isinstance(window, str):
        window, duration = None, microseconds(settings.window)
        if settings.time is None:
            raise SettingError(
                f"window={settings.window!r} needs time=, the column that has the times of rows."
            )
    if most is not None and settings.n_clusters != "grow":
        raise SettingError(f"max_clusters={most} has no effect without n_clusters='grow'.")
    horizon = Horizon(window, duration, half_life, settings.n_clusters == "grow", most)
    if settings.time is not None and not horizon.changing:
        raise SettingError(
            f"time={settings.time!r} has no effect without window=, half_life= or n_clusters='grow'."
        )
    least = int(settings.n_clusters) if isinstance(settings.n_clusters, Integral) else 1
    if horizon.span is not None and horizon.span < least:
        given = f"window={window}" if half_life is None else f"half_life={half_life}"
        raise SettingError(f"{given}: {horizon.span} rows count, too few for n_clusters={least} clusters.")
    return horizon


def row_copies(sample_weight: Any, source: Source, unit: int | None) -> tuple[Integers | None, int]:
    """How often each row counts, in units of 1 / unit, and the unit: 1 or WEIGHT_UNIT.

    `unit`: the unit of a model that has read rows; None: it follows from these weights.
    """
    if sample_weight is None:
        return None, unit or 1
    if not source.in_memory or source.n_rows is None:
        raise SettingError(
            "sample_weight is for data in memory (arrays, frames, bundles): rows of files and streams have "
            "no weights. Read the data into arrays, or leave sample_weight out."
        )
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise DataError(f"sample_weight cannot be read as an array of numbers ({problem}).") from problem
    if weights.shape != (source.n_rows,):
        raise DataError(
            f"sample_weight has shape {weights.shape}, ({source.n_rows},) was expected: one weight per row."
        )
    _refuse_weights(weights, ~(np.isfinite(weights) & (weights >= 0)), "a number that is not negative")
    fractions = weights != np.rint(weights)
    if unit == 1:
        what = "a whole number, as for the rows before. Give fractions from the first rows on, or round"
        _refuse_weights(weights, fractions, what)
    unit = unit or (WEIGHT_UNIT if fractions.any() else 1)
    rounded = np.rint(weights * unit)
    what = f"0 or at least half of 1/{WEIGHT_UNIT}, to which weights are rounded. Multiply all of them"
    _refuse_weights(weights, (weights > 0) & (rounded == 0), what)
    if not rounded.any():
        raise DataError("sample_weight is zero for every row: at least one row must count.")
    if rounded.sum() > MAX_ROWS:
        raise DataError(
            f"sample_weight adds up to {weights.sum():.6g}, at most {MAX_ROWS // unit:,} was expected: exact "
            "sums could overflow. Divide all weights by the same number."
        )
    return rounded.astype(np.int64), unit


def check_memory(n_clusters: int | str, source: Source) -> None:
    """Refuse sparse views whose centres would need more than half of the memory.

    Centres are dense, however few numbers the rows store.
    """
    known = ASSUMED_CLUSTERS if n_clusters in ("auto", "grow") else int(n_clusters)
    needed = 8 * sum(source.sparse_widths.values()) * (NUMBERS_PER_COLUMN + NUMBERS_PER_CENTRE * known)
    memory = memory_bytes()
    if needed > memory / 2:
        width, name = max((width, name) for name, width in source.sparse_widths.items())
        raise DataError(
            f"view {name!r} has {width:,} columns: centres are dense, so that {known} clusters would need "
            f"about {needed / 2**30:,.0f} GiB of memory, and there are {memory / 2**30:,.0f}. "
            "Drop the columns that never occur, or hash them to fewer (sklearn's FeatureHasher)."
        )


def memory_bytes() -> int:
    """Bytes of memory that this process may use: those of the machine, or of its cgroup."""
    try:
        found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return ASSUMED_MEMORY
    limit = Path("/sys/fs/cgroup/memory.max")
    try:
        return min(found, int(limit.read_text()))
    except (OSError, ValueError):  # not in a cgroup of the second version, or without a limit ("max")
        return found


def _refuse_weights(weights: Floats, refused: Mask, expected: str) -> None:
    for row in np.flatnonzero(refused)[:1].tolist():
        raise DataError(f"sample_weight, row {row}: {weights[row]:g}, expected {expected}.")


def _single(init: Any, n_clusters: int, n_rows: int | None, n_columns: int) -> Any:
    """Centres of a single 2-D array may be one array, as in scikit-learn."""
    if isinstance(init, list | tuple) and not all(map(_is_matrix, init)):
        init = _copied(init, "init")
    if getattr(init, "shape", None) != (n_clusters, n_columns):
        return init
    if n_columns == n_clusters == n_rows:
        raise SettingError(
            f"init is a {n_clusters} x {n_columns} array, which could be the centres of the clusters or the "
            "memberships of the first rows. Give centres as a list, [centres], and memberships as labels."
        )
    return [init]


def check_whole(value: Any, name: str) -> None:
    """Refuse True and False as numbers (in Python they equal 1 and 0)."""
    if isinstance(value, bool):
        raise SettingError(f"{name}={value!r}: a number was expected.")


def checked_init(
    init: Any,
    n_clusters: int | None,
    names: tuple[str, ...],
    single: tuple[int | None, int] | None = None,
    starts: tuple[str, ...] = ("random",),
) -> Any:
    """A name, an array (memberships or labels of the first rows), or a list with the centres of each view.

    `single`: rows of the first chunk and columns of a single 2-D array.
    """
    if isinstance(init, str):
        if init not in starts:
            raise SettingError(f"init={init!r}: one of {', '.join(map(repr, starts))} or an array.")
        return init
    if n_clusters is None:
        raise SettingError("init as arrays needs a number of clusters: give n_clusters, not 'auto'.")
    if single is not None:
        init = _single(init, n_clusters, *single)
    if isinstance(init, Mapping) or (isinstance(init, list | tuple) and all(map(_is_matrix, init))):
        each = for_each_view(init, names, "init")
        return [_centres(u, name, n_clusters) for u, name in zip(each or (), names, strict=True)]
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
    """A copy: the stream may need it after the caller has overwritten the array."""
    try:
        return np.array(values)
    except ValueError as problem:
        raise SettingError(f"{where} cannot be read as an array ({problem}).") from problem


def _centres(values: Any, name: str, n_clusters: int) -> Array:
    array = _copied(values, f"init, view {name!r}")
    if array.dtype.kind in "iufb" and array.ndim == 2 and len(array) == n_clusters:
        array = array.astype(np.float64)
        if np.isfinite(array).all():
            return array
    raise SettingError(f"init, view {name!r}: {n_clusters} finite centres (one per row) were expected.")


KNOWN_SCALES = ", ".join(map(repr, SCALE_NAMES))


def checked_scale(scale: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    """The name of the scale of each view."""
    if isinstance(scale, str):
        return (_checked_name(scale, "scale="),) * len(names)
    each = for_each_view(scale, names, "scale")
    if each is not None:
        pairs = zip(names, each, strict=True)
        return tuple(_checked_name(value, f"scale of view {name!r}: ") for name, value in pairs)
    raise SettingError(f"scale={scale!r}: one of {KNOWN_SCALES}, or a list or dict with one per view.")


def _checked_name(value: Any, where: str) -> str:
    if not isinstance(value, str) or value not in SCALE_NAMES:
        raise SettingError(f"{where}{value!r}: one of {KNOWN_SCALES} was expected.")
    return value


def checked_weights(given: Any, names: tuple[str, ...]) -> Weights | None:
    """Weights relative to the largest, or None if all views have the same weight."""
    if given is None:
        return None
    if isinstance(given, np.ndarray) and given.ndim == 1:
        given = given.tolist()
    if isinstance(given, Mapping) and set(map(str, given)) <= set(names):
        given = dict.fromkeys(names, 1.0) | {str(name): weight for name, weight in given.items()}
    each = for_each_view(given, names, "view_weights")
    if each is None:
        raise SettingError(f"view_weights={given!r}: None, or a list or dict with a number per view.")
    weights = [_checked_weight(value, name) for value, name in zip(each, names, strict=True)]
    largest = max(weights)
    if largest == 0:
        raise SettingError("view_weights are all 0: at least one must be positive.")
    for weight, name in zip(weights, names, strict=True):
        if 0 < weight < SMALLEST_WEIGHT * largest:
            raise SettingError(
                f"view_weights, view {name!r}: {weight:g} is less than a millionth of the largest. "
                "Use 0 to leave the view out."
            )
    return relative(weights)


def _checked_weight(value: Any, name: str) -> float:
    number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if not number or not math.isfinite(value) or value < 0:
        raise SettingError(f"view_weights, view {name!r}: {value!r}: a number of at least 0 was expected.")
    return float(value)


def for_each_view(given: Any, names: tuple[str, ...], setting: str) -> list[Any] | None:
    """The values of a list or dict in the order of the views; None if it is neither."""
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
