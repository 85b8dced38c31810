"""OPIMC and IMC written down from the equations: the oracle the product is tested against.

Nothing here is shared with the product. It is dense, float64 and plain: R and T are never carried
along or subtracted from, they are summed again from their definition (Eq. 12) over all the rows
that hold a label at that moment, and a distance is the squared difference itself (Eq. 15).

The letters are the paper's (Hu and Chen, AAAI 2019), instances in rows:
X view, W observed, V labels as 1-of-K, U centres, R sums, T counts.

Choices where the paper is not explicit:
a chunk is s consecutive rows, and N and s t count every row, also those without any view;
`zero-filled-mean` divides by the chunk's rows that have a view, for a row without one has no
effect on U; a chunk in which no row has a view does no centre update and keeps L as it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Fill = Literal["mean", "zero-filled-mean"] | None

NO_VIEW = -1


@dataclass
class OracleResult:
    """What a run ends with; lists over views unless stated otherwise."""

    labels: Ints  # after the last pass; -1 for a row without any view
    labels_per_pass: list[Ints]
    sums: list[Floats]  # R, K x d_v, over the normalised rows and the last labels
    counts: list[Floats]  # T, K
    centres: list[Floats]  # the last U, K x d_v; zeros for a view without one observed row
    loss_curve: list[float]  # one value per chunk, over all passes (Eq. 18-20)
    n_iter: int  # centre updates, all chunks and passes together
    objective: float  # Eq. 9 summed row by row, with the last labels and centres
    margin: Floats  # second best minus best distance when the row's label was last decided
    min_margin: Floats  # the smallest such margin over every assignment of the whole run
    # Both margins are inf for a row without any view, and when K = 1.


def opimc(
    views: list[Floats],
    observed: Bools,
    n_clusters: int,
    *,
    alpha: float,
    chunk_size: int,
    n_passes: int = 1,
    max_iter: int = 20,
    tol: float = 1e-6,
    start: Floats,
    fill: Fill = "mean",
) -> OracleResult:
    """Algorithm 1, for `n_passes` passes; `start` is V of the first chunk."""
    X, W = normalised(views, observed)
    n, K = len(W), n_clusters
    has_view: Bools = np.asarray(W.any(axis=1))
    start = np.asarray(start, dtype=np.float64)
    assert start.shape == (min(chunk_size, n), K), "start is (rows of the first chunk) x K"
    assert fill in ("mean", "zero-filled-mean", None)
    assert min(n_passes, max_iter, chunk_size) >= 1

    labels = np.full(n, NO_VIEW)  # in the first pass also: -1 as long as a row was not read
    U: list[Floats | None] = [None] * len(X)  # None: no row of that view was read so far
    margin, min_margin = np.full(n, np.inf), np.full(n, np.inf)
    loss_curve: list[float] = []
    labels_per_pass: list[Ints] = []
    n_iter = 0

    for pass_ in range(n_passes):
        for begin in range(0, n, chunk_size):
            chunk = np.arange(begin, min(begin + chunk_size, n))
            rows = chunk[has_view[chunk]]
            X_t, W_t = [x[rows] for x in X], W[rows]
            first = pass_ == 0 and begin == 0

            # The start V_t: `old` are its labels, None where it is soft and has none.
            old: Ints | None
            if pass_ > 0:
                old = labels[rows]
                V_t = one_of_k(old, K)
            elif first:
                V_t = start[has_view[chunk]]
                old = V_t.argmax(axis=1) if is_one_of_k(V_t) else None
            else:
                D = distances(X_t, W_t, U, K)
                old = D.argmin(axis=1)
                V_t = one_of_k(old, K)
                margin[rows] = margins(D)
                min_margin[rows] = np.minimum(min_margin[rows], margin[rows])

            # R, T of all the other rows: in pass 1 those read before, later all but the chunk.
            labels[rows] = NO_VIEW
            R, T = statistics(X, W, labels, K)

            L_old: float | None = None
            for _ in range(max_iter if len(rows) else 0):
                for v in range(len(X)):
                    U[v] = updated_centres(
                        X_t[v], W_t[:, v], V_t, R[v], T[v], U[v], alpha, fill, first, old is None
                    )
                n_iter += 1

                D = distances(X_t, W_t, U, K)
                new = D.argmin(axis=1)  # Eq. 16; argmin takes the lowest k of a tie
                margin[rows] = margins(D)
                min_margin[rows] = np.minimum(min_margin[rows], margin[rows])

                R_t, T_t = statistics(X_t, W_t, new, K)
                L = loss(U, add(R, R_t), add(T, T_t), alpha)

                unchanged = old is not None and np.array_equal(new, old)
                flat = L_old is not None and abs(L - L_old) < tol * abs(L_old)
                old, V_t, L_old = new, one_of_k(new, K), L
                if unchanged or flat:
                    break

            if old is not None:
                labels[rows] = old
            L = loss(U, *statistics(X, W, labels, K), alpha)
            loss_curve.append(L / (min(begin + chunk_size, n) if pass_ == 0 else n))
        labels_per_pass.append(labels.copy())

    sums, counts = statistics(X, W, labels, K)
    centres = [np.zeros((K, x.shape[1])) if u is None else u for x, u in zip(X, U, strict=True)]
    return OracleResult(
        labels=labels,
        labels_per_pass=labels_per_pass,
        sums=sums,
        counts=counts,
        centres=centres,
        loss_curve=loss_curve,
        n_iter=n_iter,
        objective=objective(X, W, labels, centres, alpha),
        margin=margin,
        min_margin=min_margin,
    )


def imc(
    views: list[Floats],
    observed: Bools,
    n_clusters: int,
    *,
    alpha: float,
    max_iter: int = 100,
    tol: float = 1e-6,
    start: Floats,
    fill: Fill = "mean",
) -> OracleResult:
    """Eq. 7, the offline case: one chunk that holds every row."""
    return opimc(
        views,
        observed,
        n_clusters,
        alpha=alpha,
        chunk_size=len(observed),
        max_iter=max_iter,
        tol=tol,
        start=start,
        fill=fill,
    )


def normalised(views: list[Floats], observed: Bools) -> tuple[list[Floats], Bools]:
    """X with observed rows of length 1 and absent rows 0; W without the rows that are all zero."""
    W = np.array(observed, dtype=bool)
    assert W.shape == (len(views[0]), len(views)), "observed is n x n_views"
    X = []
    for v, view in enumerate(views):
        x = np.array(view, dtype=np.float64)
        x[~W[:, v]] = 0.0  # whatever an absent row holds, NaN too, is not data
        peak = np.abs(x).max(axis=1)
        W[:, v] = peak > 0
        seen = W[:, v]
        x[seen] /= peak[seen, None]  # first to peak 1: the squares can neither over- nor underflow
        x[seen] /= np.sqrt((x[seen] ** 2).sum(axis=1, keepdims=True))
        X.append(x)
    return X, W


def statistics(X: list[Floats], W: Bools, labels: Ints, K: int) -> tuple[list[Floats], list[Floats]]:
    """Eq. 12: R (K x d_v) and the diagonal of T (K) of every view, over the rows with a label."""
    R, T = [], []
    for v, x in enumerate(X):
        counted = W[:, v] & (labels >= 0)
        V = one_of_k(labels[counted], K)
        R.append(V.T @ x[counted])
        T.append(V.sum(axis=0))
    return R, T


def updated_centres(
    x: Floats,
    w: Bools,
    V: Floats,
    R: Floats,
    T: Floats,
    U_last: Floats | None,
    alpha: float,
    fill: Fill,
    first: bool,
    soft: bool,
) -> Floats | None:
    """Eq. 11-13 for one view: x, w, V are the chunk's, R and T those of all the other rows."""
    if not w.any():
        return U_last  # the view is absent from the whole chunk: skipped
    x_seen, V_seen = x[w], V[w]
    K = V.shape[1]
    count = T + V_seen.sum(axis=0)
    U: Floats = np.zeros_like(R)
    if soft:  # nothing came before a soft V, so R = 0 and T = 0
        if alpha > 0:
            U[:] = np.linalg.solve(V_seen.T @ V_seen + alpha * np.eye(K), V_seen.T @ x_seen)
        else:
            U[:] = np.linalg.lstsq(V_seen, x_seen, rcond=None)[0]
    else:
        for k in range(K):
            if count[k] > 0:  # 0/0 = 0
                U[k] = (R[k] + V_seen[:, k] @ x_seen) / (count[k] + alpha)

    # Degenerate centres (the paragraph before Algorithm 1).
    observed_mean = x_seen.mean(axis=0)
    for k in range(K):
        if count[k] > 0:
            continue
        if fill is None:
            U[k] = 0.0
        elif first:
            U[k] = observed_mean if fill == "mean" else x_seen.sum(axis=0) / len(x)
        else:
            U[k] = observed_mean if U_last is None else U_last[k]
    return U


