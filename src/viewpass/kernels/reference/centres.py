"""The centres U (Eq. 13), those of a soft V (Eq. 11), the fill of empty clusters, and the loss (Eq. 17)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from viewpass.kernels.grid import STEP, Floats, Integers, Mask
from viewpass.kernels.portable import ordered_sum
from viewpass.kernels.reference.rows import Rows

NO_PIVOT = 2.0**-46  # of the largest pivot: rounding alone


class Centres:
    """Centres of every view; a view without any yet is None."""

    def __init__(self, values: Sequence[Floats | None], known: Mask) -> None:
        self.all_values = [None if u is None else np.array(u, dtype=np.float64, order="C") for u in values]
        self.all_known: Mask = np.array(known, dtype=bool)
        self.traces = np.zeros(self.all_known.shape)  # u.R of the sums they were made from

    @property
    def n_clusters(self) -> int:
        """Centres per view."""
        return int(self.all_known.shape[1])

    def values(self, v: int) -> Floats | None:
        """The centres of a view."""
        return self.all_values[v]

    def known(self, v: int) -> Mask:
        """Whether each cluster ever had a centre in the view."""
        known: Mask = self.all_known[v]
        return known

    def squares(self, v: int) -> Floats:
        """|u_k|^2."""
        u = self.all_values[v]
        return np.zeros(self.n_clusters) if u is None else ordered_sum(u * u)

    def suited(self, rows: Any) -> Centres:
        """The same for rows of any kind."""
        return self


def _traces(centres: Floats, sums: Integers) -> Floats:
    """u_k.R_k of every cluster: the trace of Eq. 17, cluster by cluster."""
    return ordered_sum(centres * (sums * STEP))


def update_centres(
    centres: Centres,
    sums: Sequence[Integers],
    counts: Integers,
    seen: Mask,
    changed: Mask,
    alpha: Floats,
    fill: bool,
    means: Sequence[Floats | None],
) -> Centres:
    """Eq. 13 for clusters that changed; without rows they keep their last centre, or take the mean.

    `alpha`: the ridge of each view.
    """
    return renewed(centres, sums, counts, seen, changed, alpha, "last" if fill else None, means)


def renewed(
    centres: Centres,
    sums: Sequence[Integers],
    counts: Integers,
    seen: Mask,
    changed: Mask,
    alpha: Floats,
    fill: str | None,
    means: Sequence[Floats | None],
) -> Centres:
    """The same; `fill` is "last", "mean" (no last centre is kept), or None (zero)."""
    made = Centres(centres.all_values, centres.all_known)
    made.traces[:] = centres.traces
    for v, u in enumerate(made.all_values):
        if u is not None and not seen[v]:  # rows may have moved since
            made.traces[v] = _traces(u, sums[v])
    for v in np.flatnonzero(seen).tolist():
        before = centres.all_values[v]
        u = np.zeros(sums[v].shape) if before is None else made.all_values[v]
        assert u is not None
        for k in np.flatnonzero(changed | (before is None)):
            if counts[v, k] > 0:
                u[k] = sums[v][k] * (STEP / (counts[v, k] + alpha[v]))
            elif fill is None:
                u[k] = 0.0
            elif not (fill == "last" and before is not None and centres.all_known[v, k]):
                u[k] = means[v]
        made.all_values[v] = u
        there = (changed | (before is None)) & (counts[v] > 0)
        # u.R = u.u (T + alpha)
        made.traces[v, there] = (counts[v, there] + alpha[v]) * ordered_sum(u * u)[there]
        made.traces[v, counts[v] == 0] = 0.0
        made.all_known[v] |= (counts[v] > 0) | (fill is not None)
    return made


def loss(
    centres: Centres, sums: Sequence[Integers], counts: Integers, alpha: Floats, moved: Mask | None
) -> float:
    """L = sum of |u|^2 (T + alpha) - 2 u.R, in this order; `alpha` of each view.

    `moved`: clusters whose sums changed since the centres were made from them (None: all).
    """
    value = 0.0
    for v, u in enumerate(centres.all_values):
        if u is not None:
            if moved is None:
                traces = _traces(u, sums[v])
            else:
                centres.traces[v, moved] = _traces(u[moved], sums[v][moved])
                traces = centres.traces[v]
            for term in centres.squares(v) * (counts[v] + alpha[v]) - 2.0 * traces:
                value += float(term)
    return value


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
