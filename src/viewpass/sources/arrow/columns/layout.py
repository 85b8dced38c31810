"""Finding the columns of an Arrow schema that make up each view, and the form of their values."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from viewpass.errors import DataError, SettingError
from viewpass.kernels.grid import Array
from viewpass.sources.blocks import columns_of, listed, named_views
from viewpass.views.checks import number_type

Dtype = np.dtype[Any]
MOST_DIGITS = 18  # of the width of a sparse view: its column numbers are int64
LISTS = (pa.ListType, pa.LargeListType, pa.FixedSizeListType, pa.ListViewType, pa.LargeListViewType)


@dataclass(frozen=True)
class ViewColumns:
    """The columns of one view; its width is None if it is known only from the rows."""

    name: str
    form: str  # "lists", "numbers", "sparse"
    columns: tuple[str, ...]
    dtype: Dtype
    width: int | None


def find_views(schema: pa.Schema, views: Any, id: str | None) -> tuple[ViewColumns, ...]:
    """Find the views that `views=` names, or every list column if it is None."""
    for name, times in Counter(schema.names).items():
        if times > 1:
            raise DataError(f"two columns are named {name!r}: give each a name of its own.")
    if id is not None and id not in schema.names:
        raise DataError(f"there is no column {id!r} for id=; {listed(schema.names)}.")
    if views is None:
        views = [field.name for field in schema if field.name != id and _holds_rows(field.type)]
        if not views:
            raise DataError(
                f"no column holds lists, so the views must be named: {listed(schema.names)}. Name the "
                "columns of each view, as in views={'image': 'pix_*', 'text': ['t0', 't1']}."
            )
    given = named_views(views)
    return tuple(_view(schema, name, columns, id) for name, columns in given.items())


def _view(schema: pa.Schema, name: str, given: Any, id: str | None) -> ViewColumns:
    width = None
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], int):
        given, width = given
        if isinstance(width, bool) or width < 1:
            raise SettingError(f"views=, view {name!r}: width {width!r}; expected a positive number.")
    columns = columns_of([column for column in schema.names if column != id], name, given)
    first = schema.field(columns[0])
    storage = storage_type(first.type)
    sparse = _sparse_values(storage)
    if len(columns) > 1 or not (_is_list(storage) or sparse is not None):
        return _numbers(schema, name, columns, width)
    where = f"view {name!r}, column {columns[0]!r}"
    if sparse is not None:
        return ViewColumns(name, "sparse", columns, _number(sparse, where), _width(first, width, where))
    size = storage.list_size if types.is_fixed_size_list(storage) else None
    if width is not None and size is not None and width != size:
        raise SettingError(f"{where} holds lists of {size} values, not of {width} as views= says.")
    return ViewColumns(name, "lists", columns, _number(storage.value_type, where), size or width)


def _numbers(schema: pa.Schema, name: str, columns: tuple[str, ...], width: int | None) -> ViewColumns:
    dtypes = [_number(schema.field(column).type, f"view {name!r}, column {column!r}") for column in columns]
    if width is not None and width != len(columns):
        raise SettingError(f"views=, view {name!r}: {len(columns)} columns, not {width}.")
    return ViewColumns(name, "numbers", columns, np.result_type(*dtypes), len(columns))


def _width(field: pa.Field, given: int | None, where: str) -> int:
    """Return the width of a sparse view, which its rows do not determine."""
    noted = (field.metadata or {}).get(b"width", b"")
    if given is None and noted.isdigit() and len(noted) < MOST_DIGITS:
        given = int(noted)
    if given is not None and given >= 10**MOST_DIGITS:
        raise SettingError(f"{where}: a view cannot have {given:.0e} columns.")
    if given:
        return given
    raise DataError(
        f"{where} is sparse, and its rows do not determine the number of columns. Give it, as in "
        f"views={{'text': ({field.name!r}, 30000)}}, or as metadata {{'width': '30000'}} of the field."
    )


def storage_type(type: pa.DataType) -> pa.DataType:
    """Return the storage type of an extension type; other types are returned themselves."""
    return storage_type(type.storage_type) if isinstance(type, pa.BaseExtensionType) else type


def _is_list(type: pa.DataType) -> bool:
    return isinstance(storage_type(type), LISTS)


def _holds_rows(type: pa.DataType) -> bool:
    return _is_list(type) or _sparse_values(type) is not None


def _sparse_values(type: pa.DataType) -> pa.DataType | None:
    """Return the type of the values of a sparse column; None if it is not one."""
    if types.is_struct(type) and {field.name for field in type} == {"indices", "values"}:
        indices, values = type.field("indices").type, type.field("values").type
        if _is_list(indices) and _is_list(values) and types.is_integer(indices.value_type):
            return values.value_type
    if _is_list(type) and types.is_struct(type.value_type):
        pair = type.value_type
        names = {field.name for field in pair}
        if names == {"index", "value"} and types.is_integer(pair.field("index").type):
            return pair.field("value").type
    return None


def _number(type: pa.DataType, where: str) -> Dtype:
    """Return the float type that numbers of an Arrow type are read as."""
    if types.is_boolean(type):
        return np.dtype(np.float32)
    if not (types.is_integer(type) or types.is_floating(type)):
        alone = "A column of lists is a view of its own: name each one by itself. " if _is_list(type) else ""
        raise DataError(
            f"{where} holds {type} values, numbers were expected. {alone}"
            "Name the columns of each view with views= to leave others out."
        )
    return number_type(np.dtype(type.to_pandas_dtype()), where)


def same_type(one: pa.DataType, other: pa.DataType) -> bool:
    """Return whether two types can be read alike; names and nullability of elements do not matter."""
    one, other = storage_type(one), storage_type(other)
    if _is_list(one) and _is_list(other):
        sizes = [type.list_size if types.is_fixed_size_list(type) else None for type in (one, other)]
        return sizes[0] == sizes[1] and same_type(one.value_type, other.value_type)
    if types.is_struct(one) and types.is_struct(other):
        return {f.name for f in one} == {f.name for f in other} and all(
            same_type(f.type, other.field(f.name).type) for f in one
        )
    return bool(one.equals(other))


def flat(values: pa.Array) -> Array:
    """Return the numbers of an Arrow array without copying; the values at nulls are undefined."""
    if types.is_boolean(values.type):
        found: Array = values.fill_null(False).to_numpy(zero_copy_only=False)
        return found
    dtype = np.dtype(values.type.to_pandas_dtype())
    buffer = values.buffers()[1]
    if buffer is None:
        return np.zeros(len(values), dtype=dtype)
    return np.frombuffer(buffer, dtype=dtype, count=len(values), offset=values.offset * dtype.itemsize)
