"""A file that only grows, whose first bytes a checkpoint vouches for by their number and SHA-256.

What a crash left behind them is cut off on resuming; anything else in their place is refused.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from viewpass.errors import FileError
from viewpass.store.container import files
from viewpass.store.container.fields import Fields

BLOCK = 2**20


@dataclass(frozen=True)
class Extent:
    """How far a file had been written."""

    size: int = 0
    sha256: str = hashlib.sha256().hexdigest()

    def packed(self) -> dict[str, Any]:
        """As JSON."""
        return {"size": self.size, "sha256": self.sha256}

    @classmethod
    def unpacked(cls, stored: Fields) -> Extent:
        """From JSON."""
        return cls(stored.number("size"), stored.text("sha256"))


class Appended:
    """The end of such a file, ready to be written to."""

    def __init__(self, path: Path, upto: Extent | None = None) -> None:
        """Begin the file anew, or go on after the first bytes that `upto` vouches for."""
        self.path = path
        self._file: BinaryIO
        self._hash = hashlib.sha256() if upto is None else verified(path, upto)
        self._size = 0 if upto is None else upto.size
        with files.naming(path):
            self._file = path.open("wb" if upto is None else "r+b", buffering=0)
            self._file.seek(self._size)
            self._file.truncate()

    @property
    def extent(self) -> Extent:
        """What has been written so far."""
        return Extent(self._size, self._hash.hexdigest())

    def append(self, content: bytes) -> None:
        """Write at the end."""
        left = memoryview(content)
        with files.naming(self.path):
            while left:
                left = left[write(self._file, left) :]
        self._hash.update(content)
        self._size += len(content)

    def sync(self) -> None:
        """Have it on the disk."""
        with files.naming(self.path):
            files.sync(self._file)

    def close(self) -> None:
        """Let go of the file."""
        with files.naming(self.path):
            self._file.close()


def write(file: BinaryIO, content: memoryview) -> int:
    """Write as much as the system takes at once."""
    return file.write(content)


def verified(path: Path, upto: Extent) -> Any:
    """The running hash of the first bytes of a file; FileError if they are not what was written."""
    running = hashlib.sha256()
    left = upto.size
    try:
        with path.open("rb") as file:
            while left and (block := file.read(min(BLOCK, left))):
                running.update(block)
                left -= len(block)
    except FileNotFoundError:
        left = max(left, 1)
    if left or running.hexdigest() != upto.sha256:
        found = f"{upto.size - left} bytes" if left else f"SHA-256 {running.hexdigest()[:12]}"
        wanted = f"{upto.size} bytes" if left else f"SHA-256 {upto.sha256[:12]}"
        raise FileError(
            f"{path} does not belong to the checkpoint beside it: {found} where {wanted} were expected. "
            "Start over in a new folder."
        )
    return running
