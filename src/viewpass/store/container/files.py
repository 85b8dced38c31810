"""Files that appear whole or not at all: a temporary name, fsync, rename, fsync of the folder."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from viewpass.errors import FileError


@contextmanager
def replacing(path: Path, temporary: Path | None = None) -> Iterator[BinaryIO]:
    """Write a file that takes the place of `path` when the block ends without an error.

    `temporary` is where it grows (on the same file system): by default beside `path`, under a name
    of this thread. Whatever goes wrong, `path` is as it was.
    """
    own = f"{os.getpid()}-{threading.get_ident()}"
    beside = path.with_name(f".{path.name}.{own}.new") if temporary is None else temporary
    with naming(path):
        file = beside.open("wb")
    try:
        yield file
        with naming(path):
            sync(file)
            file.close()
            rename(beside, path)
            sync_folder(path.parent)
    except BaseException:
        with suppress(OSError):  # what could not be written cannot be now either
            file.close()
        with suppress(OSError):
            beside.unlink()
        raise


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an error of the system say which file could not be written."""
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise FileError(f"{path} could not be written: {reason}. What was there is as it was.") from problem


def sync(file: BinaryIO) -> None:
    """Have what was written on the disk before going on."""
    file.flush()
    os.fsync(file.fileno())


def rename(old: Path, new: Path) -> None:
    """Give a file its name, in one step."""
    os.replace(old, new)


def sync_folder(folder: Path) -> None:
    """Have the names of a folder on the disk; where folders cannot be opened, the system sees to it."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
