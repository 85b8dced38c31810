"""`vp.frames`: data frames of pandas or polars, one per view, whose rows are matched by id.

With `encode=True`, columns that hold no numbers become columns of 0 and 1, one for each of their levels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from viewpass.errors import DataError, warn
from viewpass.kernels.grid import Array, Integers
from viewpass.sources.ids import MOST_NAMED, match_ids, read_ids
from viewpass.sources.kinds import is_anndata
from viewpass.sources.matched import MatchedSource, Piece, Rows
from viewpass.sources.mudata import modality
from viewpass.views.chunk import unique_names

MOST_LEVELS = 256  # of a column; more are names or ids rather than categories


def frames(frames: Any, id: str | None = None, *, encode: bool = False) -> MatchedSource:
    """Match the rows of several data frames by id; an id absent from a frame is a missing view.

    Parameters
    ----------
    frames : dict of str to DataFrame or AnnData
        One frame per view, all of pandas or all of polars. Every column but the id is a feature. The rows of
        an AnnData are those of its `X`, sparse or not; their ids are its observation names.
    id : str, optional
        The column that holds the id. By default the index of a pandas frame.
    encode : bool, default=False
        Turn text, categories and booleans into one column of 0 and 1 per level ("sex=f", "sex=m"), instead of
        refusing them. `predict` takes the levels of the fit, and warns of others, which it ignores; a null is
        a missing value (`missing_entries`). Dates and times are refused.

    Returns
    -------
    Source
        To be given to `fit`, `predict`, `transform` or `score`; the ids, in the order of the
        labels, are its `row_ids` (and `row_ids_` of the fitted estimator).

    Examples
    --------
    >>> import pandas as pd
    >>> import viewpass as vp
    >>> image = pd.DataFrame({"item": [1, 2, 3], "a": [0.9, 0.1, 1.0], "b": [0.1, 0.8, 0.2]})
    >>> text = pd.DataFrame({"item": [4, 2, 3], "c": [0.0, 2.0, 7.0], "d": [3.0, 1.0, 0.0]})
    >>> items = vp.frames({"image": image, "text": text}, id="item")
    >>> items.row_ids
    array([1, 2, 3, 4])
    >>> vp.OPIMC(n_clusters=2, random_state=0).fit(items).labels_.shape
    (4,)
    """
    if not isinstance(frames, Mapping) or not frames:
        raise DataError("vp.frames takes a dict of frames: {'image': df1, 'text': df2}.")
    ids: dict[str, Array] = {}
    rows: dict[str, Rows] = {}
    kinds: dict[str, str] = {}
    for name, frame in zip(unique_names(frames), frames.values(), strict=True):
        if is_anndata(frame):
            ids[name], rows[name] = modality(frame, name)
            continue
        table = _wrapped(frame, name)
        kinds[table.implementation.name.lower()] = name
        ids[name], rows[name] = read_ids(table, name, id), FrameRows.of(table, name, id, encode=encode)
    if len(kinds) > 1:
        found = " and ".join(f"{kind} ({name!r})" for kind, name in kinds.items())
        raise DataError(f"frames of {found}: give all views as the same kind of frame.")
    row_ids, places = match_ids(ids)
    return MatchedSource([Piece.of(row_ids, rows, places)], "frames", id)


class FrameRows(Rows):
    """Rows of a frame; `levels` are those of each column, None where it holds numbers."""

    def __init__(self, frame: Any, levels: Sequence[tuple[str, ...] | None]) -> None:
        self.frame, self.levels = frame, tuple(levels)
        names: list[Any] = []
        for column, own in zip(frame.columns, self.levels, strict=True):
            names += [column] if own is None else [f"{column}={level}" for level in own]
        self.columns = tuple(names)
        self.shape = len(frame), len(names)

    @classmethod
    def of(cls, frame: Any, view: str, id: Any = None, *, encode: bool = False) -> FrameRows:
        """All columns but the id, by position since names need not be text."""
        places = [place for place, column in enumerate(frame.columns) if id is None or column != id]
        if not places:
            raise DataError(f"view {view!r} has no column besides the id.")
        own = frame[:, places]
        levels = list[tuple[str, ...] | None]()
        for place, (column, dtype) in enumerate(own.schema.items()):
            number = dtype.is_numeric() or (dtype == nw.Boolean and not encode)
            levels.append(
                None if number else _levels(own[:, place], f"view {view!r}, column {column!r}", encode)
            )
        return cls(own, levels)

    def suited(self, columns: Sequence[Any], name: str) -> FrameRows:
        """The same with the levels of a model, whose columns have these names; others are ignored."""
        made = list(self.levels)
        for place, (column, levels) in enumerate(zip(self.frame.columns, self.levels, strict=True)):
            prefix = f"{column}="
            known = tuple(
                own.removeprefix(prefix)
                for own in columns
                if levels is not None and isinstance(own, str) and own.startswith(prefix)
            )
            made[place] = known or levels
            unseen = sorted(set(levels or ()) - set(known))
            if unseen and known:
                n_rows = sum(text in unseen for text in _texts(self.frame[:, place]))
                warn(
                    f"view {name!r}, column {column!r}: {', '.join(map(repr, unseen[:MOST_NAMED]))} did not "
                    f"occur when the model was fitted, and is ignored in {n_rows} rows."
                )
        return FrameRows(self.frame, made)

    def take(self, wanted: slice | Integers) -> Array:
        """Some of the rows as numbers."""
        return self.numbers(self.frame[wanted])

    def numbers(self, frame: Any) -> Array:
        """Rows of a frame of these columns as numbers; NaN in all levels of a column where it is null."""
        if not any(levels is not None for levels in self.levels):
            return _values(frame)
        parts = []
        for place, levels in enumerate(self.levels):
            if levels is None:
                parts.append(_values(frame[:, [place]]))
                continue
            place_of = {level: number for number, level in enumerate(levels)}
            hot = np.zeros((len(frame), len(levels)))
            for row, text in enumerate(_texts(frame[:, place])):
                if text is None:
                    hot[row] = np.nan
                elif text in place_of:
                    hot[row, place_of[text]] = 1.0
            parts.append(hot)
        return np.hstack(parts)


def _levels(column: Any, where: str, encode: bool) -> tuple[str, ...]:
    """The levels that occur in a column, sorted; refuse what holds neither numbers nor levels."""
    kind = str(getattr(column.to_native(), "dtype", column.dtype))
    if not encode:
        remedy = "Encode text and categories as numbers (encode=True of vp.frames), or leave the column out."
        if kind.startswith("Sparse"):
            remedy = "Give the frame as a sparse matrix: `x.sparse.to_coo().tocsr()`."
        raise DataError(f"{where} holds {kind} values, numbers were expected. {remedy}")
    if column.dtype.is_temporal():
        raise DataError(
            f"{where} holds {column.dtype} values. What matters about a time is not known: give it as "
            "numbers (days since a date, the month, the hour), or leave it out; skrub's TableVectorizer "
            "makes such columns."
        )
    values = [value for value in column.drop_nulls().to_list() if value == value]
    for value in values:
        if not isinstance(value, str | bool | int | np.bool_):
            raise DataError(
                f"{where} holds a {type(value).__name__}; expected numbers, text, categories or booleans. "
                "Leave the column out."
            )
    levels = tuple(sorted(set(map(str, values))))
    if len(levels) > MOST_LEVELS:
        raise DataError(
            f"{where} has {len(levels)} levels, at most {MOST_LEVELS} was expected: names and ids are no "
            "categories. Leave it out, or turn it into numbers first (skrub's TableVectorizer)."
        )
    return levels


def _texts(column: Any) -> list[str | None]:
    """Levels of the rows as text; None where a row has none."""
    null = np.asarray(column.is_null().to_numpy(), dtype=bool)
    return [None if no else str(value) for value, no in zip(column.to_list(), null, strict=True)]


def values_of(frame: Any, name: str) -> Array:
    """Return all rows of a frame without ids, in their order."""
    rows = FrameRows.of(_wrapped(frame, name), name)
    return rows.numbers(rows.frame)


def _wrapped(frame: Any, name: str) -> Any:
    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError:
        raise DataError(
            f"view {name!r} is a {type(frame).__name__}; a pandas or polars DataFrame was expected "
            f"({'give its `.to_df()`' if hasattr(frame, 'to_df') else 'collect a lazy frame first'})."
        ) from None
    except ValueError as problem:  # two columns of the same name
        raise DataError(f"view {name!r} cannot be read: {' '.join(str(problem).split())}.") from problem


def _values(frame: Any) -> Array:
    numbers = frame.select(nw.all().cast(_common_float(frame)))
    values: Array = numbers.to_numpy()
    if values.dtype == object:  # null values in pandas' Arrow types
        values = numbers.to_native().to_numpy(dtype=np.float64, na_value=np.nan)
    return values


def _common_float(frame: Any) -> Any:
    small = (nw.Float32, nw.Int8, nw.Int16, nw.UInt8, nw.UInt16, nw.Boolean)
    return nw.Float32 if all(dtype in small for dtype in frame.schema.values()) else nw.Float64
