"""The centres of a soft V (Eq. 11), and incomplete k-means++."""

from __future__ import annotations

import numpy as np

from viewpass.kernels.grid import STEP, Floats, Integers, Labels
from viewpass.kernels.reference import exact
from viewpass.kernels.reference.centres import Centres
from viewpass.kernels.reference.rows import Rows

NOTHING = 2.0**-46  # of the largest pivot: rounding alone


def soft_centres(
    rows: Rows, memberships: Floats, alpha: float, fill: bool, zero_filled: bool, n_threads: int
) -> Centres:
    """Solve (V'CV + alpha I) U = V'CX over the rows that have a view; sums run over rows in order.

    C is how often each row counts.
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
        if alpha == 0.0 and len(present) < n_clusters:  # the shortest of many solutions
            u = _sums(V, _solved(_sums(V.T, V.T), X))
        else:
            weights = V * rows.copies[present, None]
            u = _solved(_sums(weights, V) + alpha * np.eye(n_clusters), _sums(weights, X))
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
        if not a[k, k] > NOTHING * largest:
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


def draw_seeds(rows: Rows, points: Floats, n_threads: int) -> Labels:
    """Sets of seeds far apart; each row's nearest seed of each set (sets x rows)."""
    n_seeds, n_sets = points.shape
    if rows.n_rows == 0:
        return np.zeros((n_sets, 0), dtype=np.int32)
    present, view_weights = rows.inverse > 0, rows.weights
    squares = [rows.squares(v) for v in range(rows.n_views)]
    weights = np.zeros(rows.n_rows)
    for v in range(rows.n_views):
        weights += np.where(present[v], view_weights[v] * rows.copies, 0.0)
    views = [None if rows.views[v] is None else rows.values(v) for v in range(rows.n_views)]
    nearest = np.full((n_sets, rows.n_rows), np.inf)
    labels = np.zeros((n_sets, rows.n_rows), dtype=np.int32)
    for k in range(n_seeds):
        for c in range(n_sets):
            seed = _drawn(nearest[c], weights, rows.copies, float(points[k, c]))
            total, shared = np.zeros(rows.n_rows), np.zeros(rows.n_rows)
            for v, x in enumerate(views):
                if x is None or not present[v, seed]:
                    continue
                dots = exact.ordered_sum(x * x[seed]) * rows.inverse[v] * rows.inverse[v, seed]
                far = np.maximum((squares[v] + squares[v][seed]) - 2.0 * dots, 0.0)
                total += np.where(present[v], far, 0.0)
                shared += np.where(present[v], view_weights[v], 0.0)
            mean = np.divide(total, shared, out=np.full_like(total, np.inf), where=shared > 0)
            closer = mean < nearest[c]
            nearest[c, closer], labels[c, closer] = mean[closer], k
    return labels


def _drawn(nearest: Floats, weights: Floats, copies: Integers, point: float) -> int:
    known = np.isfinite(nearest)
    n_known = int(copies[known].sum())
    unknown = np.cumsum(nearest[known] * copies[known])[-1] / n_known if n_known else 1.0
    reach = np.cumsum(np.where(known, nearest, unknown) * weights)
    if not reach[-1] > 0:  # every row coincides with a seed: any row that has a view will do
        reach = np.cumsum(weights)
    return int(min(np.searchsorted(reach, point * reach[-1], side="right"), len(reach) - 1))
