"""Data frames of pandas or polars, one a view, rows matched by id: an absent id is a missing view."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from viewpass.errors import DataError
from viewpass.kernels.grid import Array, Integers
from viewpass.views.chunk import Chunk, Schema


class FrameSource:
    """Items are the union of the frames' ids, in first-seen order; `row_ids` holds them.

    Made by `vp.frames`. The frames are read a chunk at a time; they are not copied whole.
    """

    def __init__(self, frames: Mapping[str, Any], id: str | None = None) -> None:
        if not isinstance(frames, Mapping) or not frames:
            raise DataError("vp.frames takes a dict of frames: {'image': df1, 'text': df2}.")
        ids: dict[str, Array] = {}
        self._frames: dict[str, Any] = {}
        for name, frame in frames.items():
            wrapped = _wrapped(frame, str(name))
            ids[str(name)] = _ids(wrapped, str(name), id)
            self._frames[str(name)] = _numbers(wrapped, str(name), id)
        _check_one_kind(self._frames)
        self.row_ids, self._places = _matched(ids)
        self.n_rows = len(self.row_ids)
        self.schema = Schema(
            tuple(self._frames), tuple(len(frame.columns) for frame in self._frames.values())
        )

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Read all items, `size` at a time."""
        for start in range(0, self.n_rows, size):
            places = [self._places[name][start : start + size] for name in self._frames]
            yield Chunk.of(
                [_rows(frame, place) for frame, place in zip(self._frames.values(), places, strict=True)],
                names=self.schema.names,
                observed=np.column_stack([place >= 0 for place in places]),
                start=start,
                row_ids=self.row_ids[start : start + size],
            )

    def arranged(self, names: tuple[str, ...]) -> FrameSource:
        """The same items with the views in this order; views that were not given are absent."""
        for name in self._frames:
            if name not in names:
                known = ", ".join(map(repr, names))
                raise DataError(f"view {name!r} is unknown; the views are {known}.")
        if names == self.schema.names:
            return self
        made = object.__new__(FrameSource)
        made._frames = {name: self._frames.get(name) for name in names}
        absent = np.full(self.n_rows, -1)
        made._places = {name: self._places.get(name, absent) for name in names}
        made.row_ids, made.n_rows = self.row_ids, self.n_rows
        widths = dict(zip(self.schema.names, self.schema.widths, strict=True))
        made.schema = Schema(names, tuple(widths.get(name) for name in names))
        return made


def frames(frames: Mapping[str, Any], id: str | None = None) -> FrameSource:
    """Match the rows of several data frames by id; an id absent from a frame is a missing view.

    Parameters
    ----------
    frames : dict of str to DataFrame
        One frame a view, all of pandas or all of polars. Every column but the id is a feature.
    id : str, optional
        The column that holds the id. By default the index of a pandas frame.

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
    return FrameSource(frames, id)


def _wrapped(frame: Any, name: str) -> Any:
    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError:
        raise DataError(
            f"view {name!r} is a {type(frame).__name__}; a pandas or polars DataFrame was "
            "expected (collect a lazy frame first)."
        ) from None


def _ids(frame: Any, name: str, id: str | None) -> Array:
    if id is None:
        index = nw.maybe_get_index(frame)
        if index is None:
            raise DataError(
                f"view {name!r}: a {frame.implementation} frame has no index to match rows by; "
                "name the id column with id=."
            )
        ids = np.asarray(index)
    elif id not in frame.columns:
        raise DataError(f"view {name!r} has no column {id!r} to match rows by.")
    else:
        column = frame[id]
        if column.null_count():
            row = int(np.flatnonzero(column.is_null().to_numpy())[0])
            raise DataError(f"view {name!r}, row {row}: the id {id!r} is null.")
        ids = column.to_numpy()
    seen: dict[Any, int] = {}
    for row, value in enumerate(ids.tolist()):
        if value in seen:
            raise DataError(
                f"view {name!r}: id {value!r} stands in rows {seen[value]} and {row}. "
                "An item may have one row a view; remove or aggregate the others."
            )
        seen[value] = row
    return ids


def _numbers(frame: Any, name: str, id: str | None) -> Any:
    columns = [column for column in frame.columns if column != id]
    if not columns:
        raise DataError(f"view {name!r} has no column besides the id.")
    for column in columns:
        dtype = frame.schema[column]
        if not (dtype.is_numeric() or dtype == nw.Boolean):
            raise DataError(
                f"view {name!r}, column {column!r} holds {dtype} values, numbers were expected. "
                "Encode text and categories as numbers, or leave the column out."
            )
    return frame.select(columns)


def _check_one_kind(frames: Mapping[str, Any]) -> None:
    kinds = {str(frame.implementation): name for name, frame in frames.items()}
    if len(kinds) > 1:
        told = " and ".join(f"{kind} ({name!r})" for kind, name in kinds.items())
        raise DataError(f"frames of {told}: give all views as the same kind of frame.")


def _matched(ids: Mapping[str, Array]) -> tuple[Array, dict[str, Integers]]:
    order: dict[Any, int] = {}
    for values in ids.values():
        for value in values.tolist():
            order.setdefault(value, len(order))
    places = {}
    for name, values in ids.items():
        place = np.full(len(order), -1)
        place[[order[value] for value in values.tolist()]] = np.arange(len(values))
        places[name] = place
    parts = list(ids.values())
    if len({part.dtype for part in parts}) == 1:
        everyone = np.empty(len(order), dtype=parts[0].dtype)
        for name, values in ids.items():
            held = places[name] >= 0
            everyone[held] = values[places[name][held]]
    else:
        everyone = np.array(list(order), dtype=None)
    return everyone, places


def _rows(frame: Any, places: Integers) -> Array | None:
    """Rows of a frame at these places; zero rows where the place is -1."""
    held = places >= 0
    if frame is None or not held.any():
        return None
    wanted = places[held]
    first = int(wanted[0])
    if len(wanted) == int(wanted[-1]) - first + 1 and (np.diff(wanted) == 1).all():
        part = frame[first : first + len(wanted)]
    else:
        part = frame[wanted]
    numbers = part.select(nw.all().cast(_common_float(part))).to_numpy()
    rows = np.zeros((len(places), numbers.shape[1]), dtype=numbers.dtype)
    rows[held] = numbers
    return rows


def _common_float(frame: Any) -> Any:
    small = (nw.Float32, nw.Int8, nw.Int16, nw.UInt8, nw.UInt16, nw.Boolean)
    return nw.Float32 if all(dtype in small for dtype in frame.schema.values()) else nw.Float64
