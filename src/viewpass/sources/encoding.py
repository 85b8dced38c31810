"""Columns of a frame that hold no numbers, as numbers: categories and booleans one-hot (`encode=True`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from viewpass.errors import DataError, warn
from viewpass.kernels.grid import Array
from viewpass.sources.ids import MOST_NAMED

MOST_LEVELS = 256  # of a column; more are names or ids rather than categories


@dataclass(frozen=True)
class Encoding:
    """How the columns of a view become numbers: each with its levels, or None where it holds numbers."""

    columns: tuple[tuple[Any, tuple[str, ...] | None], ...]

    @classmethod
    def learn(cls, frame: Any, view: str) -> Encoding:
        """The levels that occur in a frame, sorted."""
        found: list[tuple[Any, tuple[str, ...] | None]] = []
        for place, (column, dtype) in enumerate(frame.schema.items()):
            if dtype.is_numeric():
                found.append((column, None))
                continue
            _refuse_times(dtype, view, column)
            levels = tuple(sorted(_levels(frame[:, place], view, column)))
            if len(levels) > MOST_LEVELS:
                raise DataError(
                    f"view {view!r}, column {column!r} has {len(levels)} levels, at most {MOST_LEVELS} was "
                    "expected: names and ids are no categories. Leave it out, or turn it into numbers first "
                    "(skrub's TableVectorizer)."
                )
            found.append((column, levels))
        return cls(tuple(found))

    @property
    def names(self) -> tuple[Any, ...]:
        """The names of the numbers: "sex=f" and "sex=m" for the levels of "sex"."""
        names: list[Any] = []
        for column, levels in self.columns:
            names += [column] if levels is None else [f"{column}={level}" for level in levels]
        return tuple(names)

    def suited(self, names: Sequence[Any], frame: Any, view: str) -> Encoding:
        """The same with the levels of a model, whose columns have these names; others are ignored."""
        made: list[tuple[Any, tuple[str, ...] | None]] = []
        for place, (column, levels) in enumerate(self.columns):
            if levels is None:
                made.append((column, levels))
                continue
            prefix = f"{column}="
            known = tuple(
                n.removeprefix(prefix) for n in names if isinstance(n, str) and n.startswith(prefix)
            )
            unseen = sorted(set(levels) - set(known))
            if unseen and known:
                n_rows = sum(text in unseen for text in _texts(frame[:, place]))
                warn(
                    f"view {view!r}, column {column!r}: {', '.join(map(repr, unseen[:MOST_NAMED]))} did not "
                    f"occur when the model was fitted, and is ignored in {n_rows} rows."
                )
            made.append((column, known or levels))
        return Encoding(tuple(made))

    def values(self, frame: Any) -> Array:
        """Rows of a frame as numbers; NaN in all levels of a column where it is null."""
        parts = []
        for place, (_, levels) in enumerate(self.columns):
            column = frame[:, place]
            if levels is None:
                numbers = column.cast(nw.Float64).to_numpy()
                if numbers.dtype == object:  # nulls in pandas' Arrow types
                    numbers = column.to_native().to_numpy(dtype=np.float64, na_value=np.nan)
                parts.append(numbers[:, None])
                continue
            place_of = {level: number for number, level in enumerate(levels)}
            hot = np.zeros((len(column), len(levels)))
            for row, text in enumerate(_texts(column)):
                if text is None:
                    hot[row] = np.nan
                elif text in place_of:
                    hot[row, place_of[text]] = 1.0
            parts.append(hot)
        return np.hstack(parts)


def _texts(column: Any) -> list[str | None]:
    """Levels of the rows as text; None where a row has none."""
    null = np.asarray(column.is_null().to_numpy(), dtype=bool)
    return [None if no else str(value) for value, no in zip(column.to_list(), null, strict=True)]


def _levels(column: Any, view: str, name: Any) -> set[str]:
    values = [value for value in column.drop_nulls().to_list() if value == value]
    for value in values:
        if not isinstance(value, str | bool | int | np.bool_):
            raise DataError(
                f"view {view!r}, column {name!r} holds a {type(value).__name__}; expected numbers, text, "
                "categories or booleans. Leave the column out."
            )
    return set(map(str, values))


def _refuse_times(dtype: Any, view: str, column: Any) -> None:
    if dtype.is_temporal():
        raise DataError(
            f"view {view!r}, column {column!r} holds {dtype} values. What matters about a time is not known: "
            "give it as numbers (days since a date, the month, the hour), or leave it out; skrub's "
            "TableVectorizer makes such columns."
        )
