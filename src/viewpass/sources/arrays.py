"""Source of arrays and CSR matrices, one per view, in memory or memory-mapped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np
import scipy.sparse

from viewpass.errors import DataError
from viewpass.kernels.grid import Array, Mask
from viewpass.sources.frames import values_of
from viewpass.sources.kinds import column_names, common_index, is_frame, is_series
from viewpass.sources.masks import as_mask
from viewpass.sources.quantised import Widened
from viewpass.sources.source import Source, spans
from viewpass.views.checks import as_view, check_mask, common_length, number_type
from viewpass.views.chunk import Chunk, Origin, Schema, cut_rows, default_names, unique_names

Columns = tuple[tuple[Any, ...] | None, ...]  # the names of each view's columns, where it has them


class ArraySource(Source):
    """Rows of several matrices: row i of every view is the same item.

    Chunks share memory with the views where no conversion is needed; otherwise each chunk is converted.

    Parameters
    ----------
    views : sequence or mapping of 2-D arrays or sparse matrices
        None is a view that no row has. A mapping names the views.
    observed : (n, n_views) array of bool, optional
        Which views each row has; the values of the others are ignored. Or a dict or frame whose columns
        are named after the views.
    """

    n_rows: int

    def __init__(
        self,
        views: Sequence[Any] | Mapping[str, Any],
        observed: Any = None,
        *,
        names: Sequence[str] | None = None,
        row_ids: Array | None = None,
        columns: Columns = (),
    ) -> None:
        self.named = isinstance(views, Mapping) or names is not None
        if isinstance(views, Mapping):
            names, views = unique_names(views), list(views.values())
        self._names = default_names(len(views)) if names is None else tuple(names)
        if not views:
            raise DataError("no view was given: pass a list or dict with one matrix per view.")
        index = common_index(views, self._names)
        columns = columns or tuple(map(column_names, views))
        self._views = [
            None if x is None else _readable(x, name) for x, name in zip(views, self._names, strict=True)
        ]
        self.n_rows = common_length(self._views, self._names)
        self._observed: Mask | None = None
        if observed is not None:
            mask = as_mask(observed, self._names, index)
            self._observed = check_mask(mask, self._views, self._names, self.n_rows)
        self.in_place = all(x is None or _in_place(x) for x in self._views)
        named = zip(self._names, self._views, strict=True)
        self.sparse_widths = {
            name: x.shape[1] for name, x in named if x is not None and scipy.sparse.issparse(x)
        }
        self.row_ids = row_ids
        widths = tuple(None if x is None else x.shape[1] or None for x in self._views)
        known = columns if any(own is not None for own in columns) else ()
        self.schema = Schema(self._names, widths, known)

    def _chunks(self, size: int, start: int) -> Iterator[Chunk]:
        for first, stop in spans(self.n_rows, size, start):
            yield Chunk(
                tuple(
                    None if x is None or x.shape[1] == 0 else _cut(x, first, stop, name)
                    for x, name in zip(self._views, self._names, strict=True)
                ),
                self._names,
                stop - first,
                None if self._observed is None else self._observed[first:stop],
                Origin(first, None if self.row_ids is None else self.row_ids[first:stop]),
                self.schema.columns,
                stated=self._observed is not None,
            )

    def arranged(self, names: tuple[str, ...]) -> ArraySource:
        """Return the same rows with the views in this order; views without names are those of a model."""
        if self.named:
            return super().arranged(names)
        if len(names) != len(self._names):
            raise DataError(
                f"{len(self._names)} views were given, the model has {len(names)} "
                f"({', '.join(map(repr, names))}). Pass None for a view that is absent."
            )
        return ArraySource(
            self._views, self._observed, names=names, row_ids=self.row_ids, columns=self.schema.columns
        )

    def suited(self, schema: Schema) -> ArraySource:
        """Return the same rows with the columns of frames in the order that a model knows."""
        views, columns = list[Any](self._views), dict(zip(self._names, self.schema.columns, strict=False))
        for v, name in enumerate(self._names):
            mine, wanted = columns.get(name), schema.columns_of(name)
            if mine is not None and wanted is not None and mine != wanted and set(mine) == set(wanted):
                views[v], columns[name] = views[v][:, [mine.index(column) for column in wanted]], wanted
        return self._with(_views=views, schema=replace(self.schema, columns=tuple(columns.values())))

    def identity(self) -> dict[str, Any]:
        """Shapes, types and a hash of the first and last rows."""
        return {
            "kind": "arrays",
            "rows": self.n_rows,
            "views": {
                name: None if x is None else [x.shape[1], str(x.dtype), _hash_of_ends(x)]
                for x, name in zip(self._views, self._names, strict=True)
            },
        }


def _hash_of_ends(x: Any) -> str:
    """Hash a few rows: cheap, and enough to notice that other data was given."""
    digest = sha256()
    for part in (x[: min(8, x.shape[0])], x[max(0, x.shape[0] - 8) :]):
        for array in (part.data, part.indices, part.indptr) if scipy.sparse.issparse(part) else (part,):
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def _readable(x: Any, name: str) -> Any:
    """Check type and shape; convert only what cannot be converted chunk by chunk."""
    if isinstance(x, Widened):
        return x
    if is_frame(x):
        return values_of(x, name)
    if is_series(x) or (isinstance(x, np.ndarray) and x.ndim == 1):
        raise DataError(
            f"view {name!r} has 1 dimension(s), 2 (rows x columns) were expected. Give one column as "
            "`np.reshape(x, (-1, 1))`, one row as `np.reshape(x, (1, -1))`, rows that are lists as "
            "`np.stack(x)`."
        )
    if (
        scipy.sparse.issparse(x)
        or not isinstance(x, np.ndarray)
        or isinstance(x, np.ma.MaskedArray)
        or x.dtype.kind == "O"
    ):
        return as_view(x, name)
    if x.ndim != 2:
        raise DataError(f"view {name!r} has {x.ndim} dimension(s), 2 (rows x columns) were expected.")
    number_type(x.dtype, name)
    return x


def _in_place(x: Any) -> bool:
    """Return whether `_cut` copies no values."""
    if scipy.sparse.issparse(x) or isinstance(x, Widened):
        return not isinstance(x, Widened)
    return bool(x.flags.c_contiguous and x.dtype in (np.float32, np.float64))


def _cut(x: Any, start: int, stop: int, name: str) -> Any:
    """Return rows of a view that `_readable` has checked, without copying where possible."""
    rows = cut_rows(x, start, stop)
    return rows if scipy.sparse.issparse(rows) else as_view(rows, name, start)
