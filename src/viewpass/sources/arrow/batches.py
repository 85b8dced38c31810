"""What readers of Arrow data have in common: batches that know where they come from."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa


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
        """Some of the rows, without copying."""
        if start == 0 and length == len(self):
            return self
        return Batch(self.rows.slice(start, length), self.row + start, self.file, self.first)

    def place(self, column: str, row: int) -> str:
        """Name a value for an error message."""
        number = f"column {column!r}, row {self.row + row - self.first}"
        return f"{self.file}, {number}" if self.file else number


class Reader(Protocol):
    """Some Arrow data that can be read from any row on."""

    schema: pa.Schema
    where: str  # the file that the schema is from, if there is one

    @property
    def n_rows(self) -> int | None:
        """Rows in all; None if only reading tells."""

    @property
    def rereadable(self) -> bool:
        """Whether the rows can be read more than once, in the same order."""

    @property
    def portable(self) -> bool:
        """Whether the reader can be sent elsewhere and read there."""

    def place(self, start: int, stop: int) -> str:
        """The files that hold these rows, for an error message; "" if there are none."""

    @property
    def row_bytes(self) -> int | None:
        """About how many bytes a row takes, if that is known."""

    def batches(self, columns: Sequence[str], size: int, start: int) -> Generator[Batch]:
        """Read these columns from row `start` on, in batches of about `size` rows."""

    def check(self, columns: Sequence[str]) -> None:
        """Refuse parts that do not have these columns in the types of the schema."""

    def identity(self) -> dict[str, Any]:
        """What tells this data from other data."""


def after(batch: Batch, start: int) -> Iterator[Batch]:
    """The batch without the rows before row `start`, if any are left."""
    late = start - batch.row
    if late < len(batch):
        yield batch if late <= 0 else batch.cut(late, len(batch) - late)


def told(problem: BaseException) -> str:
    """A library's error as one line."""
    text = " ".join(str(problem).split()).rstrip(".")
    return text or type(problem).__name__
