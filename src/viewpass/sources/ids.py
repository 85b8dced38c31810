"""Ids of data frames: reading them, and matching the rows of several frames by id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from viewpass.errors import DataError, warn
from viewpass.kernels.grid import Array, Integers
from viewpass.views.chunk import format_id

FEWEST_IDS = 3  # ids of fewer rows than this may be apart by chance
LEAST_SHARED = 0.05  # of the ids that two views could share; with less, their rows hardly match
MOST_NAMED = 6  # views, columns or levels in a message: what fits in two lines

_KINDS = {"i": "numbers", "u": "numbers", "f": "numbers", "M": "times", "m": "durations", "U": "text"}


def read_ids(frame: Any, name: str, id: Any) -> Array:
    """Read the column `id` of a narwhals frame, or the index of a pandas frame; refuse nulls."""
    if id is None:
        index = nw.maybe_get_index(frame)
        if index is None:
            raise DataError(
                f"view {name!r}: a {frame.implementation.name.lower()} frame has no index to match rows by; "
                "name the id column with id=."
            )
        levels = [index.get_level_values(level) for level in range(index.nlevels)]
        absent = np.any([level.isna() for level in levels], axis=0)
        ids = np.asarray(index)
    else:
        columns = list(frame.columns)
        if id not in columns:
            raise DataError(f"view {name!r} has no column {id!r} to match rows by.")
        column = frame[:, columns.index(id)]
        absent = np.asarray(column.is_null().to_numpy(), dtype=bool)
        ids = column.to_numpy()
    if ids.dtype.kind == "f":  # polars does not count NaN as null
        absent = absent | np.isnan(ids)
    if absent.any():
        row = int(np.flatnonzero(absent)[0])
        raise DataError(f"view {name!r}, row {row}: the id is null. Every row needs one; drop those without.")
    return ids


def match_ids(ids: Mapping[str, Array]) -> tuple[Array, dict[str, Integers]]:
    """Return all ids in first-seen order, and the row of each id in every view (-1 if absent)."""
    _check_one_kind(ids)
    dtype = _common_type([values.dtype for values in ids.values() if len(values)])
    if dtype.kind in "Mm":  # frames may have different time units
        ids = {name: values.astype(dtype) for name, values in ids.items()}
    keys = {name: _keys(values, name) for name, values in ids.items()}
    order = {key: place for place, key in enumerate(dict.fromkeys(chain.from_iterable(keys.values())))}
    union = np.empty(len(order), dtype=dtype)
    rows = {}
    for name, values in ids.items():
        places = np.fromiter((order[key] for key in keys[name]), dtype=np.int64, count=len(values))
        union[places] = values
        rows[name] = np.full(len(order), -1)
        rows[name][places] = np.arange(len(values))
    return union, rows


def warn_apart(ids: Mapping[str, Array], rows: Mapping[str, Integers]) -> None:
    """Warn of views whose ids hardly occur in any other: written otherwise, numbered anew, or no ids."""
    held = {name: places >= 0 for name, places in rows.items()}
    n_views = np.sum(list(held.values()), axis=0)
    apart = []
    for name, own in held.items():
        others = n_views > own
        n_shared, n_possible = int((own & others).sum()), int(min(own.sum(), others.sum()))
        if n_possible >= FEWEST_IDS and n_shared < LEAST_SHARED * n_possible:
            apart.append(f"{n_shared} of the {len(ids[name])} ids of view {name!r}")
    if apart:
        examples = (
            f"{', '.join(map(format_id, values[:3]))} in view {name!r}" for name, values in ids.items()
        )
        warn(
            f"only {' and '.join(apart[:MOST_NAMED])} occur in another view: nearly all of these rows would "
            f"have one view only. The ids begin with {'; '.join(list(examples)[:MOST_NAMED])}. Write them "
            "alike in all views; a frame with items as columns must be transposed (`.T`)."
        )


def _keys(ids: Array, name: str) -> list[Any]:
    keys: list[Any] = (ids.view(np.int64) if ids.dtype.kind in "Mm" else ids).tolist()
    for row, key in enumerate(keys):
        try:
            hash(key)
        except TypeError:
            raise DataError(
                f"view {name!r}, row {row}: a {type(key).__name__} cannot be an id. "
                "Match rows by numbers, text or times."
            ) from None
    remedy = "An item may have one row per view; remove or aggregate the others."
    refuse_repeated(keys, ids, f"view {name!r}: id", remedy)
    return keys


def refuse_repeated(keys: Sequence[Any], ids: Array, what: str, remedy: str) -> None:
    """Refuse ids of which two are the same, by their keys."""
    if len(set(keys)) == len(keys):
        return
    seen: dict[Any, int] = {}
    for row, key in enumerate(keys):
        if (first := seen.setdefault(key, row)) != row:
            raise DataError(f"{what} {format_id(ids[row])} appears in rows {first} and {row}. {remedy}")


def as_texts(names: Any) -> Array:
    """Names as an array of text."""
    given = np.asarray(names).tolist()
    texts = np.empty(len(given), dtype=object)
    texts[:] = list(map(str, given))
    return texts


def _check_one_kind(ids: Mapping[str, Array]) -> None:
    """Refuse kinds of ids that never match, such as 7 and '7': a mistake rather than missing views."""
    kinds = {_kind(values): name for name, values in ids.items() if len(values)}
    plain = {"numbers", "text"} if "objects" in kinds else set()
    if len(kinds.keys() - plain) > 1 or len(kinds.keys() & plain) > 1:
        (kind, name), (other, another) = list(kinds.items())[:2]
        raise DataError(
            f"the ids of view {name!r} are {kind}, those of view {another!r} {other}: "
            "none of them could match. Make them the same type; a frame with items as columns must be "
            "transposed (`.T`)."
        )


def _kind(ids: Array) -> str:
    if ids.dtype.kind == "O" and all(isinstance(value, str) for value in ids):
        return "text"
    return _KINDS.get(ids.dtype.kind, "objects")


def _common_type(dtypes: list[np.dtype[Any]]) -> np.dtype[Any]:
    """Return a type that holds all ids exactly: object if no common number type does."""
    kinds = {dtype.kind for dtype in dtypes}
    if dtypes and (len(kinds) == 1 or kinds == {"i", "u"}):
        common = np.result_type(*dtypes)
        if common.kind in kinds:
            return common
    return np.dtype(object)
