"""The centres of a soft V (Eq. 11), and incomplete k-means++."""

from __future__ import annotations

import numpy as np

from viewpass.kernels.grid import STEP, Floats, Integers, Labels
from viewpass.kernels.portable import ordered_sum
from viewpass.kernels.reference.centres import Centres
from viewpass.kernels.reference.rows import Rows

NO_PIVOT = 2.0**-46  # of the largest pivot: rounding alone
NEAR_GROUPS = 4  # whose seeds a row is compared with


def soft_centres(
    rows: Rows, memberships: Floats, alpha: Floats, fill: bool, zero_filled: bool, n_threads: int
) -> Centres:
    """Solve (V'CV + alpha I) U = V'CX over the rows that have a view; sums run over rows in order.

    C is how often each row counts, alpha the ridge of the view.
    """
    n_clusters = memberships.shape[1]
    values: list[Floats | None] = []
    known = np.zeros((rows.n_views, n_clusters), dtype=bool)
    for v in range(rows.n_views):
        present = np.flatnonzero((rows.inverse[v] > 0) & (rows.copies > 0))
        if rows.views[v] is None or not len(present):
            values.append(None)
            continue
        V: Floats = memberships[present]
        X: Floats = np.multiply(rows.steps(v)[present], STEP, dtype=np.float64)
        if alpha[v] == 0.0 and len(present) < n_clusters:  # the shortest of many solutions
            u = _sums(V, _solved(_sums(V.T, V.T), X))
        else:
            weights = V * rows.copies[present, None]
            u = _solved(_sums(weights, V) + alpha[v] * np.eye(n_clusters), _sums(weights, X))
        counts = np.zeros(n_clusters)
        for row in V:
            counts += row
        if (counts == 0).any():
            u[counts == 0] = rows.mean(v, zeros_too=zero_filled) if fill else 0.0
        values.append(u)
        known[v] = (counts > 0) | fill
    return Centres(values, known)


def _sums(weights: Floats, values: Floats) -> Floats:
    """V'X, added up row after row."""
    total = np.zeros((weights.shape[1], values.shape[1]))
    for weight, value in zip(weights, values, strict=True):
        total += weight[:, None] * value
    return total


def _solved(a: Floats, b: Floats) -> Floats:
    """A^-1 B for a symmetric A by A = L D L'; an unknown whose pivot is nothing is 0."""
    a, b, n = a.copy(), b.copy(), len(a)
    largest = max(float(np.diagonal(a).max(initial=0.0)), 0.0)
    for k in range(n):
        if not a[k, k] > NO_PIVOT * largest:
            a[k, k] = 0.0
            continue
        factors = a[k, k + 1 :] / a[k, k]
        a[k + 1 :, k + 1 :] -= factors[:, None] * a[k, k + 1 :]
    for k in range(n):
        if a[k, k] > 0.0:
            b[k + 1 :] -= (a[k, k + 1 :] / a[k, k])[:, None] * b[k]
    for k in range(n - 1, -1, -1):
        if a[k, k] > 0.0:
            b[k] /= a[k, k]
            for i in range(k + 1, n):
                b[k] -= (a[k, i] / a[k, k]) * b[i]
        else:
            b[k] = 0.0
    return b


