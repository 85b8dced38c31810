"""Checks the parameters of OPIMC and IMC and turns them into the plan that the core takes."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from viewpass.core.consensus.soft_assignment import MAX_ROWS
from viewpass.core.initialise import ASSUMED_CLUSTERS
from viewpass.core.plan import Plan, Rules
from viewpass.core.start.alpha import FIRST_ALPHA
from viewpass.core.state.view_weights import SMALLEST_WEIGHT, Weights, relative
from viewpass.errors import DataError, SettingError
from viewpass.kernels.grid import WEIGHT_UNIT, Array, Floats, Integers, Mask
from viewpass.sources.source import Source
from viewpass.views.scaling import NAMES

WARMUP_ROWS = 4000
WARMUP_ROWS_PER_CLUSTER = 50
# Of very many clusters: the rows of a warm-up are in memory, and a start works with fewer per cluster.
MAX_WARMUP_ROWS, LEAST_ROWS_PER_CLUSTER = 250_000, 20
# Numbers per column of a sparse view that a fit holds, as measured for 3 to 50 clusters: statistics of
# the columns, and the sums and centres of the starts that compete.
NUMBERS_PER_COLUMN, NUMBERS_PER_CENTRE = 100, 30
AUTO_ADAPTIVE = True  # what adaptive_anchors="auto" means where there can be anchors
ASSUMED_MEMORY = 2**34  # where the system does not say


def plan_of(settings: Any, names: tuple[str, ...], single: tuple[int | None, int] | None = None) -> Plan:
    """The plan of a stream over views of these names; refuses settings that conflict.

    `single`: rows and columns of a single 2-D array, whose centres may be given as one array.
    """
    n_clusters = None if settings.n_clusters == "auto" else int(settings.n_clusters)
    init = checked_init(settings.init, n_clusters, names, single)
    scale = checked_scale(settings.scale, names)
    if isinstance(init, list):  # so that models from the same centres can be merged
        scale = tuple("unit" if name == "auto" else name for name in scale)
    check_whole(settings.reservoir, "reservoir")
    alpha, auto_alpha = checked_alpha(settings.alpha, init)
    _check_start(settings, init)
    return Plan(
        n_clusters,
        Rules(alpha, settings.max_iter, settings.tol, settings.fill),
        init,
        _warmup_rows(settings.warmup, init, n_clusters),
        scale=scale,
        n_anchors=None if settings.n_anchors in ("auto", None) else int(settings.n_anchors),
        consensus=checked_consensus(settings, init),
        weights=checked_weights(settings.view_weights, names),
        reservoir=int(settings.reservoir),
        adaptive=checked_adaptive(settings, init),
        spares=settings.adaptive_anchors not in ("auto", False),
        n_init=int(settings.n_init),
        missing_entries=checked_gaps(settings),
        auto_alpha=auto_alpha,
        projection=checked_projection(settings, init),
    )


def checked_alpha(alpha: Any, init: Any) -> tuple[float, bool]:
    """The ridge to begin with, and whether it is to be estimated: not with a start from the first chunk."""
    if isinstance(alpha, str):
        return FIRST_ALPHA, _from_warmup(init)
    return float(alpha), False


def checked_projection(settings: Any, init: Any) -> int | str | None:
    """The columns that dense views are mapped to: a number, "auto" or None."""
    given = getattr(settings, "projection", None)
    entrywise = settings.missing_entries == "entrywise"
    if given is None or not _from_warmup(init):
        return None
    if given == "auto":
        return None if entrywise else "auto"
    check_whole(given, "projection")
    if entrywise:
        raise SettingError(
            f"projection={given} and missing_entries='entrywise' cannot be used together: a map needs all "
            "values of a row. Leave one of them out, or fill the values ('local')."
        )
    return int(given)


def row_copies(sample_weight: Any, source: Source, unit: int | None) -> tuple[Integers | None, int]:
    """How often each row counts, in units of 1 / unit, and the unit: 1 or WEIGHT_UNIT.

    `unit`: that of a model that has begun; None: it follows from these weights.
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
    """Refuse sparse views of so many columns that their centres need more than half of the memory.

    Centres are dense, however few numbers are stored, so that a wide matrix would take all memory.
    """
    known = ASSUMED_CLUSTERS if n_clusters == "auto" else int(n_clusters)
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


def _check_start(settings: Any, init: Any) -> None:
    """Refuse settings that a start from the first chunk would ignore."""
    if _from_warmup(init):
        return
    ignored = {
        "warmup": settings.warmup not in ("auto", 0),
        "n_anchors": settings.n_anchors not in ("auto", None),
        "consensus": settings.consensus != "auto",
        "adaptive_anchors": settings.adaptive_anchors not in ("auto", False),
        "projection": getattr(settings, "projection", None) not in ("auto", None),
        "n_clusters": settings.n_clusters == "auto",
        "n_init": settings.n_init != 1 and not isinstance(init, str),
    }
    for name, conflict in ignored.items():
        if conflict:
            what = f"init={init!r}" if isinstance(init, str) else "init as arrays"
            raise SettingError(
                f"{name}={getattr(settings, name)!r} would have no effect: {what} makes a given number of "
                "clusters from the first chunk, without anchors. Leave one of the two out."
            )


