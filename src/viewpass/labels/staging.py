"""Labels and ids of an unfinished run whose rows are read once.

They are appended to files of their own. The checkpoint records their size and SHA-256. On resuming, bytes
that a crash left after that size are cut off, and a file whose first bytes differ is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from viewpass.errors import FileError
from viewpass.kernels.grid import Array
from viewpass.labels.formats import as_ids
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


class StagedColumn:
    """A column of rows in their order: one Arrow stream per chunk, preceded by its length."""

    def __init__(self, path: Path, upto: Extent | None = None) -> None:
        """Create the file, or continue after the extent `upto`, which is verified."""
        self._path, self._type, self.n_rows = path, None, 0
        self._file: BinaryIO
        self._hash = hashlib.sha256() if upto is None else _verified(path, upto)
        self._size = 0 if upto is None else upto.size
        with files.naming(path):
            self._file = path.open("wb" if upto is None else "r+b", buffering=0)
            self._file.seek(self._size)
            self._file.truncate()
        for batch in self.batches() if upto is not None else ():
            self._type, self.n_rows = batch.schema.field(0).type, self.n_rows + len(batch)

    @property
    def extent(self) -> Extent:
        """The extent written so far."""
        return Extent(self._size, self._hash.hexdigest())

    def put(self, values: Array) -> None:
        """Append the values of the next rows."""
        array = as_ids(values, self._type)
        self._type = array.type
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, pa.schema([("value", array.type)])) as writer:
            writer.write_batch(pa.record_batch([array], names=["value"]))
        stream = sink.getvalue().to_pybytes()
        content = len(stream).to_bytes(8, "little") + stream
        left = memoryview(content)
        with files.naming(self._path):
            while left:
                left = left[write(self._file, left) :]
        self._hash.update(content)
        self._size += len(content)
        self.n_rows += len(array)

    def batches(self) -> Iterator[Any]:
        """Yield the values as record batches of one column, one chunk at a time."""
        left = self._size
        with self._path.open("rb") as file:
            while left:
                length = int.from_bytes(file.read(8), "little")
                left -= 8 + length
                yield self._batch(file.read(length) if left >= 0 else b"")

    def _batch(self, content: bytes) -> Any:
        try:
            (batch,) = pa.ipc.open_stream(content)
            batch.validate(full=True)
            (values,) = batch.columns
            if values.null_count or self._type not in (None, values.type):
                raise ValueError("values are missing, or of several types")
        except (pa.ArrowException, ValueError, TypeError, OSError, MemoryError) as problem:
            raise FileError(f"{self._path} is damaged ({problem}). Start over in a new folder.") from None
        return batch

    def sync(self) -> None:
        """Flush the file to disk."""
        with files.naming(self._path):
            files.sync(self._file)

    def close(self) -> None:
        """Close the file."""
        with files.naming(self._path):
            self._file.close()


def write(file: BinaryIO, content: memoryview) -> int:
    """Write as much as the system accepts at once."""
    return file.write(content)


def _verified(path: Path, upto: Extent) -> Any:
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
