"""The envelope of our binary files: magic, version, kind, length and SHA-256 around a body.

    0  magic    8 bytes  "viewpass"
    8  version  uint32   of this format
    12 kind     4 bytes  "modl" or "ckpt"
    16 length   uint64   of the body
    24 sha256   32 bytes of bytes 0-23 and the body
    56 zeros    8 bytes  so that the body begins at a multiple of 64
    64 body              safetensors (body.py)

Numbers are little-endian.
"""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

from viewpass.errors import FileError
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