def _from_warmup(init: Any) -> bool:
    return isinstance(init, str) and init != "random"


def _warmup_rows(warmup: int | str, init: Any, n_clusters: int | None) -> int:
    if not _from_warmup(init):
        return 0
    return warmup_rows(n_clusters) if warmup == "auto" else int(warmup)


def warmup_rows(n_clusters: int | None) -> int:
    """Default number of warm-up rows."""
    n_clusters = n_clusters or 0
    most = max(MAX_WARMUP_ROWS, LEAST_ROWS_PER_CLUSTER * n_clusters)
    return max(WARMUP_ROWS, min(WARMUP_ROWS_PER_CLUSTER * n_clusters, most))


def check_whole(value: Any, name: str) -> None:
    """Refuse True and False as numbers (in Python they equal 1 and 0)."""
    if isinstance(value, bool):
        raise SettingError(f"{name}={value!r}: a number was expected.")


STARTS = ("auto", "k-means++", "random")


def checked_consensus(settings: Any, init: Any) -> str:
    """How clusters are formed ("plain", "merge", "graph" or "auto"); refuses settings that conflict."""
    n_clusters, n_anchors, consensus = settings.n_clusters, settings.n_anchors, settings.consensus
    if n_anchors is None:
        if consensus != "auto":
            raise SettingError(f"consensus={consensus!r} needs anchors, which n_anchors=None rules out.")
        return "plain"
    if "auto" not in (n_anchors, n_clusters) and n_anchors < n_clusters:
        raise SettingError(
            f"n_anchors={n_anchors} cannot form n_clusters={n_clusters} clusters: give more anchors "
            "(about 20 per cluster), or 'auto'."
        )
    return str(consensus) if _from_warmup(init) else "plain"


def checked_adaptive(settings: Any, init: Any) -> bool:
    """Whether anchors are born and merge; refuses settings that conflict."""
    if settings.adaptive_anchors == "auto":
        possible = settings.n_anchors is not None and not settings.reservoir and _from_warmup(init)
        possible = possible and settings.missing_entries != "entrywise"
        return AUTO_ADAPTIVE and possible
    if not settings.adaptive_anchors:
        return False
    if settings.reservoir:
        raise SettingError(
            "adaptive_anchors=True and reservoir cannot be used together: rows of the reservoir are not "
            "assigned to anchors that are born later. Leave one of them out."
        )
    return True


def checked_gaps(settings: Any) -> str:
    """How values missing inside views are treated; refuses settings that conflict."""
    chosen = str(settings.missing_entries)
    adaptive = settings.adaptive_anchors not in ("auto", False)
    if chosen == "entrywise" and (settings.reservoir or adaptive):
        other = "adaptive_anchors=True" if adaptive else "reservoir"
        raise SettingError(
            f"missing_entries='entrywise' and {other} cannot be used together: they compare rows with one "
            "another, which need not have any value in common. Choose missing_entries='local'."
        )
    return chosen


def checked_init(
    init: Any,
    n_clusters: int | None,
    names: tuple[str, ...],
    single: tuple[int | None, int] | None = None,
) -> Any:
    """A name, an array (memberships or labels of the first rows), or a list with the centres of each view.

    `single`: rows of the first chunk and columns of a single 2-D array.
    """
    if isinstance(init, str):
        if init not in STARTS:
            raise SettingError(f"init={init!r}: one of {', '.join(map(repr, STARTS))} or an array.")
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


SCALES = ", ".join(map(repr, NAMES))


def checked_scale(scale: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    """The name of the scale of each view."""
    if isinstance(scale, str):
        return (_checked_name(scale, "scale="),) * len(names)
    each = for_each_view(scale, names, "scale")
    if each is not None:
        pairs = zip(names, each, strict=True)
        return tuple(_checked_name(value, f"scale of view {name!r}: ") for name, value in pairs)
    raise SettingError(f"scale={scale!r}: one of {SCALES}, or a list or dict with one per view.")


def _checked_name(value: Any, where: str) -> str:
    if not isinstance(value, str) or value not in NAMES:
        raise SettingError(f"{where}{value!r}: one of {SCALES} was expected.")
    return value


def checked_weights(given: Any, names: tuple[str, ...]) -> Weights | str | None:
    """Weights relative to the largest, "auto", or None if all views have the same weight."""
    if given is None or (isinstance(given, str) and given == "auto"):
        return given
    if isinstance(given, np.ndarray) and given.ndim == 1:
        given = given.tolist()
    each = for_each_view(given, names, "view_weights")
    if each is None:
        raise SettingError(f"view_weights={given!r}: None, 'auto', or a list or dict with a number per view.")
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
