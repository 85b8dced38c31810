"""Arrays and CSR matrices in memory (or mapped into it), one a view."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

import numpy as np
import scipy.sparse

from viewpass.errors import DataError
from viewpass.kernels.grid import Array, Mask
from viewpass.sources.frames import is_frame, values_of
from viewpass.sources.source import Source, check_known, spans
from viewpass.views.checks import as_view, check_columns, check_observed, number_type
from viewpass.views.chunk import Chunk, Schema, cut_rows, default_names, unique_names


class ArraySource(Source):
    """Row i of every view is item i. Views are read where they lie; each chunk is converted alone.

    Parameters
    ----------
    views : sequence or mapping of 2-D arrays or sparse matrices
        None stands for a view that every row lacks. A mapping names the views.
    observed : (n, n_views) array of bool, optional
        Which views a row has; the contents of the others do not matter.
    """

    n_rows: int

    def __init__(
        self,
        views: Sequence[Any] | Mapping[str, Any],
        observed: Any = None,
        *,
        names: Sequence[str] | None = None,
        row_ids: Array | None = None,
    ) -> None:
        self.named = isinstance(views, Mapping) or names is not None
        if isinstance(views, Mapping):
            names, views = unique_names(views), list(views.values())
        self._names = default_names(len(views)) if names is None else tuple(names)
        if not views:
            raise DataError("no view was given: pass a list or dict with one matrix a view.")
        _check_indexes(views, self._names)
        self._views = [
            None if x is None else _readable(x, name) for x, name in zip(views, self._names, strict=True)
        ]
        self.n_rows = _common_length(self._views, self._names)
        self._observed: Mask | None = (
            None if observed is None else check_observed(observed, self.n_rows, len(self._names))
        )
        if self._observed is not None:  # kernels pass over what the mask hides; others read it
            for x, name in zip(self._views, self._names, strict=True):
                if scipy.sparse.issparse(x):
                    check_columns(x, f"view {name!r}")
        self.in_place = all(x is None or _in_place(x) for x in self._views)
        self.row_ids = row_ids
        self.schema = Schema(
            self._names, tuple(None if x is None else x.shape[1] or None for x in self._views)
        )

    def chunks(self, size: int, start: int = 0) -> Iterator[Chunk]:
        """Read the rows from `start` on, in chunks cut at multiples of `size`."""
        for first, stop in spans(self.n_rows, size, start):
            yield Chunk(
                tuple(
                    None if x is None or x.shape[1] == 0 else _cut(x, first, stop, name)
                    for x, name in zip(self._views, self._names, strict=True)
                ),
                self._names,
                stop - first,
                None if self._observed is None else self._observed[first:stop],
                first,
                None if self.row_ids is None else self.row_ids[first:stop],
            )

    def arranged(self, names: tuple[str, ...]) -> ArraySource:
        """The same rows with the views in this order; views the source lacks are absent."""
        if not self.named:
            if len(names) != len(self._names):
                raise DataError(
                    f"{len(self._names)} views were given, the model has {len(names)} "
                    f"({', '.join(map(repr, names))}). Pass None for a view that is absent."
                )
            return ArraySource(self._views, self._observed, names=names, row_ids=self.row_ids)
        place = {name: v for v, name in enumerate(self._names)}
        check_known(self._names, names)
        views = [self._views[place[name]] if name in place else None for name in names]
        observed = None
        if self._observed is not None:
            observed = np.zeros((self.n_rows, len(names)), dtype=bool)
            for v, name in enumerate(names):
                if name in place:
                    observed[:, v] = self._observed[:, place[name]]
        return ArraySource(views, observed, names=names, row_ids=self.row_ids)

    def identity(self) -> dict[str, Any]:
        """Shapes, types and a look at the first and last rows."""
        return {
            "kind": "arrays",
            "rows": self.n_rows,
            "views": {
                name: None if x is None else [x.shape[1], str(x.dtype), _look(x)]
                for x, name in zip(self._views, self._names, strict=True)
            },
        }


def _look(x: Any) -> str:
    """A hash of a few rows: cheap, and enough to notice that other data was given."""
    rows = x[: min(8, x.shape[0])], x[max(0, x.shape[0] - 8) :]
    told = sha256()
    for part in rows:
        for array in (part.data, part.indices, part.indptr) if scipy.sparse.issparse(part) else (part,):
            told.update(np.ascontiguousarray(array).tobytes())
    return told.hexdigest()[:16]


def _readable(x: Any, name: str) -> Any:
    """Look at type and shape only; convert now what cannot be cut row by row later."""
    if is_frame(x):
        return values_of(x, name)
    if scipy.sparse.issparse(x):
        return as_view(x, name)
    if not isinstance(x, np.ndarray) or isinstance(x, np.ma.MaskedArray) or x.dtype.kind == "O":
        return as_view(x, name)
    if x.ndim != 2:
        raise DataError(f"view {name!r} has {x.ndim} dimension(s), 2 (rows x columns) were expected.")
    number_type(x.dtype, name)
    return x


def _in_place(x: Any) -> bool:
    """Whether `_cut` copies no values."""
    if scipy.sparse.issparse(x):
        return True
    return bool(x.flags.c_contiguous and x.dtype in (np.float32, np.float64))


def _check_indexes(views: Sequence[Any], names: Sequence[str]) -> None:
    """Rows of frames in a list are matched by place: an index that says otherwise is not passed over."""
    indexes = [
        (name, x.index) for x, name in zip(views, names, strict=True) if is_frame(x) and hasattr(x, "index")
    ]
    for name, index in indexes[1:]:
        if not index.equals(indexes[0][1]):
            raise DataError(
                f"views {indexes[0][0]!r} and {name!r} are frames with different indexes. Match rows by "
                "index with vp.frames({name: frame, ...}), or by place with arrays (`.to_numpy()`)."
            )


def _common_length(views: Sequence[Any], names: Sequence[str]) -> int:
    lengths = [(name, x.shape[0]) for x, name in zip(views, names, strict=True) if x is not None]
    if not lengths:
        raise DataError("every view is None: there are no rows to read.")
    name, n_rows = lengths[0]
    for other, length in lengths[1:]:
        if length != n_rows:
            raise DataError(
                f"view {other!r} has {length} rows, view {name!r} has {n_rows}. Row i of every "
                "view must be the same item; mark absent ones with NaN or observed=, or match "
                "rows by id with vp.frames."
            )
    return int(n_rows)


def _cut(x: Any, start: int, stop: int, name: str) -> Any:
    """Rows of a view that `_readable` has looked at, without copying where that is possible."""
    rows = cut_rows(x, start, stop)
    return rows if scipy.sparse.issparse(rows) else as_view(rows, name)
