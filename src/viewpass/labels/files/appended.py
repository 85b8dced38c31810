"""Append-only files of an unfinished run, verified against its checkpoint when it resumes.

They hold staged labels, ids or lists of parts; the checkpoint records their size and SHA-256. Bytes that
a crash left after that size are cut off; a file whose first bytes differ is refused.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from viewpass.errors import FileError
from viewpass.store.container import files
from viewpass.store.container.fields import Fields

BLOCK = 2**20


@dataclass(frozen=True)
class Extent:
    """The size and hash of what was written to a file."""

    size: int = 0
    sha256: str = hashlib.sha256().hexdigest()

    def packed(self) -> dict[str, Any]:
        """Convert to JSON."""
        return asdict(self)

    @classmethod
    def unpacked(cls, stored: Fields) -> Extent:
        """Convert from JSON."""
        return cls(stored.number("size"), stored.text("sha256"))


class Appended:
    """An open append-only file."""

    def __init__(self, path: Path, upto: Extent | None = None) -> None:
        """Create the file, or continue after the extent `upto`, which is verified."""
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
        """The extent written so far."""
        return Extent(self._size, self._hash.hexdigest())

    def append(self, content: bytes) -> None:
        """Append to the file."""
        left = memoryview(content)
        with files.naming(self.path):
            while left:
                left = left[write(self._file, left) :]
        self._hash.update(content)
        self._size += len(content)

    def sync(self) -> None:
        """Flush the file to disk."""
        with files.naming(self.path):
            files.sync(self._file)

    def close(self) -> None:
        """Close the file."""
        with files.naming(self.path):
            self._file.close()


def write(file: BinaryIO, content: memoryview) -> int:
    """Write as much as the system accepts at once."""
    return file.write(content)


def verified(path: Path, upto: Extent) -> Any:
    """Return the running hash of the first bytes of a file; FileError if they are not what was written."""
    running = hashlib.sha256()
    left = upto.size
    try:
        with files.opened(path) as file:
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
