"""Files of a table: found by path, pattern, folder or address, and told apart from others."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from viewpass.errors import DataError, missing_extra

FORMATS = {
    ".parquet": "parquet",
    ".parq": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".arrows": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
    ".csv": "csv",
    ".tsv": "csv",
    ".npy": "npy",
    ".npz": "npz",
}
PACKED = (".gz", ".bz2", ".zst")  # CSV files may be
MAGIC = {b"PAR1": "parquet", b"ARRO": "ipc"}
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
END = 2**16


@dataclass(frozen=True)
class File:
    """A file of the table; `system` is the fsspec file system it lies on, if it is not a local one."""

    name: str
    path: str
    label: str  # the name below the folder that was given: where the folder stands does not matter
    system: Any = None
    keys: dict[str, str | None] = field(default_factory=dict)  # of folders such as year=2026

    def __getstate__(self) -> dict[str, Any]:
        """What goes to another process, which may work in another folder."""
        path = os.path.abspath(self.path) if self.system is None else self.path
        return {**self.__dict__, "path": path}

    def source(self) -> Any:
        """What PyArrow opens."""
        return self.path if self.system is None else self.open()

    def open(self) -> Any:
        """A binary stream."""
        return Path(self.path).open("rb") if self.system is None else self.system.open(self.path, "rb")

    @property
    def format(self) -> str:
        """By the ending of the name, or else by the first bytes."""
        known = format_of(self.path)
        if known is None:
            with self.open() as opened:
                known = MAGIC.get(opened.read(4))
        if known is None:
            endings = ", ".join(FORMATS)
            raise DataError(f"{self.name}: this kind of file is not known. Known endings are {endings}.")
        return known

    def identity(self) -> dict[str, Any]:
        """Size and a hash of both ends, where formats keep what describes them."""
        with self.open() as opened:
            size = opened.seek(0, 2)
            opened.seek(0)
            ends = sha256(opened.read(min(END, size)))
            opened.seek(max(0, size - END))
            ends.update(opened.read())
        return {"file": self.label, "bytes": size, "ends": ends.hexdigest()[:16]}


def format_of(path: str) -> str | None:
    """The format that the ending of a name tells."""
    lower = path.lower()
    stem, ending = os.path.splitext(lower)
    if ending in PACKED and FORMATS.get(os.path.splitext(stem)[1]) == "csv":
        return "csv"
    return FORMATS.get(ending)


def find_files(given: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[File]:
    """Files of paths, patterns, folders and addresses: in the order given, those of one by name."""
    wanted = [given] if isinstance(given, str | os.PathLike) else list(given)
    files = []
    for one in wanted:
        text = os.fspath(one)
        files += _remote(text) if "://" in text else _local(os.path.expanduser(text), text)
    seen = set()
    for file in files:
        if (key := (file.name if file.system else os.path.realpath(file.path))) in seen:
            raise DataError(f"{file.name} is given twice: its rows would count twice.")
        seen.add(key)
    return files


def _local(path: str, given: str) -> list[File]:
    if os.path.isdir(path):
        inside = (os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)
        return _below(path, given, _data(path, inside))
    if os.path.exists(path):
        return [_file(path, os.path.basename(path))]
    if not glob.has_magic(path):
        raise DataError(f"{given}: there is no such file or folder.")
    found: list[File] = []
    for match in sorted(glob.glob(path, recursive=True)):
        found += _local(match, match)
    if not found:
        raise DataError(f"{given}: no file matches this pattern.")
    return found


def _remote(address: str) -> list[File]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise missing_extra("fsspec", "arrow", "reading from an address") from None
    try:
        system, path = url_to_fs(address)
        if "file" in (system.protocol if isinstance(system.protocol, tuple) else (system.protocol,)):
            return _local(path, address)
        if glob.has_magic(path) and not system.exists(path):
            paths = [match for match in sorted(system.glob(path)) if not system.isdir(match)]
            found = [_file(match, match.rsplit("/", 1)[-1], system) for match in paths]
        elif system.isdir(path):
            found = _below(path, address, _data(path, system.find(path)), system)
        elif system.exists(path):
            found = [_file(path, path.rsplit("/", 1)[-1], system)]
        else:
            found = []
    except (OSError, ValueError, ImportError) as problem:
        if isinstance(problem, DataError):
            raise
        raise DataError(f"{address} cannot be opened: {' '.join(str(problem).split())}.") from problem
    if not found:
        raise DataError(f"{address}: there is no such file or folder.")
    return found


def _data(folder: str, paths: Iterable[str]) -> list[str]:
    """Files with a known ending, by name; not hidden ones, nor those of folders such as _temporary."""
    kept = []
    for path in paths:
        below = PurePosixPath(Path(os.path.relpath(path, folder)).as_posix())
        if format_of(path) is not None and not any(part.startswith(("_", ".")) for part in below.parts):
            kept.append(path)
    return sorted(kept)


def _below(folder: str, given: str, paths: Sequence[str], system: Any = None) -> list[File]:
    if not paths:
        raise DataError(f"{given}: the folder holds no file with one of the endings {', '.join(FORMATS)}.")
    return [_file(path, Path(os.path.relpath(path, folder)).as_posix(), system) for path in paths]


def _file(path: str, label: str, system: Any = None) -> File:
    name = path if system is None else system.unstrip_protocol(path)
    keys = {}
    for part in Path(path).as_posix().split("/")[:-1]:
        key, equals, value = part.partition("=")
        if key and equals:
            keys[key] = None if value == NO_VALUE else unquote(value)
    return File(name, path, label, system, keys)
