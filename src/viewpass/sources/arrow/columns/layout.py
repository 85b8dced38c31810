"""Which columns of an Arrow schema make up which view, and in what form they hold it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from viewpass.errors import DataError, SettingError
from viewpass.kernels.grid import Array
from viewpass.views.checks import number_type
from viewpass.views.chunk import unique_names

Dtype = np.dtype[Any]


@dataclass(frozen=True)
class ViewColumns:
    """A view as the schema has it; its width is None where only the rows tell."""

    name: str
    form: str  # "lists", "numbers", "sparse"
    columns: tuple[str, ...]
    dtype: Dtype
    width: int | None


def find_views(schema: pa.Schema, views: Any, id: str | None) -> tuple[ViewColumns, ...]:
    """The views that `views=` names, or every list column where it is None."""
    for name in schema.names:
        if schema.names.count(name) > 1:
            raise DataError(f"two columns are named {name!r}: give each a name of its own.")
    if id is not None and id not in schema.names:
        raise DataError(f"there is no column {id!r} for id=; {_listed(schema.names)}.")
    if views is None:
        return _plain_views(schema, id)
    if isinstance(views, str):
        views = [views]
    if isinstance(views, Mapping):
        names = unique_names(views)
        return tuple(
            _view(schema, name, given, id) for name, given in zip(names, views.values(), strict=True)
        )
    if not isinstance(views, Sequence) or not views:
        raise SettingError(
            f"views={views!r}: expected columns, as in ['image', 'text'] or {{'image': 'image_emb'}}."
        )
    names = unique_names(given[0] if isinstance(given, tuple) and given else given for given in views)
    return tuple(_view(schema, name, given, id) for name, given in zip(names, views, strict=True))


def _plain_views(schema: pa.Schema, id: str | None) -> tuple[ViewColumns, ...]:
    found = [
        field.name
        for field in schema
        if field.name != id and (_is_list(field.type) or _sparse_fields(field.type) is not None)
    ]
    if not found:
        raise DataError(
            f"no column holds lists, so the views must be named: {_listed(schema.names)}. Name the columns "
            "of each view, as in views={'image': 'pix_*', 'text': ['t0', 't1']}."
        )
    return tuple(_view(schema, name, name, id) for name in found)


def _view(schema: pa.Schema, name: str, given: Any, id: str | None) -> ViewColumns:
    width = None
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], int):
        given, width = given
        if isinstance(width, bool) or width < 1:
            raise SettingError(f"views=, view {name!r}: {width!r} columns make no sense.")
    columns = _named([column for column in schema.names if column != id], name, given)
    first = schema.field(columns[0])
    storage = storage_type(first.type)
    sparse = _sparse_fields(storage)
    if len(columns) > 1 or not (_is_list(storage) or sparse):
        return _numbers(schema, name, columns, width)
    where = f"view {name!r}, column {columns[0]!r}"
    if sparse:
        return ViewColumns(name, "sparse", columns, _number(sparse[1], where), _width(first, width, where))
    size = storage.list_size if types.is_fixed_size_list(storage) else None
    if width is not None and size is not None and width != size:
        raise SettingError(f"{where} holds lists of {size} values, not of {width} as views= says.")
    return ViewColumns(name, "lists", columns, _number(storage.value_type, where), size or width)


def _numbers(schema: pa.Schema, name: str, columns: tuple[str, ...], width: int | None) -> ViewColumns:
    dtypes = [_number(schema.field(column).type, f"view {name!r}, column {column!r}") for column in columns]
    if width is not None and width != len(columns):
        raise SettingError(f"views=, view {name!r}: {len(columns)} columns, not {width}.")
    return ViewColumns(name, "numbers", columns, np.result_type(*dtypes), len(columns))


def _named(known: Sequence[str], name: str, given: Any) -> tuple[str, ...]:
    """The columns a user means: by name, by pattern, by range, or a list of those."""
    if isinstance(given, str):
        if given in known:
            return (given,)
        first, colon, last = given.partition(":")
        if colon and first in known and last in known:
            start, stop = known.index(first), known.index(last)
            if start > stop:
                raise SettingError(f"views=, view {name!r}: {first!r} stands after {last!r} in the table.")
            return tuple(known[start : stop + 1])
        found = tuple(column for column in known if "*" in given and fnmatchcase(column, given))
        if not found:
            raise DataError(f"view {name!r}: there is no column {given!r}; {_listed(known)}.")
        return found
    if not isinstance(given, Sequence) or not given:
        raise SettingError(
            f"views=, view {name!r}: {given!r} was given; expected a column, a pattern such as 'pix_*', a "
            "range such as 'f0:f63', a list of columns, or (column, width) for a sparse one."
        )
    columns = [column for part in given for column in _named(known, name, part)]
    for column in columns:
        if columns.count(column) > 1:
            raise SettingError(f"views=, view {name!r}: column {column!r} is named twice.")
    return tuple(columns)


def _width(field: pa.Field, given: int | None, where: str) -> int:
    """The number of columns of a sparse view, which its rows do not tell."""
    if given is not None:
        return given
    noted = (field.metadata or {}).get(b"width", b"")
    if noted.isdigit() and int(noted):
        return int(noted)
    raise DataError(
        f"{where} is sparse, and its rows do not tell how many columns there are. Give the number, as in "
        f"views={{'text': ({field.name!r}, 30000)}}, or as metadata {{'width': '30000'}} of the field."
    )


def storage_type(type: pa.DataType) -> pa.DataType:
    """What an extension type is stored as; other types are that themselves."""
    return storage_type(type.storage_type) if isinstance(type, pa.BaseExtensionType) else type


def _is_list(type: pa.DataType) -> bool:
    type = storage_type(type)
    return bool(
        types.is_list(type)
        or types.is_large_list(type)
        or types.is_fixed_size_list(type)
        or types.is_list_view(type)
        or types.is_large_list_view(type)
    )


def _sparse_fields(type: pa.DataType) -> tuple[pa.DataType, pa.DataType] | None:
    """Types of indices and values of a sparse column, if it is one."""
    if types.is_struct(type) and {field.name for field in type} == {"indices", "values"}:
        indices, values = type.field("indices").type, type.field("values").type
        if _is_list(indices) and _is_list(values) and types.is_integer(indices.value_type):
            return indices.value_type, values.value_type
    if _is_list(type) and types.is_struct(type.value_type):
        pair = type.value_type
        if {field.name for field in pair} == {"index", "value"} and types.is_integer(
            pair.field("index").type
        ):
            return pair.field("index").type, pair.field("value").type
    return None


def _number(type: pa.DataType, where: str) -> Dtype:
    """The float type in which numbers of an Arrow type are read."""
    if types.is_boolean(type):
        return np.dtype(np.float32)
    if not (types.is_integer(type) or types.is_floating(type)):
        raise DataError(f"{where} holds {type} values, numbers were expected.")
    return number_type(np.dtype(type.to_pandas_dtype()), where)


def _listed(columns: Sequence[str]) -> str:
    names = ", ".join(map(repr, columns[:12]))
    more = len(columns) - 12
    return f"the columns are {names}" + (f" and {more} more" if more > 0 else "")


def same_type(one: pa.DataType, other: pa.DataType) -> bool:
    """Whether rows of two types can be read as one; names and nullability of elements do not matter."""
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
    """Numbers of an Arrow array as NumPy sees them where they lie; nulls hold anything."""
    if types.is_boolean(values.type):
        found: Array = values.fill_null(False).to_numpy(zero_copy_only=False)
        return found
    dtype = np.dtype(values.type.to_pandas_dtype())
    buffer = values.buffers()[1]
    if buffer is None:
        return np.zeros(len(values), dtype=dtype)
    return np.frombuffer(buffer, dtype=dtype, count=len(values), offset=values.offset * dtype.itemsize)
