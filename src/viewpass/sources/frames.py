"""`vp.frames`: data frames of pandas or polars, one per view, whose rows are matched by id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from hashlib import sha256
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from viewpass.errors import DataError
from viewpass.kernels.grid import Array, Integers, Matrix
from viewpass.sources.encoding import Encoding
from viewpass.sources.ids import match_ids, read_ids, warn_apart
from viewpass.sources.modalities import PLAIN_TYPES, Modality, Part, is_anndata
from viewpass.sources.source import Source, check_known, spans
from viewpass.views.chunk import Chunk, Schema, unique_names


class FrameSource(Source):
    """Items whose ids (`row_ids`) are the union of the frames' ids, in first-seen order.

    Made by `vp.frames`. The frames are converted chunk by chunk, not copied as a whole.
    """

    n_rows: int
    row_ids: Array

    def __init__(self, frames: Any, id: str | None = None, *, encode: bool = False) -> None:
        if not isinstance(frames, Mapping) or not frames:
            raise DataError("vp.frames takes a dict of frames: {'image': df1, 'text': df2}.")
        ids: dict[str, Array] = {}
        self._frames: dict[str, Any] = {}
        self._encodings: dict[str, Encoding] = {}
        for name, frame in zip(unique_names(frames), frames.values(), strict=True):
            if is_anndata(frame):
                self._frames[name] = own = Modality.of(frame, Part(), name)
                ids[name] = own.ids
                continue
            wrapped = _wrapped(frame, name)
            ids[name] = read_ids(wrapped, name, id)
            if encode:
                self._frames[name] = own = wrapped[:, _features(wrapped, name, id)]
                self._encodings[name] = Encoding.learn(own, name)
            else:
                self._frames[name] = _numbers(wrapped, name, id)
        _check_one_kind(self._frames)
        self.row_ids, self._places = match_ids(ids)
        warn_apart(ids, self._places)
        self.n_rows = len(self.row_ids)
        self.id_name = id
        self._describe()
        self.sparse_widths = {
            name: own.width
            for name, own in self._frames.items()
            if isinstance(own, Modality) and own.rows.sparse
        }

    def _describe(self) -> None:
        encoded = {name: own.names for name, own in self._encodings.items()}
        columns = tuple(encoded.get(name, tuple(frame.columns)) for name, frame in self._frames.items())
        self.schema = Schema(tuple(self._frames), tuple(map(len, columns)), columns)

    def suited(self, schema: Schema) -> FrameSource:
        """The same rows with the levels of encoded columns that a model was fitted with."""
        if not self._encodings:
            return self
        made = copy(self)
        made._encodings = {
            name: own.suited(schema.columns_of(name) or (), self._frames[name], name)
            for name, own in self._encodings.items()
        }
        made._describe()
        return made

    def chunks(self, size: int, start: int = 0) -> Iterator[Chunk]:
        """Read the items from `start` on, in chunks that end at multiples of `size`."""
        for first, stop in spans(self.n_rows, size, start):
            places = [self._places[name][first:stop] for name in self._frames]
            yield Chunk.of(
                [
                    _rows(frame, place, self._encodings.get(name))
                    for (name, frame), place in zip(self._frames.items(), places, strict=True)
                ],
                names=self.schema.names,
                observed=np.column_stack([place >= 0 for place in places]),
                start=first,
                row_ids=self.row_ids[first:stop],
                columns=self.schema.columns,
            )

    def arranged(self, names: tuple[str, ...]) -> FrameSource:
        """Return the same items with the views in this order; views that were not given are absent."""
        check_known(tuple(self._frames), names)
        if names == self.schema.names:
            return self
        made = copy(self)
        made._frames = {name: self._frames.get(name) for name in names}
        absent = np.full(self.n_rows, -1)
        made._places = {name: self._places.get(name, absent) for name in names}
        made.schema = self.schema.arranged(names)
        return made

    def identity(self) -> dict[str, Any]:
        """The columns of each view, and a hash of the ids."""
        digest = sha256("\n".join(map(str, self.row_ids.tolist())).encode("utf-8", "surrogatepass"))
        columns = {name: self.schema.columns_of(name) for name in self.schema.names}
        views = {name: None if own is None else list(map(str, own)) for name, own in columns.items()}
        return {
            "kind": "frames",
            "rows": self.n_rows,
            "views": views,
            "ids": digest.hexdigest()[:16],
        }


def frames(frames: Mapping[str, Any], id: str | None = None, *, encode: bool = False) -> FrameSource:
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
    FrameSource
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
    return FrameSource(frames, id, encode=encode)


def is_frame(x: Any) -> bool:
    """Return whether x is a data frame of a kind that `vp.frames` accepts."""
    return not isinstance(x, PLAIN_TYPES) and nw.dependencies.is_into_dataframe(x)


def is_series(x: Any) -> bool:
    """Return whether x is one column: a series of pandas or polars, or a PyArrow array."""
    return not isinstance(x, PLAIN_TYPES) and nw.dependencies.is_into_series(x)


def is_relation(x: Any) -> bool:
    """Return whether x is a DuckDB relation; those of old versions export no Arrow stream."""
    return type(x).__module__.split(".")[0] in ("duckdb", "_duckdb") and hasattr(x, "project")


def holds_lists(series: Any) -> bool:
    """Return whether the rows of a column are lists (or structs, as sparse rows are)."""
    column = series if isinstance(series, nw.Series) else nw.from_native(series, series_only=True)
    if column.dtype != nw.Object:
        return _is_nested(column.dtype)
    values = (value for value in column.to_native() if not _is_null(value))
    return isinstance(next(values, None), list | tuple | np.ndarray | Mapping)


def _is_nested(dtype: Any) -> bool:
    return dtype in (nw.List, nw.Array, nw.Struct)


def _is_null(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ == "NAType"


def list_columns(frame: Any) -> list[str]:
    """Return the columns of a frame whose rows are lists; none if two columns have the same name."""
    try:
        table = nw.from_native(frame, eager_only=True)
    except ValueError:
        return []
    nested = (name for name, dtype in table.schema.items() if _is_nested(dtype) or dtype == nw.Object)
    return [name for name in nested if holds_lists(table[name])]


def common_index(views: Sequence[Any], names: Sequence[str]) -> Any:
    """Return the index of the pandas frames and series among the views, None if there are none.

    Refuse indexes that differ: the rows of views in a list are matched by position.
    """
    indexes = [
        (name, x.index)
        for x, name in zip(views, names, strict=True)
        if hasattr(getattr(x, "index", None), "equals") and (is_frame(x) or is_series(x))
    ]
    for name, index in indexes[1:]:
        if not index.equals(indexes[0][1]):
            raise DataError(
                f"views {indexes[0][0]!r} and {name!r} are frames with different indexes. Match rows by "
                "index with vp.frames({name: frame, ...}), or by position with arrays (`.to_numpy()`)."
            )
    return indexes[0][1] if indexes else None


def column_names(x: Any) -> tuple[str, ...] | None:
    """Return the names of a frame's columns; None if x is no frame, or its columns are numbered."""
    if not is_frame(x):
        return None
    names = tuple(getattr(x, "column_names", None) or x.columns)  # `columns` of a PyArrow table are data
    return names if names and all(isinstance(name, str) for name in names) else None


