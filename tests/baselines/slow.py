"""Direct implementations of OMVC and ONMF, row by row as in their papers; slow on purpose."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls


def filled_chunks(views, observed, size, *, unit):
    """Chunks with absent rows filled in: (filled views, share of present rows so far) of each chunk."""
    n_rows, n_views = observed.shape
    out = []
    for start in range(0, n_rows, size):
        rows = range(start, min(start + size, n_rows))
        chunk, shares = [], []
        for v in range(n_views):

            def value(i, v=v):
                x = views[v][i].astype(float)
                return np.maximum(x, 0) / np.linalg.norm(np.maximum(x, 0)) if unit else x

            before = [value(i) for i in range(start) if observed[i, v]]
            own = [value(i) for i in rows if observed[i, v]]
            mean = np.maximum(np.mean(before or own, axis=0), 0)
            chunk.append(np.array([np.maximum(value(i), 0) if observed[i, v] else mean for i in rows]))
            shares.append(np.array([1.0 if observed[i, v] else observed[: i + 1, v].mean() for i in rows]))
        out.append((chunk, shares))
    return out


def projected(Y, value, slope, hessian_inverse, largest):
    """One projected Newton step with halving, else one projected gradient step."""
    here = value(Y)
    for halving in range(30):
        there = np.maximum(Y - 0.5**halving * slope(Y) @ hessian_inverse, 0)
        if value(there) < here - 1e-12 * abs(here):
            return there
        if halving == 0 and value(there) <= here + 1e-12 * abs(here):
            break
    there = np.maximum(Y - slope(Y) / largest, 0)
    return there if value(there) <= here else Y


def omvc(chunks, V, a, b, max_iter, tol, n_passes):
    """OMVC on filled chunks; all sums are recomputed over the rows. V: initial basis of each view."""
    V = [v.copy() for v in V]
    n_views, K = len(V), V[0].shape[1]
    totals = [sum(chunk[v].sum() for chunk, _ in chunks) for v in range(n_views)]
    X = [[chunk[v] / totals[v] for v in range(n_views)] for chunk, _ in chunks]
    W = [[shares[v] ** 2 for v in range(n_views)] for _, shares in chunks]
    U = [None] * len(chunks)

    def agreed(t):
        top = sum(W[t][v][:, None] * U[t][v] for v in range(n_views))
        return top / sum(W[t])[:, None]

    def objective(upto):
        return sum(
            (W[t][v][:, None] * (X[t][v] - U[t][v] @ V[v].T) ** 2).sum()
            + a * (W[t][v][:, None] * (U[t][v] - agreed(t)) ** 2).sum()
            + b * U[t][v][W[t][v] > 0].sum()
            for t in upto
            for v in range(n_views)
        )

    for number in range(n_passes):
        for t in range(len(chunks)):
            upto = range(len(chunks)) if number else range(t + 1)
            if number == 0:
                U[t] = []
                for v in range(n_views):
                    if t == 0 and v > 0:  # a new basis starts from the coefficients found so far
                        w = W[t][:v]
                        mean = sum(w[j][:, None] * U[t][j] for j in range(v)) / sum(w)[:, None]
                        half = np.sqrt(W[t][v])[:, None]
                        V[v] = np.array([nnls(half * mean, x)[0] for x in (half * X[t][v]).T])
                    U[t].append(np.array([nnls(V[v], x)[0] for x in X[t][v]]))
            before = np.inf
            for _ in range(max_iter):
                star = agreed(t)
                for v in range(n_views):
                    x, w = X[t][v], W[t][v]
                    H = V[v].T @ V[v] + a * np.eye(K)
                    H += 1e-12 * np.trace(H) / K * np.eye(K)
                    live = w > 0
                    part = np.where(live, w, 1)[:, None]

                    def value(u, v=v, x=x, w=w, star=star, live=live):
                        fit = ((x - u @ V[v].T) ** 2).sum(axis=1) + a * ((u - star) ** 2).sum(axis=1)
                        fixed = (x**2).sum(axis=1) + a * (star**2).sum(axis=1)
                        return (w * (fit - fixed)).sum() + b * u[live].sum()

                    def slope(u, v=v, x=x, part=part, star=star):
                        return u @ V[v].T @ V[v] - x @ V[v] + a * (u - star) + b / 2 / part

                    largest = np.linalg.eigvalsh(V[v].T @ V[v] + a * np.eye(K))[-1]
                    U[t][v] = projected(U[t][v], value, slope, np.linalg.inv(H), largest)
                    U[t][v][~live] = star[~live]
                    rows = [np.sqrt(W[j][v])[:, None] * X[j][v] for j in upto]
                    facs = [np.sqrt(W[j][v])[:, None] * U[j][v] for j in upto]
                    rows, facs = np.concatenate(rows), np.concatenate(facs)
                    B = facs.T @ facs
                    ridge = 1e-12 * np.trace(B) / K * np.eye(K)
                    constant = (rows**2).sum()
                    V[v] = projected(
                        V[v],
                        lambda y, rows=rows, facs=facs, c=constant: ((rows - facs @ y.T) ** 2).sum() - c,
                        lambda y, rows=rows, facs=facs: y @ facs.T @ facs - rows.T @ facs,
                        np.linalg.inv(B + ridge),
                        np.linalg.eigvalsh(B)[-1],
                    )
                    c = V[v].sum(axis=0)
                    V[v] = V[v] / c
                    for j in upto:
                        U[j][v] = U[j][v] * c
                reached = objective(upto)
                if abs(before - reached) < tol * abs(before):
                    break
                before = reached
    everything = range(len(chunks))
    return V, np.concatenate([agreed(t) for t in everything]), objective(everything)


def _descended(F, rows, facs, value, tol):
    """Projected steps with the diagonal of the Hessian."""
    H = facs.T @ facs
    last = value(F)
    for _ in range(200):
        F = projected(
            F,
            value,
            lambda y: y @ H - rows.T @ facs,
            np.diag(1 / np.diag(H)),
            np.linalg.eigvalsh(H)[-1],
        )
        reached = value(F)
        if abs(last - reached) <= tol * abs(last):
            break
        last = reached
    return F


def onmf(chunks, F, max_iter, tol, n_passes, *, diagonal):
    """ONMF on filled chunks, concatenated. F: initial basis, all views stacked."""
    F = F.copy()
    X = [np.concatenate(chunk, axis=1) for chunk, _ in chunks]
    G = [None] * len(X)
    for number in range(n_passes):
        for t in range(len(X)):
            upto = range(len(X)) if number else range(t + 1)
            before = np.inf
            for _ in range(max_iter):
                G[t] = np.array([nnls(F, x)[0] for x in X[t]])
                rows = np.concatenate([X[j] for j in upto])
                facs = np.concatenate([G[j] for j in upto])

                def value(y, rows=rows, facs=facs):
                    return ((rows - facs @ y.T) ** 2).sum() - (rows**2).sum()

                if diagonal:
                    F = _descended(F, rows, facs, value, tol)
                else:
                    F = np.array([nnls(facs, column)[0] for column in rows.T])
                last = value(F)
                total = last + (rows**2).sum()
                if abs(before - total) < tol * abs(before):
                    break
                before = total
    G = np.concatenate(G)
    return F, G, ((np.concatenate(X) - G @ F.T) ** 2).sum()


def planted(rng, n_rows=90, widths=(9, 7), n_clusters=3, noise=0.0):
    """Rows with one strong factor each out of `n_clusters`, the same in all views."""
    groups = rng.permutation(np.arange(n_rows) % n_clusters)
    U = 0.05 * rng.random((n_rows, n_clusters))
    U[np.arange(n_rows), groups] += 1 + 0.2 * rng.random(n_rows)
    views = []
    for width in widths:
        V = rng.random((width, n_clusters)) * (rng.random((width, n_clusters)) < 0.6) + 0.01
        for k in range(n_clusters):
            V[k] = 0.01
            V[k, k] = 1.0
        views.append(U @ V.T + noise * rng.random((n_rows, width)))
    return views, groups
