"""What the sample showed about rows that lack views, frozen with the model: the data that reasons rest on.

A presence pattern is a whole number whose bit v says that a row has view v. For each pattern that was looked
at, in ascending order:

    margins, agreement   a curve: of rows whose margin is like this, the share that keep their label when
                         the other views are known
    distances            quantiles of the distance to the nearest centre (or small cluster), at LEVELS
    slopes, scores,      of views estimated from these: factor of the estimate, share of the squared error
    spreads              of the mean that it saves (0: nothing is known), root mean square error per value
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from viewpass.kernels.grid import Array, Floats, Integers
from viewpass.kernels.threads import cached_property

BINS = 16  # of a curve of confidence
# Of typical distances; then comes the mean excess beyond the last.
LEVELS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 0.99, 0.997)


@dataclass(frozen=True, eq=False)
class Calibration:
    """Curves of confidence, typical distances and estimates of missing views, by presence pattern."""

    patterns: Integers  # (P,)
    margins: Floats  # (P, 2 * BINS), ascending: where groups begin and end
    agreement: Floats  # (P, 2 * BINS), ascending
    distances: Floats  # (P, len(LEVELS) + 1)
    slopes: Floats  # (P, n_views)
    scores: Floats  # (P, n_views)
    spreads: Floats  # (P, n_views)
    means: tuple[Floats | None, ...]  # per view: the mean of these rows in the model's scale
    n_rows: int = 0  # that had been read when it was learnt
    deviations: tuple[Floats | None, ...] = ()  # per view whose columns have names: of these, as unit rows
    small: tuple[Array, ...] = ()  # per view: means of small clusters (float32), if centres are few

    @cached_property
    def _places(self) -> dict[int, int]:
        return {int(pattern): place for place, pattern in enumerate(self.patterns)}

    def place(self, pattern: int) -> int:
        """The entry that rows of a pattern go by; -1 if there is none.

        That of the pattern, or of the largest part of it: a row with more views is no less sure.
        """
        if pattern in self._places:
            return self._places[pattern]
        parts = [known for known in self._places if known & pattern == known]
        best = max(parts, key=lambda known: (known.bit_count(), -known), default=None)
        return -1 if best is None else self._places[best]

    def kept(self, pattern: int) -> float | None:
        """The share of labels that rows of a pattern keep when all views are known; None: not looked at."""
        place = self._places.get(pattern)
        if place is None:
            return None
        knots, shares = self.margins[place], self.agreement[place]
        whole = knots[-1] > knots[0]  # knots beyond the last group repeat it
        return float(shares[: int(np.argmax(knots == knots[-1])) + 1].mean() if whole else shares[0])

    def places(self, patterns: Integers) -> Integers:
        """The same for the patterns of many rows."""
        found, inverse = np.unique(patterns, return_inverse=True)
        known = np.array([self.place(int(pattern)) for pattern in found], dtype=np.int64)
        places: Integers = known[inverse]
        return places


def interpolated(knots: Floats, values: Floats, places: Integers, x: Floats) -> Floats:
    """Values of curves at x, which goes by the curve of its place: linear between knots, level outside."""
    found = np.zeros(len(x))
    for place in np.unique(places).tolist():
        mine = np.flatnonzero(places == place)
        xs, ys = knots[place], values[place]
        at = np.clip(x[mine], xs[0], xs[-1])
        lengths = np.diff(xs)
        slopes = np.zeros(len(xs) + 1)  # of what is left of each knot, and of what is right of all
        np.divide(np.diff(ys), lengths, out=slopes[1:-1], where=lengths > 0)
        right = np.searchsorted(xs, at, side="right")
        starts, levels = np.append(xs[:1], xs), np.append(ys[:1], ys)
        found[mine] = levels[right] + slopes[right] * (at - starts[right])
    return found


def rising(hits: Sequence[int], numbers: Sequence[int]) -> Floats:
    """The shares hits / numbers of consecutive groups, pooled where they fall (isotonic regression).

    Sums are whole numbers, so the result does not depend on any order.

    >>> rising([1, 3, 2], [4, 4, 4])
    array([0.25 , 0.625, 0.625])
    """
    blocks: list[tuple[int, int, int]] = []  # hits, number, groups
    for hit, number in zip(hits, numbers, strict=True):
        blocks.append((hit, number, 1))
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            last = blocks.pop()
            before = blocks.pop()
            blocks.append((before[0] + last[0], before[1] + last[1], before[2] + last[2]))
    return np.concatenate([np.full(groups, hit / number) for hit, number, groups in blocks])
