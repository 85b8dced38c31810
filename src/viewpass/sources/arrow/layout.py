"""Finding the columns of an Arrow schema that make up each view, and the form of their values."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from viewpass.errors import DataError, SettingError
from viewpass.kernels.grid import Array
from viewpass.sources.blocks import columns_of, listed, named_views
from viewpass.sources.quantised import KINDS, Quantised, check_names, quantised
from viewpass.views.checks import number_type

Dtype = np.dtype[Any]
MOST_DIGITS = 18  # of the width of a sparse view: its column numbers are int64
HELD_AS = {"float16": ("halffloat", "uint16"), "bfloat16": ("uint16",), "int8": ("int8",)}  # in lists
LISTS = (pa.ListType, pa.LargeListType, pa.FixedSizeListType, pa.ListViewType, pa.LargeListViewType)


@dataclass(frozen=True)
class ViewColumns:
    """The columns of one view; its width is None if it is known only from the rows."""

    name: str
    form: str  # "lists", "numbers", "sparse"
    columns: tuple[str, ...]
    dtype: Dtype
    width: int | None
    quantised: Quantised | None = None  # how its numbers are stored in fewer bits


def find_views(
    schema: pa.Schema, views: Any, id: str | None, stored: Mapping[str, Quantised]
) -> tuple[ViewColumns, ...]:
    """Find the views that `views=` names, or every list column if it is None."""
    for name, times in Counter(schema.names).items():
        if times > 1:
            raise DataError(f"two columns are named {name!r}: give each a name of its own.")
    if id is not None and id not in schema.names:
        raise DataError(f"there is no column {id!r} for id=; {listed(schema.names)}.")
    if views is None:
        views = [field.name for field in schema if field.name != id and _holds_rows(field, stored)]
        if not views:
            raise DataError(
                f"no column holds lists, so the views must be named: {listed(schema.names)}. Name the "
                "columns of each view, as in views={'image': 'pix_*', 'text': ['t0', 't1']}."
            )
    given = named_views(views)
    check_names(stored, given)
    return tuple(_view(schema, name, columns, id, stored.get(name)) for name, columns in given.items())


def _view(schema: pa.Schema, name: str, given: Any, id: str | None, stored: Quantised | None) -> ViewColumns:
    width = None
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], int):
        given, width = given
        if isinstance(width, bool) or width < 1:
            raise SettingError(f"views=, view {name!r}: width {width!r}; expected a positive number.")
    columns = columns_of([column for column in schema.names if column != id], name, given)
    first = schema.field(columns[0])
    storage = storage_type(first.type)
    sparse = _sparse_values(storage)
    stored = _stored(first, name, stored)
    if stored is not None and len(columns) == 1 and sparse is None:
        return _quantised(first, name, width, stored)
    if stored is not None:
        raise SettingError(f"quantised= is for one column of lists or bytes, which view {name!r} is not.")
    if len(columns) > 1 or not (_is_list(storage) or sparse is not None):
        return _numbers(schema, name, columns, width)
    where = f"view {name!r}, column {columns[0]!r}"
    if sparse is not None:
        return ViewColumns(name, "sparse", columns, _number(sparse, where), _width(first, width, where))
    size = storage.list_size if types.is_fixed_size_list(storage) else None
    if width is not None and size is not None and width != size:
        raise SettingError(f"{where} holds lists of {size} values, not of {width} as views= says.")
    return ViewColumns(name, "lists", columns, _number(storage.value_type, where), size or width)


def _stored(field: pa.Field, name: str, given: Quantised | None) -> Quantised | None:
    """How the numbers of a column are stored, as `quantised=` or the metadata of the field say."""
    noted = (field.metadata or {}).get(b"quantised")
    if noted is None:
        return given
    text = noted.decode("utf-8", "replace")
    try:
        said = quantised(text if text in KINDS else json.loads(text), name)
    except (ValueError, RecursionError):
        raise DataError(
            f"view {name!r}: its metadata 'quantised' is {text[:40]!r}; expected one of {', '.join(KINDS)}, "
            "or the scale of int8 as JSON."
        ) from None
    if given is not None and not given.same(said):
        raise SettingError(
            f"quantised=, view {name!r}: the metadata of the column says another type or scale ({text[:40]})."
        )
    return said


def _quantised(field: pa.Field, name: str, width: int | None, stored: Quantised) -> ViewColumns:
    """A view of few bits: lists of numbers, or bytes."""
    type = storage_type(field.type)
    if types.is_fixed_size_binary(type):
        found, rest = divmod(type.byte_width, stored.dtype.itemsize)
    elif _is_list(type) and str(type.value_type) in HELD_AS[stored.kind]:
        found, rest = (type.list_size if types.is_fixed_size_list(type) else width), 0
    else:
        rest = 1
    if rest or (width is not None and found != width):
        raise SettingError(
            f"quantised=, view {name!r}: column {field.name!r} of {type} does not hold rows of "
            f"{'' if width is None else f'{width} '}{stored.kind} numbers."
        )
    stored.check_width(found, name)
    if found is None and stored.scale is not None and stored.scale.ndim:
        found = len(stored.scale)
    return ViewColumns(name, "lists", (field.name,), np.dtype(np.float32), found, stored)


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


def _holds_rows(field: pa.Field, stored: Mapping[str, Quantised]) -> bool:
    said = field.name in stored or b"quantised" in (field.metadata or {})
    return said or _is_list(field.type) or _sparse_values(field.type) is not None


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
        if types.is_fixed_size_binary(type):
            alone = "Bytes are read as quantised= says, as in quantised={'image': 'bfloat16'}. "
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
