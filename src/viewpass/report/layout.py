"""Places of centres and rows on a map of two dimensions that keeps neighbourhoods.

Centres (anchors, where there are any) are placed by t-SNE from a fixed start, so that the same model gives
the same map. A row lies between the centres near it, by weights that follow from its distances over the views
it has: rows with different views can be compared, and a new row does not move the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from threadpoolctl import threadpool_limits

from viewpass.kernels.grid import Floats, Integers
from viewpass.sums.centres import Centres

LANDMARKS = 600  # centres placed by t-SNE; others lie between these
NEAR = 6  # centres that a row lies between
PERPLEXITY = 3.0  # how many of them count: fewer keep neighbourhoods better
NEIGHBOURS = 15.0  # of a centre that t-SNE keeps near
ROUNDS = 40  # of bisection
SPREAD = 0.006  # of the map: by which rows are moved apart that lie on the same place


def nearness(distances: Floats, n_near: int = NEAR) -> tuple[Integers, Floats]:
    """The nearest centres of each row, and weights of them that add up to 1.

    Weights fall exponentially with the squared distance, at the rate that gives a row PERPLEXITY neighbours.
    """
    n_near = min(n_near, distances.shape[1])
    near = np.argpartition(distances, n_near - 1, axis=1)[:, :n_near]
    near.sort(axis=1)
    apart = np.take_along_axis(distances, near, axis=1)
    order = np.argsort(apart, axis=1, kind="stable")
    near, apart = np.take_along_axis(near, order, axis=1), np.take_along_axis(apart, order, axis=1)
    apart = apart - apart[:, :1]
    width = np.maximum(apart.mean(axis=1, keepdims=True), 1e-12)
    apart = apart / width
    low, high = np.zeros((len(near), 1)), np.full((len(near), 1), 1e6)
    goal = np.log(min(PERPLEXITY, n_near))
    rate = np.ones_like(low)
    for _ in range(ROUNDS):
        weights = _weights(apart, rate)
        wide = -(weights * np.log(np.maximum(weights, 1e-300))).sum(axis=1, keepdims=True) > goal
        low, high = np.where(wide, rate, low), np.where(wide, high, rate)
        rate = (low + high) / 2.0
    return near, _weights(apart, rate)


def _weights(apart: Floats, rate: Floats) -> Floats:
    raw: Floats = np.exp(-np.minimum(apart * rate, 700.0))
    weights: Floats = raw / raw.sum(axis=1, keepdims=True)
    return weights


def centre_places(centres: Centres, sizes: Integers) -> Floats:
    """Place centres; the widest side of the map is 1. The largest are landmarks for the others."""
    number = centres.n_clusters
    if number <= LANDMARKS:
        return _framed(_embedded(_distances(centres, centres)))
    largest = np.sort(np.argsort(-sizes, kind="stable")[:LANDMARKS])
    landmarks = centres.take(largest)
    places = _framed(_embedded(_distances(landmarks, landmarks)))
    found = np.empty((number, 2))
    step = 2**22 // LANDMARKS
    for start in range(0, number, step):
        some = centres.take(np.arange(start, min(start + step, number)))
        found[start : start + step] = row_places(*nearness(_distances(some, landmarks)), places)
    found[largest] = places
    return found


def row_places(near: Integers, weights: Floats, places: Floats) -> Floats:
    """Place rows between centres, the same place twice a little apart."""
    found: Floats = (weights[:, :, None] * places[near]).sum(axis=1)
    angle = np.arange(len(near)) * 2.399963229728653  # the golden angle: consecutive rows go different ways
    away = SPREAD * np.sqrt((np.arange(len(near)) % 16 + 0.5) / 16.0)
    found += np.column_stack((away * np.cos(angle), away * np.sin(angle)))
    return found


def places_of(near: Sequence[Sequence[int]], weights: Sequence[Sequence[float]], places: Floats) -> Floats:
    """Place rows given their nearest centres and their weights, of which some may have fewer."""
    longest = max(map(len, near), default=0)
    centres, shares = np.zeros((len(near), longest), dtype=np.int64), np.zeros((len(near), longest))
    for row, (some, own) in enumerate(zip(near, weights, strict=True)):
        centres[row, : len(some)], shares[row, : len(own)] = some, own
    return row_places(centres, shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-9), places)


def mean_distances(some: Centres, others: Centres) -> Floats:
    """Mean squared distances over the views in which both centres are known; NaN where there is none."""
    total = np.zeros((some.n_clusters, others.n_clusters))
    shared = np.zeros_like(total)
    for u, w, known, also in zip(some.values, others.values, some.known, others.known, strict=True):
        if u is None or w is None:
            continue
        both = np.outer(known, also)
        with threadpool_limits(1):  # the same bits whatever the number of threads
            apart = (u * u).sum(axis=1)[:, None] + (w * w).sum(axis=1)[None, :] - 2.0 * (u @ w.T)
        total += np.where(both, np.maximum(apart, 0.0), 0.0)
        shared += both
    return np.divide(total, shared, out=np.full_like(total, np.nan), where=shared > 0)


def _distances(some: Centres, others: Centres) -> Floats:
    """The same, where those that share no view are as far apart as any."""
    found = mean_distances(some, others)
    return np.nan_to_num(found, nan=np.nanmax(found) if np.isfinite(found).any() else 1.0)


def _embedded(distances: Floats) -> Floats:
    """Two dimensions that keep small distances small."""
    number = len(distances)
    start = _scaled(distances)
    if number < 5:
        return start
    from sklearn.manifold import TSNE

    spread = float(start[:, 0].std()) or 1.0
    with threadpool_limits(1):  # the same bits whatever the number of threads
        made = TSNE(
            metric="precomputed",
            init=(start / spread * 1e-2).astype(np.float32),
            perplexity=min(NEIGHBOURS, (number - 1) / 3.0),
            max_iter=500,
            random_state=0,
            n_jobs=1,
        ).fit_transform(np.sqrt(distances))
    found: Floats = np.asarray(made, dtype=np.float64)
    return found if np.isfinite(found).all() else start


def _scaled(distances: Floats) -> Floats:
    """Classical scaling, with the sign that makes the largest coordinate positive."""
    middle = distances.mean(axis=0)
    inner = -0.5 * (distances - middle[None, :] - middle[:, None] + middle.mean())
    with threadpool_limits(1):
        values, vectors = np.linalg.eigh((inner + inner.T) / 2.0)
    places = np.zeros((len(distances), 2))
    for axis in range(min(2, len(distances))):
        vector = vectors[:, -1 - axis] * np.sqrt(max(values[-1 - axis], 0.0))
        places[:, axis] = vector * (1.0 if vector[np.abs(vector).argmax()] >= 0 else -1.0)
    return places


def _framed(places: Floats) -> Floats:
    """Places within the unit square, turned so that they are widest across, without a change of shape."""
    x, y = (places - places.mean(axis=0)).T
    angle = 0.5 * math.atan2(2.0 * float((x * y).sum()), float((x * x).sum() - (y * y).sum()))
    turned = x * math.cos(angle) + y * math.sin(angle), y * math.cos(angle) - x * math.sin(angle)
    places = np.column_stack(turned)
    low, high = places.min(axis=0), places.max(axis=0)
    side = float((high - low).max()) or 1.0
    framed: Floats = (places - (low + high) / 2.0) / side + 0.5
    return framed
