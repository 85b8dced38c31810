"""What NumPy, SciPy and scikit-learn compute in place of compiled code: graphs, merges, seeds, least squares.

The compiled functions answer the same questions with bits of their own, which are tested by what the answer
must be. Only links, distances and sums of a graph are specified to the bit (distances.py, rows.py).
"""

from __future__ import annotations

import warnings

import numpy as np
import scipy.linalg
from scipy.sparse import csr_array

from viewpass.kernels.grid import UNIT, Array, Floats, Integers, Labels, Mask
from viewpass.kernels.portable import directions, farness, ordered_sum
from viewpass.kernels.reference.rows import Rows


def spectrum(
    starts: Integers, columns: Integers, links: Integers, n_leading: int, tie: int = 0
) -> tuple[Floats, Floats]:
    """The leading eigenvalues, falling, and eigenvectors (columns) of the links scaled by degrees.

    The links by their entries, row by row: those of row i are links[starts[i] : starts[i + 1]]. `tie`: more
    links between any two anchors.
    """
    size = len(starts) - 1
    whole = csr_array((links, columns, starts), shape=(size, size)).toarray().astype(np.float64) + tie
    degrees = whole.sum(axis=1)
    scale = 1.0 / np.sqrt(np.where(degrees > 0, degrees, 1.0))
    whole *= scale[:, None] * scale
    values, vectors = scipy.linalg.eigh(whole, subset_by_index=[size - n_leading, size - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(n_leading)]
    return values, np.ascontiguousarray(np.where(largest < 0.0, -vectors, vectors))


def eigenpairs(a: Floats) -> tuple[Floats, Floats]:
    """All eigenvalues of a symmetric matrix, falling, and eigenvectors, a row each."""
    values, vectors = np.linalg.eigh(a)
    return values[::-1], np.ascontiguousarray(vectors.T[::-1])


def small_kmeans(
    places: Floats, weights: Floats, n_clusters: int, n_restarts: int, seed: int
) -> tuple[Integers, Floats]:
    """Labels and centres of weighted points: the best of several restarts."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    means = KMeans(n_clusters, n_init=n_restarts, random_state=seed % 2**32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of points that coincide
        means.fit(places, sample_weight=weights)
    return means.labels_.astype(np.int64), means.cluster_centers_


def graph_labels(near: Array, weights: Integers, places: Floats, centres: Floats) -> Labels:
    """The cluster of rows: that nearest to the direction of their mixture of anchors."""
    mixed = np.zeros((len(near), places.shape[1]))
    for column, weight in zip(near.T, weights.T, strict=True):
        mixed += (weight / UNIT)[:, None] * places[column]
    labels: Labels = farness(directions(mixed), centres).argmin(axis=1).astype(np.int32)
    return labels


def agglomerate(
    counts: Integers, products: Floats, alpha: Floats, to_mean: bool, most: int = 2**63 - 1
) -> tuple[Integers, Floats, int]:
    """The first `most` merges, or all down to one cluster: pairs, prices, and the number of empty clusters.

    Those are merged first. INOUT products: R R' of each view, used up. `alpha`: the ridge of each view.
    """
    if to_mean:
        for of_view, counts_of_view in zip(products, counts, strict=True):
            of_view[:] = _centred(of_view, counts_of_view.astype(np.float64))
    merging = _Merging(counts, products, alpha, share_views=True)
    empty = np.flatnonzero(~counts.any(axis=0)).tolist()
    if len(empty) == counts.shape[1]:
        empty = []
    for step in range(min(max(counts.shape[1] - 1, 0), most)):
        if step < len(empty):
            sizes = np.where(merging.alive, merging.counts.sum(axis=0), -1.0)
            sizes[empty[step]] = -1.0
            merging.merge(empty[step], int(sizes.argmax()), 0.0)
        elif (shared := np.isfinite(merging.prices)).any():
            merging.merge_cheapest(shared)
        else:  # no two share a view
            sizes = np.where(merging.alive, merging.counts.max(axis=0), np.inf)
            one, other = np.argsort(sizes, kind="stable")[:2].tolist()
            merging.merge(one, other, 0.0)
    return *merging.found(), len(empty)


def merge_near(
    counts: Integers,
    sums: list[Floats],
    ridges: Floats,
    starts: Integers,
    others: Integers,
    most: int,
) -> tuple[Integers, Floats]:
    """The first `most` merges, the cheapest first: pairs and prices.

    The candidates of cluster k are others[starts[k] : starts[k + 1]], those of a merged cluster the
    candidates of both its parts. Where none are left, the smallest cluster joins the one for which that
    costs least.
    """
    n_clusters = counts.shape[1]
    merging = _Merging(counts, np.array([r @ r.T for r in sums]), ridges, share_views=False)
    near = np.zeros((n_clusters, n_clusters), dtype=bool)
    near[np.repeat(np.arange(n_clusters), np.diff(starts)), others] = True
    near |= near.T
    for _ in range(min(n_clusters - 1, most)):
        np.fill_diagonal(near, False)
        allowed = near
        if not near.any():
            smallest = np.where(merging.alive, merging.counts.sum(axis=0), np.inf).argmin()
            allowed = merging.alive & (np.arange(n_clusters) == smallest)[:, None]
            allowed[smallest, smallest] = False
        kept, gone = merging.merge_cheapest(allowed)
        near[kept] |= near[gone]
        near[:, kept] |= near[:, gone]
        near[gone] = near[:, gone] = False
    return merging.found()


class _Merging:
    """Clusters that are merged two by two, and what each merge would add to J."""

    def __init__(self, counts: Integers, products: Floats, ridges: Floats, *, share_views: bool) -> None:
        self.counts, self.products = counts.astype(np.float64), products
        self.ridges, self.share_views = ridges[:, None], share_views
        n_clusters = counts.shape[1]
        self.alive: Mask = np.ones(n_clusters, dtype=bool)
        self.pairs, self.paid = list[tuple[int, int]](), list[float]()
        self.prices = np.full((n_clusters, n_clusters), np.inf)
        for k in range(n_clusters):
            self.prices[k] = self._prices(k)

    def _prices(self, k: int) -> Floats:
        """What merging a cluster with each other one adds; inf where they share no view."""
        counts, squares = self.counts, np.diagonal(self.products, axis1=1, axis2=2)
        energy = _ratio(squares, counts + self.ridges)
        both = squares + squares[:, k, None] + 2.0 * self.products[:, k]
        terms = energy + energy[:, k, None] - _ratio(both, counts + counts[:, k, None] + self.ridges)
        shared = ((counts > 0) & (counts[:, k, None] > 0)).any(axis=0) | (not self.share_views)
        prices = np.where(shared & self.alive, terms.sum(axis=0), np.inf)
        prices[k] = np.inf
        return prices

    def merge_cheapest(self, allowed: Mask) -> tuple[int, int]:
        """Merge the cheapest of the pairs that are allowed, the first of equals."""
        places = np.flatnonzero(allowed)
        one, other = divmod(int(places[self.prices.ravel()[places].argmin()]), len(allowed))
        return self.merge(one, other, float(self.prices[one, other]))

    def merge(self, one: int, other: int, price: float) -> tuple[int, int]:
        """Merge two clusters into that with the lower number; returns both, the lower first."""
        kept, gone = min(one, other), max(one, other)
        self.pairs.append((kept, gone))
        self.paid.append(price)
        self.counts[:, kept] += self.counts[:, gone]
        self.products[:, kept] += self.products[:, gone]
        self.products[:, :, kept] += self.products[:, :, gone]
        self.alive[gone] = False
        self.prices[gone] = self.prices[:, gone] = np.inf
        self.prices[kept] = self.prices[:, kept] = self._prices(kept)
        return kept, gone

    def found(self) -> tuple[Integers, Floats]:
        """The pairs that were merged, and their prices."""
        return np.array(self.pairs, dtype=np.int64).reshape(-1, 2), np.array(self.paid)


def _centred(products: Floats, counts: Floats) -> Floats:
    """The products of R - T g, where g is the mean of all rows; they add up in merges, as those of R do."""
    n_rows = max(counts.sum(), 1.0)
    along = products.sum(axis=1) / n_rows  # R g
    across = np.outer(counts, along)
    centred: Floats = products - (across + across.T) + along.sum() / n_rows * np.outer(counts, counts)
    return centred


def _ratio(above: Floats, below: Floats) -> Floats:
    """Above / below; 0 where there is nothing."""
    return np.divide(above, below, out=np.zeros(above.shape), where=below > 0)


def nnls(gram: Floats, products: Floats, out: Floats, n_threads: int) -> None:
    """Minimise y G y' - 2 p y' over y >= 0 for every row.  INOUT out."""
    if not (np.isfinite(gram).all() and np.isfinite(products).all()):
        return
    from scipy.optimize import nnls as smallest

    values, vectors = np.linalg.eigh(gram)
    kept = values > len(values) * np.finfo(float).eps * np.abs(values).max(initial=0.0)
    roots, vectors = np.sqrt(values[kept]), vectors[:, kept]
    for p, y in zip(products, out, strict=True):
        y[:] = smallest(roots[:, None] * vectors.T, (p @ vectors) / roots)[0] if kept.any() else 0.0


def draw_seeds(rows: Rows, points: Floats, n_groups: int, n_threads: int) -> Labels:
    """Sets of seeds far apart (incomplete k-means++); each row's nearest seed of each set (sets x rows).

    Each seed is drawn in proportion to the distances from those before it; rows that share no view with any
    count as averagely far. The compiled function draws them by groups where
    `n_groups` is less than their number.
    """
    n_seeds, n_sets = points.shape
    labels, weights = np.zeros((n_sets, rows.n_rows), dtype=np.int32), np.zeros(rows.n_rows)
    for v in range(rows.n_views):
        weights += np.where(rows.inverse[v] > 0, rows.weights[v] * rows.copies, 0.0)
    values = [None if view is None else rows.values(v) for v, view in enumerate(rows.views)]
    squares = [rows.squares(v) for v in range(rows.n_views)]
    for c in range(n_sets if rows.n_rows else 0):
        nearest = np.full(rows.n_rows, np.inf)
        for k in range(n_seeds):
            known = np.isfinite(nearest)
            n_known = int(rows.copies[known].sum())
            unknown = np.cumsum(nearest[known] * rows.copies[known])[-1] / n_known if n_known else 1.0
            odds = np.cumsum(np.where(known, nearest, unknown) * weights)
            if not odds[-1] > 0:  # every row coincides with a seed: any row that has a view will do
                odds = np.cumsum(weights)
            seed = min(np.searchsorted(odds, points[k, c] * odds[-1], side="right"), rows.n_rows - 1)
            far = _distances(rows, values, squares, int(seed))
            labels[c, far < nearest] = k
            nearest = np.minimum(far, nearest)
    return labels


def _distances(rows: Rows, values: list[Floats | None], squares: list[Floats], other: int) -> Floats:
    """Mean distances of all rows from one of them; infinite where they share no view."""
    total, shared = np.zeros(rows.n_rows), np.zeros(rows.n_rows)
    for v, x in enumerate(values):
        if x is not None and rows.inverse[v, other] > 0:
            dots = ordered_sum(x * x[other]) * rows.inverse[v] * rows.inverse[v, other]
            far = np.maximum((squares[v] + squares[v][other]) - 2.0 * dots, 0.0)
            total += np.where(rows.inverse[v] > 0, far, 0.0)
            shared += np.where(rows.inverse[v] > 0, rows.weights[v], 0.0)
    return np.divide(total, shared, out=np.full_like(total, np.inf), where=shared > 0)
