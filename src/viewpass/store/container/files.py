"""Atomic writing of files (temporary name, fsync, rename, fsync of the folder), and locks of processes."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from viewpass.errors import FileError


@contextmanager
def replacing(path: Path, temporary: Path | None = None) -> Iterator[BinaryIO]:
    """Write a file that replaces `path` when the block ends without an error.

    `temporary` is its name until then (on the same file system): by default one beside `path` that
    no other thread uses. If anything fails, `path` is not changed.
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
        with suppress(OSError):  # closing flushes, which may fail again
            file.close()
        with suppress(OSError):
            beside.unlink()
        raise


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn an OSError into a FileError that names the file."""
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise FileError(f"{path} could not be written: {reason}. No existing file was changed.") from problem


def opened(path: Path) -> BinaryIO:
    """Open a file for reading; refuse folders, devices, and pipes, which would be waited for."""
    if path.exists() and not path.is_file():
        raise FileError(f"{path} is not a file: a folder, a pipe or a device cannot be read here.")
    return path.open("rb")


def sync(file: BinaryIO) -> None:
    """Flush a file to disk."""
    file.flush()
    os.fsync(file.fileno())


def rename(old: Path, new: Path) -> None:
    """Rename a file atomically, replacing an existing one."""
    os.replace(old, new)


def sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to disk; Windows cannot open folders, and does so itself."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


TAKEN = (errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)


class Lock:
    """An exclusive lock on a file; the file itself says nothing, and may stay."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None

    def take(self) -> bool:
        """Take the lock, unless it is taken elsewhere; gives whether it is held."""
        while self._file is None:
            file = self._path.open("ab")
            try:
                _lock(file)
            except OSError as problem:
                file.close()
                if problem.errno in TAKEN:
                    return False
                raise
            # The process that held it may have removed the file: a lock on that would keep nobody out.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), self._path.stat()):
                    self._file = file
                    break
            file.close()
        return True

    def release(self) -> None:
        """Release it."""
        if self._file is not None:
            self._file.close()
            self._file = None


try:
    import fcntl

    def _lock(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

except ImportError:  # Windows
    import msvcrt

    def _lock(file: BinaryIO) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
