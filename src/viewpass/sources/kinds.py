"""Recognises what users give, without importing the libraries that it is from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from viewpass.errors import DataError

# What is no frame, series, AnnData or MuData, for sure: other checks take longer, and lists may hold many.
PLAIN_TYPES = (np.ndarray, list, tuple, dict, str, float, int, type(None))


def is_path(x: Any) -> bool:
    """Whether x is a path or an address."""
    return isinstance(x, str | PathLike)


def is_mudata(x: Any) -> bool:
    """Whether x is a MuData; does not look inside."""
    return _is(x, "mudata", "MuData")


def is_anndata(x: Any) -> bool:
    """Whether x is an AnnData; does not look inside."""
    return _is(x, "anndata", "AnnData")


def _is(x: Any, module: str, name: str) -> bool:
    return not isinstance(x, PLAIN_TYPES) and any(
        kind.__module__.partition(".")[0] == module and kind.__name__ == name for kind in type(x).__mro__
    )


def is_frame(x: Any) -> bool:
    """Whether x is a data frame of a kind that `vp.frames` accepts."""
    return not isinstance(x, PLAIN_TYPES) and nw.dependencies.is_into_dataframe(x)


def is_series(x: Any) -> bool:
    """Whether x is one column: a series of pandas or polars, or a PyArrow array."""
    return not isinstance(x, PLAIN_TYPES) and nw.dependencies.is_into_series(x)


def is_relation(x: Any) -> bool:
    """Whether x is a DuckDB relation; those of old versions export no Arrow stream."""
    return type(x).__module__.split(".")[0] in ("duckdb", "_duckdb") and hasattr(x, "project")


def holds_lists(series: Any) -> bool:
    """Whether the rows of a column are lists (or structs, as sparse rows are)."""
    column = series if isinstance(series, nw.Series) else nw.from_native(series, series_only=True)
    if column.dtype != nw.Object:
        return column.dtype in (nw.List, nw.Array, nw.Struct)
    values = (value for value in column.to_native() if not _is_null(value))
    return isinstance(next(values, None), list | tuple | np.ndarray | Mapping)


def _is_null(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ == "NAType"


def list_columns(frame: Any) -> list[str]:
    """The columns of a frame whose rows are lists; none if two columns have the same name."""
    try:
        table = nw.from_native(frame, eager_only=True)
    except ValueError:
        return []
    return [column.name for column in table.iter_columns() if holds_lists(column)]  # names may be numbers


def common_index(views: Sequence[Any], names: Sequence[str]) -> Any:
    """Return the index of the pandas frames and series among the views, None if there are none.

    Refuse indexes that differ: the rows of views in a list are matched by position.
    """
    indexes = [
        (name, x.index)
        for x, name in zip(views, names, strict=True)
        if hasattr(getattr(x, "index", None), "equals") and (is_frame(x) or is_series(x))
    ]
    for name, index in indexes[1:]:
        if not index.equals(indexes[0][1]):
            raise DataError(
                f"views {indexes[0][0]!r} and {name!r} are frames with different indexes. Match rows by "
                "index with vp.frames({name: frame, ...}), or by position with arrays (`.to_numpy()`)."
            )
    return indexes[0][1] if indexes else None


def column_names(x: Any) -> tuple[str, ...] | None:
    """Return the names of a frame's columns; None if x is no frame, or its columns are numbered."""
    if not is_frame(x):
        return None
    names = tuple(getattr(x, "column_names", None) or x.columns)  # `columns` of a PyArrow table are data
    return names if names and all(isinstance(name, str) for name in names) else None


def names_columns(views: Any) -> bool:
    """Return whether `views=` names columns; otherwise it is None, widths or a number of blocks."""
    if isinstance(views, list | tuple):
        return any(isinstance(given, str | tuple) for given in views)
    return isinstance(views, str | Mapping)
