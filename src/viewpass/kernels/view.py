"""One view's rows and centres, whatever their kind: what the core drives without knowing which."""

from __future__ import annotations

from typing import Any, Protocol

import scipy.sparse

from viewpass.kernels.dense_view import DenseCentres, DenseView
from viewpass.kernels.grid import Floats, Integers, Labels, Mask, Matrix
from viewpass.kernels.reference import ReferenceCentres, ReferenceView
from viewpass.kernels.scratch import Scratch
from viewpass.kernels.sparse_view import SparseCentres, SparseView


class View(Protocol):
    """Rows of one view. Row numbers count from the chunk's first row; absent rows have inverse 0."""

    kind: str
    shape: tuple[int, int]

    def measure(self, start: int, stop: int, wanted: Mask, inverse: Floats, status: Integers) -> None:
        """Norms and kinds of rows start..stop."""

    def read(
        self,
        start: int,
        stop: int,
        wanted: Mask,
        inverse: Floats,
        status: Integers,
        centres: Any,
        distance: Floats,
        slack: Floats,
        scratch: Scratch,
    ) -> None:
        """Measure rows start..stop and look at them, in one reading."""

    def look(
        self,
        rows: Integers,
        inverse: Floats,
        centres: Any,
        distance: Floats,
        slack: Floats,
        scratch: Scratch,
    ) -> None:
        """Add this view's distances of `rows`, and to `slack` what they may be off by."""

    def settle(self, rows: Integers, clusters: Integers, inverse: Floats, centres: Any, out: Floats) -> None:
        """Add this view's distances of (row, cluster) pairs, in float64 and fixed order."""

    def distances(self, rows: Integers, inverse: Floats, centres: Any, out: Floats, scratch: Scratch) -> None:
        """Add this view's distances of `rows` to all centres, in float64 and fixed order."""

    def add(
        self,
        rows: Integers,
        inverse: Floats,
        labels: Labels,
        sign: int,
        sums: Integers,
        counts: Integers,
    ) -> None:
        """Add rows to, or take them from, the sums and counts of their clusters."""

    def unit_rows(self, rows: Integers, inverse: Floats) -> Matrix:
        """Rows that are present, scaled to unit length and on the grid, in float64."""

    def weighed_sums(self, rows: Integers, inverse: Floats, memberships: Floats) -> Floats:
        """X'V of such rows (d x K) for a soft V, which has a line for each of `rows`."""


_CENTRES: dict[str, Any] = {
    "dense": DenseCentres,
    "sparse": SparseCentres,
    "reference": ReferenceCentres,
}


def view_of(x: Matrix, *, reference: bool = False) -> View:
    """Wrap a view's rows in the kernels of its kind."""
    if reference:
        return ReferenceView(x)
    return SparseView(x) if scipy.sparse.issparse(x) else DenseView(x)


def centres_of(kind: str, values: Floats, squares: Floats) -> Any:
    """Lay centres out as the views of `kind` want them."""
    return _CENTRES[kind](values, squares)
