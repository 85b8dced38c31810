"""Statistics R, T and S of the rows read so far (Eq. 12-14): all that centres and objective need.

    R_v  sum of the unit rows of each cluster in view v
    T_v  number of rows of each cluster that view v has
    S_v  sum of |x|^2 over the rows of view v: their number, since rows have unit length; where they keep
         their lengths, a sum of its own, in whole numbers of SQUARE_STEP

Where views are mapped to fewer columns (views/projection.py), R is that of the mapped rows, and `unmapped`
has the sums of the same rows in the columns that the views had before.

Sums are whole numbers of grid steps (kernels/grid.py) and counts are integers, so adding, subtracting and
merging are exact, in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from viewpass.errors import DataError
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import MOST_ROWS, SQUARE_STEP, STEP, Array, Floats, Integers, Labels, Mask
from viewpass.sums.rules import Alpha, each_view
from viewpass.views.chunk import Chunk
from viewpass.views.rows import Kept, Lengthy, MeasuredRows


class Statistics:
    """Sums and counts of every cluster in every view.

    Parameters
    ----------
    n_clusters : int
    widths : sequence of int
        Columns of each view.

    Examples
    --------
    >>> import numpy as np
    >>> import viewpass as vp
    >>> rows = np.array([[3.0, 4.0], [0.0, 2.0], [5.0, 0.0]])
    >>> both = vp.Statistics(2, [2]).add([rows], np.array([0, 0, 1]))
    >>> both.sums(0)
    array([[0.6, 1.8],
           [1. , 0. ]])
    >>> both.counts[0]
    array([2, 1])
    >>> both.subtract([rows], np.array([0, 0, 1])) == vp.Statistics(2, [2])
    True
    """

    def __init__(self, n_clusters: int, widths: Sequence[int]) -> None:
        self._hold(
            n_clusters,
            widths,
            np.zeros(n_clusters * sum(widths), dtype=np.int64),
            np.zeros((len(widths), n_clusters), dtype=np.int64),
        )

    def _hold(
        self, n_clusters: int, widths: Sequence[int], flat: Integers, counts: Integers, kept: Kept = ()
    ) -> None:
        self.n_clusters = n_clusters
        self.kept = kept
        self.unmapped: Statistics | None = None  # of mapped views, in their own columns; others have none
        self.flat = flat  # the sums of all views in one array, as the kernels take them
        self.flat_counts = counts
        ends = n_clusters * np.cumsum([0, *widths])
        self.steps: list[Integers] = [
            flat[first:last].reshape(n_clusters, width)
            for first, last, width in zip(ends[:-1], ends[1:], widths, strict=True)
        ]
        self.counts: list[Integers] = list(counts)

    @classmethod
    def of(
        cls, n_clusters: int, widths: Sequence[int], flat: Integers, counts: Integers, kept: Kept = ()
    ) -> Statistics:
        """Statistics that hold these arrays, not copies."""
        made = cls.__new__(cls)
        made._hold(n_clusters, widths, flat, counts, kept)
        return made

    @property
    def widths(self) -> tuple[int, ...]:
        """Columns of each view."""
        return tuple(steps.shape[1] for steps in self.steps)

    @property
    def n_present(self) -> tuple[int, ...]:
        """Observed rows of each view."""
        return tuple(self.flat_counts.sum(axis=1).tolist())

    @property
    def squares(self) -> tuple[float, ...]:
        """S of each view without weights: its number of rows of unit length, or the sum of their squares."""
        return squares_of(self, (1,) * len(self.counts))

    def sums(self, view: int) -> Floats:
        """R of a view: the sum of the unit rows of each cluster."""
        return np.multiply(self.steps[view], STEP, dtype=np.float64)

    def centres(self, alpha: Alpha) -> list[Floats]:
        """U = R (T + alpha I)^-1 (Eq. 13); 0 where a cluster has no row of a view."""
        centres, alphas = [], each_view(alpha, len(self.counts))
        for v, counts in enumerate(self.counts):
            factors = STEP / np.where(counts > 0, counts + alphas[v], 1.0)
            centres.append(self.steps[v] * factors[:, None])
        return centres

    def objective(self, alpha: Alpha, weights: Sequence[float] | None = None) -> float:
        """J with the best centres for these labels: sum of `S_v - |R_k|^2 / (T_k + alpha)`.

        `alpha`: a number, or one for each view. `weights`: the squared lengths that the rows were brought to
        (`MeasuredRows.squares`); None: 1.
        """
        return float(sum(self.view_objectives(alpha, weights)))

    def view_objectives(self, alpha: Alpha, weights: Sequence[float] | None = None) -> list[float]:
        """The objective of each view alone."""
        shares, alphas = [], each_view(alpha, len(self.counts))
        for v, square in enumerate(squares_of(self, weights)):
            sums = self.sums(v)
            norms = np.einsum("kd,kd->k", sums, sums)
            rows = self.counts[v] + alphas[v]
            explained = np.divide(norms, rows, out=np.zeros_like(norms), where=rows > 0)
            shares.append(square - float(explained.sum()))
        return shares

    def add(self, views: Any, labels: Any, observed: Any = None) -> Statistics:
        """Add rows (a list of matrices) with their labels; -1 adds nothing. Returns itself."""
        return self._change(views, labels, observed, 1)

    def subtract(self, views: Any, labels: Any, observed: Any = None) -> Statistics:
        """Subtract rows that were added with these labels. Returns itself."""
        return self._change(views, labels, observed, -1)

    def merge(self, other: Statistics) -> Statistics:
        """The statistics of both sets of rows, as a new object: `self + other`."""
        return self + other

    def copy(self) -> Statistics:
        """An independent copy."""
        made = self._like(self.flat.copy(), self.flat_counts.copy(), self.kept)
        made.unmapped = None if self.unmapped is None else self.unmapped.copy()
        return made

    def in_columns(self, view: int) -> Statistics:
        """The statistics that have this view in its own columns: these, or `unmapped`."""
        own = self.unmapped
        return self if own is None or not own.widths[view] else own

    def all_in_columns(self) -> Statistics:
        """The same of all views in their own columns."""
        if self.unmapped is None:
            return self
        widths = [self.in_columns(v).widths[v] for v in range(len(self.widths))]
        made = Statistics(self.n_clusters, widths)
        for v in range(len(widths)):
            made.steps[v][:], made.counts[v][:] = self.in_columns(v).steps[v], self.counts[v]
        return made

    def grouped(self, groups: Array, n_groups: int) -> Statistics:
        """Statistics of groups of the clusters, given the group of each: their sums."""
        out = Statistics(n_groups, self.widths)
        out.kept = self.kept
        places = groups, np.arange(self.n_clusters)
        gather = csr_array(
            (np.ones(self.n_clusters, dtype=np.int64), places), shape=(n_groups, self.n_clusters)
        )
        out.flat_counts[:] = (gather @ self.flat_counts.T).T
        for mine, theirs in zip(out.steps, self.steps, strict=True):
            mine[:] = gather @ theirs
        out.unmapped = None if self.unmapped is None else self.unmapped.grouped(groups, n_groups)
        return out

    def widened(self, given: Sequence[int | None]) -> Statistics:
        """The same for views of these widths where they had none; itself if nothing changes."""
        widths = [mine or width or 0 for mine, width in zip(self.widths, given, strict=True)]
        if tuple(widths) == self.widths:
            return self
        wider = Statistics(self.n_clusters, widths)
        for v, steps in enumerate(self.steps):
            if steps.size:
                wider.steps[v][:] = steps
            wider.counts[v][:] = self.counts[v]
        wider.kept, wider.unmapped = self.kept, self.unmapped
        return wider

    def move(
        self,
        rows: MeasuredRows,
        labels: Labels,
        sign: int,
        n_threads: int = 1,
        which: Integers | None = None,
    ) -> None:
        """Add (sign 1) or subtract (sign -1) measured rows, all or those of `which`, in place."""
        some = None if which is None else which.astype(np.uint32)
        backend().accumulate(rows.handle, some, labels, sign, self.steps, self.flat_counts, n_threads)
        moved = labels >= 0
        if which is not None:
            among = np.zeros(len(labels), dtype=bool)
            among[which] = True
            moved &= among
        self.count_lengths(rows, moved, sign)
        if self.unmapped is not None and rows.unmapped is not None:
            self.unmapped.move(rows.unmapped, labels, sign, n_threads, which)

    def count_lengths(self, rows: MeasuredRows, which: Mask, sign: int = 1) -> None:
        """Add (or subtract) S of the rows of `which`, in the views that keep lengths."""
        if rows.chunk.lengths is not None:
            self.kept = _sum(self.kept, rows.squared_lengths(which), sign)

    def mean(self, view: int, rows: MeasuredRows, *, zeros_too: bool = False) -> Floats | None:
        """The mean of the rows, if nothing else was added; None if none of them has the view.

        `zeros_too`: rows without the view count as zeros.
        """
        number = rows.n_counted if zeros_too else int(self.counts[view].sum())
        if not self.counts[view].any():
            return None
        mean: Floats = self.steps[view].sum(axis=0) * STEP / number
        return mean

    def check_room(self) -> None:
        """Refuse counts for which the int64 sums might overflow, and those of rows that were never added."""
        if self.flat_counts.min(initial=0) < 0:
            raise DataError("the labels of the pass before are not those that the sums were made with.")
        if self.flat_counts.max(initial=0) > MOST_ROWS:
            raise DataError(
                f"a cluster has more than {MOST_ROWS:,} rows (or steps of 1/1024, by sample weight): its "
                "exact sums could overflow. Use more clusters, smaller weights, or fit parts of the data "
                "separately."
            )

    def __add__(self, other: Statistics) -> Statistics:
        self._check_same_shape(other)
        kept = _sum(self.kept, other.kept, 1)
        made = self._like(self.flat + other.flat, self.flat_counts + other.flat_counts, kept)
        made.unmapped = self.unmapped or other.unmapped
        if self.unmapped is not None and other.unmapped is not None:
            made.unmapped = added(self.unmapped, other.unmapped)
        return made

    def __sub__(self, other: Statistics) -> Statistics:
        self._check_same_shape(other)
        kept = _sum(self.kept, other.kept, -1)
        made = self._like(self.flat - other.flat, self.flat_counts - other.flat_counts, kept)
        if self.unmapped is not None and other.unmapped is not None:
            made.unmapped = self.unmapped - other.unmapped
        return made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Statistics):
            return NotImplemented
        return (
            (self.n_clusters, self.widths) == (other.n_clusters, other.widths)
            and np.array_equal(self.flat, other.flat)
            and np.array_equal(self.flat_counts, other.flat_counts)
            and not any(map(any, filter(None, _sum(self.kept, other.kept, -1))))
            and self.unmapped == other.unmapped
        )

    def __getstate__(self) -> dict[str, Any]:
        held = {"flat": self.flat, "counts": self.flat_counts, "kept": self.kept, "unmapped": self.unmapped}
        return {"n_clusters": self.n_clusters, "widths": self.widths, **held}

    def __setstate__(self, state: dict[str, Any]) -> None:
        held = state["flat"], state["counts"], state.get("kept", ())
        self._hold(state["n_clusters"], state["widths"], *held)
        self.unmapped = state.get("unmapped")

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        rows = ", ".join(f"{n:,}" for n in self.n_present)
        return f"Statistics(n_clusters={self.n_clusters}, widths={list(self.widths)}, rows=[{rows}])"

    def _like(self, flat: Integers, counts: Integers, kept: Kept) -> Statistics:
        return Statistics.of(self.n_clusters, self.widths, flat, counts, kept)

    def _check_same_shape(self, other: Statistics) -> None:
        if (self.n_clusters, self.widths) != (other.n_clusters, other.widths):
            raise DataError(
                f"statistics of {other.n_clusters} clusters with widths {list(other.widths)} do "
                f"not fit those of {self.n_clusters} clusters with widths {list(self.widths)}."
            )

    def _change(self, views: Any, labels: Any, observed: Any, sign: int) -> Statistics:
        chunk = Chunk.of(views, observed=observed)
        given = np.ascontiguousarray(labels, dtype=np.int32)
        if given.shape != (chunk.n_rows,):
            raise DataError(f"{given.size} labels for {chunk.n_rows} rows: one per row was expected.")
        if given.size and not (given.min() >= -1 and given.max() < self.n_clusters):
            raise DataError(f"labels must lie between -1 and {self.n_clusters - 1}.")
        for name, width, mine in zip(chunk.names, chunk.schema.widths, self.widths, strict=True):
            if width is not None and width != mine:
                raise DataError(f"view {name!r} has {width} columns, {mine} were expected.")
        self.move(MeasuredRows(chunk).measure(), given, sign)
        return self


def squares_of(total: Statistics, weights: Sequence[float] | None) -> tuple[float, ...]:
    """S of each view: its number of rows times their squared length, or the sum where they keep theirs."""
    weights = weights or (1,) * len(total.counts)
    kept = total.kept or (None,) * len(weights)
    return tuple(
        n_rows * weight if own is None else own.square * SQUARE_STEP
        for n_rows, weight, own in zip(total.n_present, weights, kept, strict=True)
    )


def _sum(one: Kept, other: Kept, sign: int) -> Kept:
    """The sum of both, or the difference."""
    one = one or tuple(None if b is None else Lengthy(0, 0) for b in other)
    other = other or tuple(None if a is None else Lengthy(0, 0) for a in one)
    return tuple(
        None
        if a is None or b is None
        else Lengthy(a.square + sign * b.square, a.n_shortened + sign * b.n_shortened)
        for a, b in zip(one, other, strict=True)
    )


def added(one: Statistics, other: Statistics) -> Statistics:
    """The sum of both; a view that has columns in only one of them keeps those."""
    widths = [max(pair) for pair in zip(one.widths, other.widths, strict=True)]
    return one.widened(widths) + other.widened(widths)
