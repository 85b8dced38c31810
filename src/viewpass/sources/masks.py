"""`observed=` in the forms users give it: matched with the views by name and with the rows by index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from viewpass.errors import DataError
from viewpass.sources.kinds import is_frame
from viewpass.views.chunk import format_id


def as_mask(observed: Any, names: Sequence[str], index: Any = None) -> Any:
    """Return `observed` as an array whose columns are in the order of the views.

    A dict or frame says by name which column belongs to which view, and a pandas frame by its index
    which row; columns 0, 1, ... and rows 0, 1, ... are places. `index` is that of the views, if they
    are frames. Other forms are returned unchanged: their shape and values are checked later.
    """
    if scipy.sparse.issparse(observed):
        return observed.toarray()
    if isinstance(observed, Mapping):
        return _stacked(observed, names, index)
    if not is_frame(observed):
        return observed
    columns = list(observed.columns)
    unnamed = columns == list(range(len(columns)))  # a frame made of an array
    places = list(range(len(columns))) if unnamed else _places(columns, names)
    if hasattr(observed, "index"):
        observed = _matched_rows(observed, index)
    return np.asarray(observed)[:, places]


def _stacked(observed: Mapping[Any, Any], names: Sequence[str], index: Any) -> Any:
    columns = list(observed.values())
    for place, column in enumerate(columns):
        if hasattr(column, "index") and hasattr(column, "to_numpy"):
            columns[place] = _matched_rows(column, index)
    flat = [np.asarray(column) for column in columns]
    if len({column.shape for column in flat}) > 1 or any(column.ndim != 1 for column in flat):
        shapes = ", ".join(f"{name!r}: {column.shape}" for name, column in zip(observed, flat, strict=True))
        raise DataError(f"observed holds arrays of shapes {shapes}: one value per row was expected.")
    return np.column_stack([flat[place] for place in _places(list(observed), names)])


def _places(columns: Sequence[Any], names: Sequence[str]) -> list[int]:
    """Where the column of each view is."""
    place = {str(column): number for number, column in enumerate(columns)}
    if len(place) < len(columns) or set(place) != set(names):
        raise DataError(
            f"observed is given for {', '.join(map(repr, map(str, columns))) or 'no view'}; the views are "
            f"{', '.join(map(repr, names))}. Name its columns after the views, or give an array "
            "(rows x views, in their order)."
        )
    return [place[name] for name in names]


def _matched_rows(observed: Any, index: Any) -> Any:
    """The rows of a pandas frame or series in the order of the views' rows."""
    own = observed.index
    if index is None:
        if own.dtype.kind in "iu" and np.array_equal(own, np.arange(len(own))):
            return observed
        raise DataError(
            "observed has an index, but the views are arrays, which have none to match it with. Give the "
            "views as frames with the same index, or observed as an array (`.to_numpy()`) to go by position."
        )
    if own.equals(index):
        return observed
    if own.is_unique and index.is_unique and len(own) == len(index) and own.isin(index).all():
        return observed.loc[index]
    unknown = own[~own.isin(index)]
    which = (
        f"{format_id(unknown[0])} is no row of them" if len(unknown) else f"{len(own)} rows for {len(index)}"
    )
    raise DataError(
        f"the index of observed does not fit that of the views: {which}. Give it the same index, or an array "
        "(`.to_numpy()`) to go by position."
    )
