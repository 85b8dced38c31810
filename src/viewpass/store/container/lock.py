"""A lock between processes that the system releases when its owner ends, however it ends."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

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
