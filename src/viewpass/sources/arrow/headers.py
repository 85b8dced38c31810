"""What stands before each page of a Parquet column: its kind, its sizes and how it is encoded.

Headers are Thrift structs in the compact protocol; of their fields only whole numbers and truth values
matter here. Anything that is not as it should be is a ValueError or an IndexError.
"""

from __future__ import annotations

from typing import NamedTuple

DATA, INDEX, DICTIONARY, DATA_2 = range(4)
PLAIN, PLAIN_DICTIONARY, RLE, RLE_DICTIONARY = 0, 2, 3, 8
_TRUE, _FALSE, _BYTE, _BINARY, _LIST, _STRUCT = 1, 2, 3, 8, 9, 12
_WHOLE = (4, 5, 6)  # of 16, 32 and 64 bits
_MOST_DEEP = 4

Fields = dict[int, object]


class Page(NamedTuple):
    """A page as its header describes it; sizes in bytes, of levels only where the header tells them."""

    kind: int
    packed: int
    unpacked: int
    n_entries: int
    encoding: int
    is_packed: bool
    repeated: int
    defined: int
    length: int  # of the header itself


def read_header(data: bytes) -> Page:
    """The header that begins the data."""
    fields, length = _struct(data, 0, 0)
    kind = _number(fields, 1)
    about = fields.get({DATA: 5, DICTIONARY: 7, DATA_2: 8}.get(kind, 0), {})
    if not isinstance(about, dict):
        raise ValueError("a page without a description")
    newer = kind == DATA_2
    encoding = 4 if newer else 2
    if kind == DATA and (about.get(3), about.get(4)) != (RLE, RLE):
        raise ValueError("levels of an older encoding")
    return Page(
        kind,
        _number(fields, 3),
        _number(fields, 2),
        0 if kind == INDEX else _number(about, 1),
        0 if kind == INDEX else _number(about, encoding),
        bool(about.get(7, True)) if newer else True,
        _number(about, 6) if newer else 0,
        _number(about, 5) if newer else 0,
        length,
    )


def _number(fields: Fields, number: int) -> int:
    value = fields.get(number)
    if not isinstance(value, int) or not 0 <= value < 2**31:
        raise ValueError(f"field {number} of a page header is {value!r}")
    return value


def _struct(data: bytes, at: int, depth: int) -> tuple[Fields, int]:
    if depth > _MOST_DEEP:
        raise ValueError("a page header nested too deeply")
    fields: Fields = {}
    number = 0
    while head := data[at]:
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            number, at = _whole(data, at)
        fields[number], at = _value(data, at, head & 15, depth)
    return fields, at + 1


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[object, int]:
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, at
    if kind in _WHOLE:
        return _whole(data, at)
    if kind == _STRUCT:
        return _struct(data, at, depth + 1)
    if kind == _BINARY:
        length, at = _varint(data, at)
        return None, at + length
    if kind == _BYTE:
        return data[at], at + 1
    raise ValueError(f"a field of kind {kind} in a page header")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while (byte := data[at]) >= 128:
        value |= (byte & 127) << shift
        shift += 7
        at += 1
        if shift > 63:
            raise ValueError("a number without an end in a page header")
    return value | byte << shift, at + 1


def _whole(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at
