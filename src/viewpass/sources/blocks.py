"""Which columns of a table or 2-D array make up each view: by name, or cut into blocks by width."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import accumulate
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse

from viewpass.errors import DataError, SettingError
from viewpass.views.checks import check_columns
from viewpass.views.chunk import unique_names


def named_views(views: Any) -> dict[str, Any]:
    """Return what `views=` gives for each view; a list names each view by its column.

    >>> named_views(["image", ("tokens", 30000)])
    {'image': 'image', 'tokens': ('tokens', 30000)}
    """
    if isinstance(views, str):
        views = [views]
    if not isinstance(views, Mapping | Sequence) or not len(views):
        raise SettingError(
            f"views={views!r}: expected columns, as in ['image', 'text'] or {{'image': 'image_emb'}}."
        )
    if isinstance(views, Mapping):
        return dict(zip(unique_names(views), views.values(), strict=True))
    names = unique_names(given[0] if isinstance(given, tuple) and given else given for given in views)
    return dict(zip(names, views, strict=True))


def columns_of(known: Sequence[Any], name: str, given: Any) -> tuple[str, ...]:
    """Resolve the columns of a view given by name, by pattern, by range, or as a list of those.

    >>> columns_of(["id", "p0", "p1", "q"], "image", ["p*", "q"])
    ('p0', 'p1', 'q')
    """
    if isinstance(given, str):
        if given in known:
            return (given,)
        first, colon, last = given.partition(":")
        if colon and first in known and last in known:
            start, stop = known.index(first), known.index(last)
            if start > stop:
                raise SettingError(f"views=, view {name!r}: {first!r} comes after {last!r} in the table.")
            return tuple(known[start : stop + 1])
        texts = (column for column in known if isinstance(column, str))
        found = tuple(column for column in texts if "*" in given and fnmatchcase(column, given))
        if not found:
            raise DataError(f"view {name!r}: there is no column {given!r}; {listed(known)}.")
        return found
    if not isinstance(given, Sequence) or not given:
        raise SettingError(
            f"views=, view {name!r}: {given!r} was given; expected a column, a pattern such as 'pix_*', a "
            "range such as 'f0:f63', a list of columns, or (column, width) for a sparse one."
        )
    columns = [column for part in given for column in columns_of(known, name, part)]
    for column, times in Counter(columns).items():
        if times > 1:
            raise SettingError(f"views=, view {name!r}: column {column!r} is named twice.")
    return tuple(columns)


def listed(columns: Sequence[Any]) -> str:
    """Name the columns of a table for an error message."""
    names = ", ".join(map(repr, columns[:12]))
    more = len(columns) - 12
    return f"the columns are {names}" + (f" and {more} more" if more > 0 else "")


def block_widths(views: Any, n_columns: int) -> list[int]:
    """Convert `views=` to widths: from None (one view), a number of near-equal blocks, or widths.

    >>> block_widths([2, -1], 5)
    [2, 3]
    >>> block_widths(2, 5)
    [3, 2]
    """
    if views is None:
        return [n_columns]
    if isinstance(views, Integral) and not isinstance(views, bool):
        n_views = int(views)
        if n_views < 1:
            raise SettingError(f"views={views!r}: at least one block of columns is needed.")
        part, rest = divmod(n_columns, n_views)
        return [part + (v < rest) for v in range(n_views)]
    if isinstance(views, np.ndarray) and views.ndim == 1:
        views = views.tolist()
    if (
        not isinstance(views, Sequence)
        or isinstance(views, str | bytes)
        or not all(isinstance(width, int | np.integer) and not isinstance(width, bool) for width in views)
        or not len(views)
        or min(views) < -1
        or list(views).count(-1) > 1
    ):
        raise SettingError(
            f"views={views!r}: expected the width of each block (one of them may be -1 for the rest), "
            "the number of near-equal blocks, or the columns of each view by name."
        )
    widths = [int(width) for width in views]
    if -1 in widths:
        widths[widths.index(-1)] = n_columns - sum(width for width in widths if width >= 0)
    if min(widths) < 0 or sum(widths) != n_columns:
        raise DataError(
            f"views={list(views)!r} do not add up to the {n_columns} columns of X. "
            "Give one of the widths as -1 to let it take the rest."
        )
    return widths


def cut(X: Any, views: Any) -> list[Any]:
    """Cut the columns of a 2-D array or CSR matrix into views; an empty block is an absent view."""
    widths = block_widths(views, X.shape[1])
    stops = accumulate(widths)
    places = (slice(stop - width, stop) for width, stop in zip(widths, stops, strict=True))
    return _taken(X, [place if place.stop > place.start else None for place in places])


def pick(X: Any, columns: Sequence[Any], views: Any) -> dict[str, Any]:
    """Take the columns that `views=` names from a 2-D array or CSR matrix whose columns have these names."""
    given = named_views(views)
    place = {column: number for number, column in enumerate(columns)}
    chosen = (columns_of(columns, name, part) for name, part in given.items())
    taken = _taken(X, [[place[column] for column in own] for own in chosen])
    return dict(zip(given, taken, strict=True))


def _taken(X: Any, places: Sequence[Any]) -> list[Any]:
    if scipy.sparse.issparse(X):
        check_columns(X, "X")  # slicing would drop entries outside
    return [None if place is None else X[:, place] for place in places]
