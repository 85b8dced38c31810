"""Batches of Arrow rows that know their place in the data, and the base class of their readers."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

# What PyArrow raises on damaged data; UnicodeDecodeError: names and texts are decoded when they are used.
UNREADABLE = (pa.ArrowException, OSError, KeyError, UnicodeDecodeError)


@dataclass(frozen=True)
class Batch:
    """Consecutive rows: `row` is the number of the first one in the data, `first` that of its file."""

    rows: pa.RecordBatch
    row: int
    file: str = ""
    first: int = 0

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def cut(self, start: int, length: int) -> Batch:
        """Return some of the rows, without copying."""
        if start == 0 and length == len(self):
            return self
        return Batch(self.rows.slice(start, length), self.row + start, self.file, self.first)

    def place(self, column: str, row: int) -> str:
        """Describe a value for an error message."""
        number = f"column {column!r}, row {self.row + row - self.first}"
        return f"{self.file}, {number}" if self.file else number


class Reader(metaclass=ABCMeta):
    """Arrow data that can be read from any row on. The defaults are those of data that is in no file."""

    schema: pa.Schema
    where: str = ""
    """The file that the schema was read from."""
    n_rows: int | None = None
    """Number of rows; None if it is known only after reading them."""
    row_bytes: int | None = None
    """Approximate size of a row, if known."""
    cuts: Sequence[int] = ()
    """As of a source."""
    rereadable: bool = True
    """Whether the rows can be read more than once, in the same order."""
    portable: bool = False
    """Whether the reader can be pickled and read on another machine."""

    @abstractmethod
    def batches(self, columns: Sequence[str], size: int, start: int) -> Generator[Batch]:
        """Read these columns from row `start` on, in batches of about `size` rows."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Return what distinguishes this data from other data, in a form that JSON can hold."""

    def check(self, columns: Sequence[str]) -> None:  # noqa: B027
        """Refuse files whose columns do not have the types of the schema."""

    def place(self, start: int, stop: int) -> str:
        """Name the files that hold these rows, for an error message; "" if there are none."""
        return ""


def numbered(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Cut batches into pieces of at most `size` rows, with the number of the first row of each."""
    row = 0
    for rows in batches:
        for first in range(0, rows.num_rows, size):
            yield row + first, rows.slice(first, size)
        row += rows.num_rows


def resized(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.Table]:
    """Yield the rows of batches in tables of `size` rows, the last of which may have fewer."""
    waiting: list[pa.RecordBatch] = []
    n_rows = 0
    for _, rows in numbered(batches, size):
        while n_rows + rows.num_rows >= size:
            waiting.append(rows.slice(0, size - n_rows))
            rows = rows.slice(size - n_rows)
            yield pa.Table.from_batches(waiting).unify_dictionaries()
            waiting, n_rows = [], 0
        if rows.num_rows:
            waiting.append(rows)
            n_rows += rows.num_rows
    if waiting:
        yield pa.Table.from_batches(waiting).unify_dictionaries()


def after(batch: Batch, start: int) -> Iterator[Batch]:
    """Yield the batch without the rows before row `start`, if any are left."""
    late = start - batch.row
    if late < len(batch):
        yield batch if late <= 0 else batch.cut(late, len(batch) - late)


def one_line(problem: BaseException) -> str:
    """Format the error of another library as one line."""
    text = " ".join(str(problem).split()).rstrip(".")
    return text or type(problem).__name__