def draw_seeds(rows: Rows, points: Floats, n_groups: int, n_threads: int) -> Labels:
    """Sets of seeds far apart; each row's nearest seed of each set (sets x rows).

    The first `n_groups` seeds are drawn among all rows and split them into groups. The others are drawn
    within the groups, in proportion to the sum of distances in each group. A row is compared with
    the seeds of the groups whose first seeds are nearest.
    """
    n_seeds, n_sets = points.shape
    n_groups = min(n_groups, n_seeds)
    labels = np.zeros((n_sets, rows.n_rows), dtype=np.int32)
    for c in range(n_sets if rows.n_rows else 0):
        seeds, everyone = _SeedSet(rows, labels[c], n_groups), np.arange(rows.n_rows)
        for k in range(n_groups):
            seeds.compare(everyone, k, seeds.draw(everyone, float(points[k, c])))
        if n_groups == n_seeds:
            continue
        near = np.argsort(seeds.far, axis=0, kind="stable")[:NEAR_GROUPS]
        reach = np.cumsum([seeds.reach(np.flatnonzero(near[0] == j)) for j in range(n_groups)])
        if not reach[-1] > 0:
            continue
        ends = ((n_seeds - n_groups) * (reach / reach[-1])).astype(np.int64)
        group_of = np.searchsorted(ends, np.arange(n_seeds - n_groups), side="right")
        drawn = np.zeros(n_seeds, dtype=np.int64)
        for rank, group in enumerate(near):
            for k, j in enumerate(group_of, n_groups):
                mine = np.flatnonzero(group == j)
                if rank == 0:
                    drawn[k] = seeds.draw(mine, float(points[k, c]))
                seeds.compare(mine, k, int(drawn[k]))
    return labels


class _SeedSet:
    """How far each row is from the nearest seed of one set.  OUT labels."""

    def __init__(self, rows: Rows, labels: Labels, n_groups: int) -> None:
        self.rows, self.labels = rows, labels
        self.far = np.full((n_groups, rows.n_rows), np.inf)  # from the first seeds
        self.present = rows.inverse > 0
        self.nearest = np.full(rows.n_rows, np.inf)
        self.weights = np.zeros(rows.n_rows)
        for v in range(rows.n_views):
            self.weights += np.where(self.present[v], rows.weights[v] * rows.copies, 0.0)
        self.distances = RowDistances(rows)

    def _odds(self, which: Integers) -> Floats:
        """Odds of being drawn, added up in order; rows that share no view with a seed are averagely far."""
        far, copies = self.nearest[which], self.rows.copies[which]
        known = np.isfinite(far)
        n_known = int(copies[known].sum())
        unknown = np.cumsum(far[known] * copies[known])[-1] / n_known if n_known else 1.0
        odds: Floats = np.cumsum(np.where(known, far, unknown) * self.weights[which])
        return odds

    def reach(self, which: Integers) -> float:
        """How far some rows are in all, each times its weight."""
        return float(self._odds(which)[-1]) if len(which) else 0.0

    def draw(self, which: Integers, point: float) -> int:
        """Give the row at which the odds exceed the point's share of them."""
        odds = self._odds(which)
        if not odds[-1] > 0:  # every row coincides with a seed: any row that has a view will do
            odds = np.cumsum(self.weights[which])
        return int(which[min(np.searchsorted(odds, point * odds[-1], side="right"), len(odds) - 1)])

    def compare(self, which: Integers, k: int, seed: int) -> None:
        """Compare rows with seed number k, which is row `seed`."""
        mean = self.distances.mean(which, seed)
        if k < len(self.far):
            self.far[k, which] = mean
        closer = mean < self.nearest[which]
        self.nearest[which[closer]], self.labels[which[closer]] = mean[closer], k


class RowDistances:
    """Distances between the rows of a chunk."""

    def __init__(self, rows: Rows) -> None:
        self.rows, self.present = rows, rows.inverse > 0
        self.views = [None if rows.views[v] is None else rows.values(v) for v in range(rows.n_views)]
        self.squares = [rows.squares(v) for v in range(rows.n_views)]

    def mean(self, which: Integers, other: int) -> Floats:
        """Of rows `which` from another row; infinite where they share no view."""
        rows, squares = self.rows, self.squares
        total, shared = np.zeros(len(which)), np.zeros(len(which))
        for v, x in enumerate(self.views):
            if x is None or not self.present[v, other]:
                continue
            dots = ordered_sum(x[which] * x[other]) * rows.inverse[v, which] * rows.inverse[v, other]
            far = np.maximum((squares[v][which] + squares[v][other]) - 2.0 * dots, 0.0)
            total += np.where(self.present[v, which], far, 0.0)
            shared += np.where(self.present[v, which], rows.weights[v], 0.0)
        return np.divide(total, shared, out=np.full_like(total, np.inf), where=shared > 0)