def values_of(frame: Any, name: str) -> Array:
    """Return all rows of a frame without ids, in their order."""
    return _values(_numbers(_wrapped(frame, name), name, None))


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


def _numbers(frame: Any, name: str, id: Any) -> Any:
    """Select all columns but the id; they must hold numbers."""
    places = _features(frame, name, id)
    for column, dtype in frame[:, places].schema.items():
        if not (dtype.is_numeric() or dtype == nw.Boolean):
            held = frame[:, list(frame.columns).index(column)].to_native()
            kind = str(getattr(held, "dtype", dtype))
            remedy = (
                "Encode text and categories as numbers (encode=True of vp.frames), or leave the column out."
            )
            if kind.startswith("Sparse"):
                remedy = "Give the frame as a sparse matrix: `x.sparse.to_coo().tocsr()`."
            raise DataError(
                f"view {name!r}, column {column!r} holds {kind} values, numbers were expected. {remedy}"
            )
    return frame[:, places]


def _features(frame: Any, name: str, id: Any) -> list[int]:
    """All columns but the id, by position since names need not be text."""
    places = [place for place, column in enumerate(frame.columns) if id is None or column != id]
    if not places:
        raise DataError(f"view {name!r} has no column besides the id.")
    return places


def _check_one_kind(frames: Mapping[str, Any]) -> None:
    plain = {name: frame for name, frame in frames.items() if not isinstance(frame, Modality)}
    kinds = {frame.implementation.name.lower(): name for name, frame in plain.items()}
    if len(kinds) > 1:
        found = " and ".join(f"{kind} ({name!r})" for kind, name in kinds.items())
        raise DataError(f"frames of {found}: give all views as the same kind of frame.")


def _rows(frame: Any, places: Integers, encoding: Encoding | None = None) -> Matrix | None:
    """Rows of a frame at these places; zero rows where the place is -1."""
    if isinstance(frame, Modality):
        return frame.rows.at(places)
    held = places >= 0
    if frame is None or not held.any():
        return None
    wanted = places[held]
    first = int(wanted[0])
    if len(wanted) == int(wanted[-1]) - first + 1 and (np.diff(wanted) == 1).all():
        part = frame[first : first + len(wanted)]
    else:
        part = frame[wanted]
    numbers = _values(part) if encoding is None else encoding.values(part)
    rows = np.zeros((len(places), numbers.shape[1]), dtype=numbers.dtype)
    rows[held] = numbers
    return rows


def _values(frame: Any) -> Array:
    numbers = frame.select(nw.all().cast(_common_float(frame)))
    values: Array = numbers.to_numpy()
    if values.dtype == object:  # null values in pandas' Arrow types
        values = numbers.to_native().to_numpy(dtype=np.float64, na_value=np.nan)
    return values


def _common_float(frame: Any) -> Any:
    small = (nw.Float32, nw.Int8, nw.Int16, nw.UInt8, nw.UInt16, nw.Boolean)
    return nw.Float32 if all(dtype in small for dtype in frame.schema.values()) else nw.Float64
