"""Finding the files of a table by path, glob pattern, folder or URL, and their formats."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from viewpass.errors import DataError, SettingError, ViewpassError, missing_extra, not_a_file

FILE_ENDINGS = {
    "parquet": (".parquet", ".parq", ".pq"),
    "ipc": (".arrow", ".arrows", ".feather", ".ipc"),
    "csv": (".csv", ".tsv"),
    "npy": (".npy",),
    "npz": (".npz",),
    "mat": (".mat",),
    "h5mu": (".h5mu",),
    "h5ad": (".h5ad",),
}
FORMAT_OF = {ending: format for format, endings in FILE_ENDINGS.items() for ending in endings}
PACKED = (".gz", ".bz2", ".zst")  # compressed CSV files
FIRST_BYTES = {b"PAR1": "parquet", b"ARRO": "ipc"}
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
END_BYTES = 2**16  # of both ends, which are hashed: formats keep their metadata there
# A scheme of two letters or more, maybe after those of fsspec's chains: "s3://", "simplecache::s3://".
URL = re.compile(r"([a-z][a-z0-9+.-]+::)*[a-z][a-z0-9+.-]+://", re.IGNORECASE)

PASSWORD = re.compile(r"(?<=//)[^/@\s:]*:[^/@\s]*@")  # in a URL


@dataclass(frozen=True)
class File:
    """A file of a table; `system` is its fsspec file system, or None if it is local.

    A pickled fsspec file system carries its storage options, so that workers can open the file, too.
    """

    name: str
    path: str
    label: str  # path relative to the given folder; identifies the file wherever the folder is
    system: Any = None
    keys: dict[str, str | None] = field(default_factory=dict)  # from folder names such as year=2026

    def __getstate__(self) -> dict[str, Any]:
        """Make local paths absolute: another process may have another working directory."""
        path = os.path.abspath(self.path) if self.system is None else self.path
        return {**self.__dict__, "path": path}

    def source(self) -> Any:
        """Return what PyArrow can open: a stream, or a path that it cannot take for a URL."""
        return os.path.abspath(self.path) if self.system is None else self.open()

    def open(self) -> Any:
        """Open the file as a binary stream."""
        return Path(self.path).open("rb") if self.system is None else self.system.open(self.path, "rb")

    @property
    def format(self) -> str:
        """The format, judging by the ending of the name, or else by the first bytes."""
        known = format_of(self.path)
        if known is None:
            try:
                with self.open() as opened:
                    known = FIRST_BYTES.get(opened.read(4))
            except OSError as problem:
                raise DataError(f"{self.name} cannot be opened: {problem}.") from problem
        if known is None:
            endings = ", ".join(FORMAT_OF)
            raise DataError(f"{self.name}: unknown file format. Known endings are {endings}.")
        return known

    def identity(self) -> dict[str, Any]:
        """Return the size and a hash of both ends, where formats keep their metadata."""
        with self.open() as opened:
            size = opened.seek(0, 2)
            opened.seek(0)
            ends = sha256(opened.read(min(END_BYTES, size)))
            opened.seek(max(0, size - END_BYTES))
            ends.update(opened.read())
        return {"file": self.label, "bytes": size, "ends": ends.hexdigest()[:16]}


def format_of(path: str) -> str | None:
    """Return the format that the ending of a name stands for."""
    lower = path.lower()
    stem, ending = os.path.splitext(lower)
    if ending in PACKED and FORMAT_OF.get(os.path.splitext(stem)[1]) == "csv":
        return "csv"
    return FORMAT_OF.get(ending)


def find_files(
    given: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    storage_options: Mapping[str, Any] | None = None,
) -> list[File]:
    """Find the files of paths, patterns, folders and URLs, in the order given; those of one by name."""
    options = dict(storage_options or {})
    wanted = [given] if isinstance(given, str | os.PathLike) else list(given)
    files = []
    for one in wanted:
        text = os.fspath(one)
        if URL.match(text):
            files += _remote(text, options)
        else:
            _refuse_options(options, text)
            files += _local(os.path.expanduser(text), text)
    seen = set()
    for file in files:
        if (key := (file.name if file.system else os.path.realpath(file.path))) in seen:
            raise DataError(f"{file.name} is given twice: its rows would count twice.")
        seen.add(key)
    return files


def _refuse_options(options: Mapping[str, Any], path: str) -> None:
    if options:
        raise SettingError(
            f"storage_options= was given, but {path} is a local path, to which it does not apply. "
            "Leave it out, or give a URL such as 's3://bucket/items.parquet'."
        )


def _local(path: str, given: str) -> list[File]:
    if "\0" in path:
        raise DataError(f"{given}: a path cannot hold a zero byte.")
    if os.path.isdir(path):
        inside = (os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)
        return _below(path, given, inside)
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


def _remote(address: str, options: Mapping[str, Any]) -> list[File]:
    shown = _without_password(address)
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise missing_extra("fsspec", "arrow", "reading from a URL") from None
    try:
        system, path = url_to_fs(address, **options)
        if "file" in (system.protocol if isinstance(system.protocol, tuple) else (system.protocol,)):
            _refuse_options(options, address)
            return _local(path, address)
        if glob.has_magic(path) and not system.exists(path):
            paths = [match for match in sorted(system.glob(path)) if not system.isdir(match)]
            found = [_file(match, match.rsplit("/", 1)[-1], system) for match in paths]
        elif system.isdir(path):
            found = _below(path, shown, system.find(path), system)
        elif system.exists(path):
            found = [_file(path, path.rsplit("/", 1)[-1], system)]
        else:
            found = []
    except ViewpassError:
        raise
    except Exception as problem:  # whatever the library behind the file system raises
        reason = " ".join(str(problem).split())
        for found in PASSWORD.findall(address):
            reason = reason.replace(found, "")
        raise DataError(f"{shown} cannot be opened: {reason}.") from problem
    if not found:
        raise DataError(f"{shown}: there is no such file or folder.")
    return found


def _without_password(text: str) -> str:
    """Addresses as they may be shown and stored."""
    return PASSWORD.sub("", text)


def _below(folder: str, given: str, paths: Iterable[str], system: Any = None) -> list[File]:
    """Select files with a known ending; not hidden ones, nor those in folders such as _temporary."""
    labels = {path: Path(os.path.relpath(path, folder)).as_posix() for path in sorted(paths)}
    found = [
        _file(path, label, system)
        for path, label in labels.items()
        if format_of(path) is not None and not any(part.startswith(("_", ".")) for part in label.split("/"))
    ]
    if not found:
        raise DataError(f"{given}: the folder holds no file with one of the endings {', '.join(FORMAT_OF)}.")
    return found


def _file(path: str, label: str, system: Any = None) -> File:
    if system is None and (kind := not_a_file(path)) is not None:
        raise DataError(
            f"{path} is {kind}, not a file. Files may be read more than once, so save the rows to one first; "
            "in Python, vp.scan also takes Arrow streams, such as pyarrow.ipc.open_stream(pipe)."
        )
    name = path if system is None else _without_password(system.unstrip_protocol(path))
    keys = {}
    for part in Path(path).as_posix().split("/")[:-1]:
        key, equals, value = part.partition("=")
        if key and equals:
            keys[key] = None if value == NO_VALUE else unquote(value)
    return File(name, path, label, system, keys)
