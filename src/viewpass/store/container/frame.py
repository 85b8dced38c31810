"""Our binary files: an envelope of magic, version, kind, length and SHA-256, and a body.

    0  magic    8 bytes  "viewpass"
    8  version  uint32   of this format
    12 kind     4 bytes  "modl" or "ckpt"
    16 length   uint64   of the body
    24 sha256   32 bytes of bytes 0-23 and the body
    56 zeros    8 bytes  so that the body begins at a multiple of 64
    64 body              safetensors

Numbers are little-endian. In the body arrays have the layout of safetensors, everything else is JSON in its
metadata. It is written by safetensors, but read here: the arrays share the memory of the body, so that
loading takes the memory of the file only once, and what the header states is checked first.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from viewpass.errors import FileError
from viewpass.kernels.grid import Array
from viewpass.store.container.files import naming, opened, replacing

MAGIC = b"viewpass"
VERSION = 1
FILE_KINDS = {b"modl": "model", b"ckpt": "checkpoint"}
HEAD = struct.Struct("<8sI4sQ")
SIZE = 64


def is_ours(path: Path) -> bool:
    """Return whether a file begins with our magic."""
    with opened(path) as file:
        return file.read(len(MAGIC)) == MAGIC


def write(path: Path, kind: str, body: bytes, temporary: Path | None = None) -> None:
    """Write a body in its envelope atomically."""
    code = next(code for code, name in FILE_KINDS.items() if name == kind)
    head = HEAD.pack(MAGIC, VERSION, code, len(body))
    digest = hashlib.sha256(head)
    digest.update(body)
    with replacing(path, temporary) as file, naming(path):
        file.write((head + digest.digest()).ljust(SIZE, b"\0"))
        file.write(body)


def read(path: Path, kind: str) -> memoryview:
    """Read the body of a file after verifying the envelope."""
    with opened(path) as file:
        head = file.read(SIZE)
        length = _checked_length(path, head, kind, file.seek(0, 2))
        file.seek(SIZE)
        body = file.read(length)
    digest = hashlib.sha256(head[: HEAD.size])
    digest.update(body)
    if len(body) != length or head[HEAD.size :] != digest.digest().ljust(SIZE - HEAD.size, b"\0"):
        raise FileError(f"{path} is damaged: its contents do not match their SHA-256.")
    return memoryview(body)


def _checked_length(path: Path, head: bytes, kind: str, size: int) -> int:
    """Return the length of the body; refuse another format, version, kind or length before reading it."""
    if not head.startswith(MAGIC):
        raise FileError(f"{path} is not a viewpass file.")
    if len(head) < SIZE:
        raise FileError(f"{path} is damaged: it ends within its first {SIZE} bytes.")
    _, version, code, length = HEAD.unpack(head[: HEAD.size])
    if version > VERSION:
        raise FileError(
            f"{path} has format version {version}, this viewpass reads up to version {VERSION}. "
            "Use a newer viewpass."
        )
    if version < 1 or code not in FILE_KINDS:
        raise FileError(f"{path} is damaged: its version or kind is invalid.")
    if FILE_KINDS[code] != kind:
        raise FileError(f"{path} is a {FILE_KINDS[code]}, a {kind} was expected.")
    if length != size - SIZE:
        raise FileError(f"{path} is damaged: {size} bytes long where {length + SIZE} were expected.")
    return int(length)


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
