"""A linear map of dense views to fewer columns, learnt from the first rows, then fixed.

    y = D (x / |x| - mean)      D: a direction per mapped column (solve/projection.py learns it)

It follows the scaling. The rows y are brought to unit length like others, and are what centres or anchors are
made of. The chunk keeps the rows in their own columns as well (`Chunk.unmapped`), for sums in these. A
missing view stays missing; a row equal to the mean has no direction after the map and counts as missing in
that view. Sparse views, and views with no more columns than the map would give, are not mapped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Floats, Matrix
from viewpass.kernels.threads import cached_property
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows

MOST_COLUMNS = 100  # after the map
LEAST_COLUMNS = 2  # of unit length, a single one would be a sign


@dataclass(frozen=True)
class ViewMap:
    """The map of one view."""

    directions: Floats  # mapped columns x columns
    mean: Floats  # of unit rows

    @cached_property
    def offsets(self) -> Floats:
        """The mean, mapped."""
        found: Floats = backend().products(self.directions, self.mean[None, :])[:, 0]
        return np.ascontiguousarray(found)

    @cached_property
    def inverse(self) -> Floats:
        """The least-squares inverse of the map, (D D')^-1 D."""
        gram = self.directions @ self.directions.T
        return np.asarray(np.linalg.solve(gram, self.directions), dtype=np.float64)

    @property
    def n_columns(self) -> int:
        """Number of columns after the map."""
        return len(self.directions)


@dataclass(frozen=True)
class Projection:
    """The map of every view; None leaves a view in its own columns."""

    views: tuple[ViewMap | None, ...]

    def widths(self, widths: Sequence[int | None]) -> tuple[int | None, ...]:
        """Columns of each view after the map, given those before; None: not known."""
        return tuple(
            width if own is None else own.n_columns for own, width in zip(self.views, widths, strict=True)
        )

    def apply(self, chunk: Chunk, *, n_threads: int = 1) -> Chunk:
        """Map scaled rows, which do not keep their lengths then; rows that cannot be used are refused."""
        unit = replace(chunk, lengths=None, odd=replace(chunk.odd, shortened=None))
        rows = MeasuredRows(unit).measure(n_threads)
        chunk = rows.mended
        views, own = list(chunk.views), list[Matrix | None]([None] * rows.n_views)
        present = rows.inverse.T > 0
        zeros = (
            np.zeros(present.shape, dtype=bool) if chunk.odd.all_zero is None else chunk.odd.all_zero.copy()
        )
        for v, (view, map_) in enumerate(zip(chunk.views, self.views, strict=True)):
            zeros[rows.zeros(v), v] = True
            if map_ is None or view is None:
                continue
            if hasattr(view, "toarray"):  # the view was dense when the map was learnt
                view = view.toarray()
            own[v], mapped = view, np.empty((chunk.n_rows, map_.n_columns), dtype=view.dtype)
            given = view, rows.inverse[v], map_.directions, map_.offsets, mapped, n_threads
            present[:, v] = backend().map_rows(*given)
            views[v] = mapped
        odd = replace(chunk.odd, all_zero=zeros if zeros.any() else None)
        kept = replace(chunk, observed=present, odd=odd)
        unmapped = replace(kept, views=tuple(own), odd=replace(odd, all_zero=None))
        return replace(kept, views=tuple(views), unmapped=unmapped if any(self.views) else None)