def distances(X: list[Floats], W: Bools, U: list[Floats | None], K: int) -> Floats:
    """Eq. 15: D, rows x K. A view without centres adds nothing."""
    D = np.zeros((len(W), K))
    for v, (x, u) in enumerate(zip(X, U, strict=True)):
        if u is None:
            continue
        w = W[:, v]
        for k in range(K):
            D[w, k] += ((x[w] - u[k]) ** 2).sum(axis=1)
    return D


def margins(D: Floats) -> Floats:
    """Second best minus best distance of each row."""
    if D.shape[1] == 1:
        return np.full(len(D), np.inf)
    ordered = np.sort(D, axis=1)
    return ordered[:, 1] - ordered[:, 0]


def loss(U: list[Floats | None], R: list[Floats], T: list[Floats], alpha: float) -> float:
    """Eq. 18-19 before the division: sum of -2 tr(U'R) + tr(U'U T) + alpha |U|^2 over views."""
    L = 0.0
    for u, r, t in zip(U, R, T, strict=True):
        if u is not None:
            squares = (u**2).sum(axis=1)
            L += -2.0 * (u * r).sum() + (squares * t).sum() + alpha * squares.sum()
    return float(L)


def objective(X: list[Floats], W: Bools, labels: Ints, centres: list[Floats], alpha: float) -> float:
    """Eq. 7 and 9, row by row: |x - u|^2 over the observed views, plus alpha |U|^2."""
    J = 0.0
    for v, (x, u) in enumerate(zip(X, centres, strict=True)):
        w = W[:, v]
        J += ((x[w] - u[labels[w]]) ** 2).sum() + alpha * (u**2).sum()
    return float(J)


def one_of_k(labels: Ints, K: int) -> Floats:
    """The labels as rows of the K x K unit matrix."""
    return np.eye(K)[labels]


def is_one_of_k(V: Floats) -> bool:
    """Does every row hold a single 1 and zeros."""
    return bool(np.isin(V, (0.0, 1.0)).all() and (V.sum(axis=1) == 1.0).all())


def add(a: list[Floats], b: list[Floats]) -> list[Floats]:
    """Eq. 14, for every view."""
    return [p + q for p, q in zip(a, b, strict=True)]
