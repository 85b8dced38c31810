"""The body of a file: arrays in the layout of safetensors, everything else as JSON in its metadata.

Written by safetensors, but read here: the arrays share the memory of the body, so that loading takes
the memory of the file only once, and what the header states is checked first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from safetensors.numpy import save

from viewpass.errors import FileError
from viewpass.kernels.grid import Array

KEY = "viewpass"
DTYPES = {"F64": np.float64, "F32": np.float32, "I64": np.int64, "I32": np.int32, "BOOL": np.bool_}


def encode(meta: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """Encode metadata and arrays; the same contents give the same bytes."""
    text = json.dumps(meta, sort_keys=True, separators=(",", ":"), allow_nan=False)
    ready = {name: np.ascontiguousarray(arrays[name]) for name in sorted(arrays)}
    return bytes(save(ready, metadata={KEY: text}))


def decode(body: memoryview, name: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Decode the body of the file `name`; the arrays are read-only and share the memory of the body."""
    try:
        header, data = _header(body)
        meta = _json(header.pop("__metadata__")[KEY])
        arrays, end = {}, 0
        for key, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
            arrays[key], end = _array(entry, data, end)
        if end != len(data) or not isinstance(meta, dict):
            raise ValueError("its arrays do not fill it")
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError) as problem:
        raise FileError(f"{name} is damaged: its contents cannot be read ({problem}).") from problem
    return meta, arrays


def _header(body: memoryview) -> tuple[dict[str, Any], memoryview]:
    length = int.from_bytes(body[:8], "little")
    if len(body) < 8 or length > len(body) - 8 or length % 8:
        raise ValueError("the length of its header is invalid")
    header = _json(bytes(body[8 : 8 + length]).decode("utf-8"))
    if not isinstance(header, dict):
        raise ValueError("its header is not a mapping")
    return header, body[8 + length :]


def _array(entry: Mapping[str, Any], data: memoryview, begins: int) -> tuple[Array, int]:
    """Return one array, which must begin where the one before it ended."""
    dtype = np.dtype(DTYPES[entry["dtype"]])
    shape = tuple(entry["shape"])
    first, last = entry["data_offsets"]
    whole = all(type(number) is int and number >= 0 for number in (*shape, first, last))
    if not whole or first != begins or last > len(data) or last - first != prod(shape) * dtype.itemsize:
        raise ValueError("an array does not have the size it should")
    part = np.frombuffer(data[first:last], dtype=dtype).reshape(shape)
    if not part.flags.aligned:
        raise ValueError("an array is not aligned")
    if dtype == np.bool_ and part.size and part.view(np.uint8).max() > 1:
        raise ValueError("a truth value is neither 0 nor 1")
    return part, last


def _json(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a number")
