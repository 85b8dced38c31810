"""One chunk of Algorithm 1: assign its rows, then centres and labels in turn (Eq. 11-16)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from viewpass.kernels.grid import Begin, Floats, Integers, Labels, RowKind
from viewpass.kernels.reference.centres import Centres, loss, renewed
from viewpass.kernels.reference.distances import assigned
from viewpass.kernels.reference.rows import Rows, accumulate


@dataclass(frozen=True)
class Rules:
    """The settings of the inner loop."""

    alpha: Floats  # of each view
    max_iter: int
    tol: float
    fill: bool
    zero_filled: bool


def assign(rows: Rows, centres: Centres, labels: Labels, n_threads: int) -> tuple[int, Floats]:
    """Every row to its nearest centre. Returns the worst kind of row, and the margins.  OUT labels."""
    worst = RowKind.PRESENT if rows.measured else rows.measure(n_threads)
    labels[:], margins = assigned(rows, centres)
    return worst, margins


def run_chunks(
    rows: Rows,
    size: int,
    begin: int,
    first: bool,
    sums: Sequence[Integers],
    counts: Integers,
    centres: Centres,
    rules: Rules,
    labels: Labels,
    margins: Floats,
    n_threads: int,
) -> tuple[int, Floats, int, float, Centres]:
    """Chunks of `size` rows, one after another.

    INOUT sums, counts, labels; OUT margins. Returns the number of rows done, the losses, the number of
    updates, rows x distance passes, and the centres.
    """
    losses: list[float] = []
    n_done = n_iter = 0
    for start in range(0, rows.n_rows, size):
        part = slice(start, min(start + size, rows.n_rows))
        chunk = rows.part(part.start, part.stop)
        if not chunk.measured and chunk.measure(n_threads) > RowKind.PRESENT:
            break
        centres = centres.suited(rows)
        made = _Chunk(chunk, rules, sums, counts, labels[part])
        centres, value, number = made.run(begin, centres, first)
        labels[part], margins[part] = made.labels, made.margins
        losses.append(value)
        n_iter += number
        n_done, first = part.stop, False
    else:
        rows.measured = True
    return n_done, np.array(losses), n_iter, float(n_done), centres


class _Chunk:
    def __init__(
        self,
        rows: Rows,
        rules: Rules,
        sums: Sequence[Integers],
        counts: Integers,
        labels: Labels,
    ) -> None:
        self.rows, self.rules, self.sums, self.counts = rows, rules, sums, counts
        self.labels = np.where(rows.has_any, labels, -1).astype(np.int32)
        self.margins = np.full(rows.n_rows, np.inf)
        self.left_out = np.zeros(rows.n_rows, dtype=bool)

    def run(self, begin: int, centres: Centres, first: bool) -> tuple[Centres, float, int]:
        rows, rules = self.rows, self.rules
        if begin in (Begin.CENTRES, Begin.SOFT_CENTRES):
            self.labels, self.margins = assigned(rows, centres)
        else:
            self.left_out = self.labels < 0  # given as -1: they stay out
        if begin != Begin.COUNTED:
            accumulate(rows, None, self.labels, 1, self.sums, self.counts, 1)
        n_done, last = 0, None
        if begin == Begin.SOFT_CENTRES:
            n_done, last = 1, loss(centres, self.sums, self.counts, rules.alpha, None)
        return self._iterate(centres, first, n_done, last)

    def _iterate(
        self, centres: Centres, first: bool, n_iter: int, last: float | None
    ) -> tuple[Centres, float, int]:
        rows, rules = self.rows, self.rules
        seen = rows.seen
        value = loss(centres, self.sums, self.counts, rules.alpha, None) if last is None else last
        changed = np.ones(centres.n_clusters, dtype=bool)
        fill = None if not rules.fill else "mean" if first else "last"
        zeros_too = first and rules.zero_filled
        means = [rows.mean(v, zeros_too=zeros_too) if fill and seen[v] else None for v in range(rows.n_views)]
        while seen.any() and n_iter < rules.max_iter:
            n_iter += 1
            given = seen, changed, rules.alpha, fill, means
            centres = renewed(centres, self.sums, self.counts, *given)
            before, (self.labels, self.margins) = self.labels, assigned(rows, centres)
            self.labels[self.left_out] = -1
            moved = np.flatnonzero((before != self.labels) & (rows.copies > 0))
            accumulate(rows, moved, before, -1, self.sums, self.counts, 1)
            accumulate(rows, moved, self.labels, 1, self.sums, self.counts, 1)
            changed = np.zeros_like(changed)
            changed[before[moved]] = changed[self.labels[moved]] = True
            value = loss(centres, self.sums, self.counts, rules.alpha, changed)
            if not len(moved) or (last is not None and abs(value - last) < rules.tol * abs(last)):
                break
            last = value
        return centres, value, n_iter
