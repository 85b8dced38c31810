"""Anchor graphs for tests: made of random rows, with any number of parts, and anchors without rows."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from viewpass.graph.soft_assignment import SoftAssignment
from viewpass.kernels.grid import UNIT, neighbours


def random_links(seed, n_anchors, n_rows, n_near, n_parts):
    """G = sum of z z' over rows that each lie in one of n_parts parts of the anchors."""
    rng = np.random.default_rng(seed)
    part = rng.integers(n_parts, size=n_rows)
    near = rng.integers(-(-n_anchors // n_parts), size=(n_rows, n_near)) * n_parts + part[:, None]
    near = np.minimum(near, n_anchors - 1)
    weights = rng.integers(0, 2**15, size=(n_rows, n_near))
    links = np.zeros((n_anchors, n_anchors), dtype=np.int64)
    for a in range(n_near):
        for b in range(n_near):
            np.add.at(links, (near[:, a], near[:, b]), weights[:, a] * weights[:, b])
    return links


def entries(links):
    """Where the entries of each row that are not zero begin, their columns, and their values."""
    rows, columns = np.nonzero(links)
    starts = np.searchsorted(rows, np.arange(len(links) + 1))
    return starts.astype(np.int64), columns.astype(np.int64), np.ascontiguousarray(links[rows, columns])


@st.composite
def graphs(draw, most_anchors=90):
    """Links; parts may be apart, alike or empty."""
    n_anchors = draw(st.integers(1, most_anchors))
    if draw(st.integers(0, 5)) == 0:  # equal parts: every eigenvalue but 0 several times
        size = draw(st.integers(1, n_anchors))
        return np.kron(np.eye(n_anchors // size), np.ones((size, size))).astype(np.int64)
    n_parts = draw(st.integers(1, n_anchors))
    rows = draw(st.integers(0, 300))
    return random_links(draw(st.integers(0, 2**20)), n_anchors, rows, draw(st.integers(1, 4)), n_parts)


def scaled(links):
    """D^-1/2 G D^-1/2."""
    degrees = links.sum(axis=1).astype(float)
    scale = 1 / np.sqrt(np.where(degrees > 0, degrees, 1))
    return links * scale[:, None] * scale


def mixture(distance, n_seen):
    """w_j = (d_{r+1} - d_j) / (r d_{r+1} - d_1 - ... - d_r), from distances written down."""
    n_anchors = distance.shape[1]
    n_near = neighbours(n_anchors)
    order = np.argsort(distance, axis=1, kind="stable")[:, : n_near + 1]
    if n_anchors == 1:
        return SoftAssignment(order.astype(np.int32), np.where(n_seen[:, None] > 0, UNIT, 0))
    least = np.take_along_axis(distance, order, axis=1)
    gaps = least[:, -1:] - least[:, :-1]
    whole = np.cumsum(gaps, axis=1)[:, -1:]
    shares = np.divide(gaps, whole, out=np.full_like(gaps, 1 / n_near), where=whole > 0)
    weights = np.where(n_seen[:, None] > 0, np.rint(shares * UNIT), 0).astype(np.int64)
    return SoftAssignment(np.ascontiguousarray(order[:, :-1], dtype=np.int32), weights)


def ridged_objective(total, ridge):
    """J with a ridge towards the mean of all rows, less what is the same for all labels (solve/ridge.py)."""
    explained = 0.0
    for v, counts in enumerate(total.counts):
        if counts.any():
            sums = total.sums(v)
            squares = np.square(sums - counts[:, None] * sums.sum(axis=0) / counts.sum()).sum(axis=1)
            some = counts > 0
            explained += (squares[some] / (counts[some] + ridge)).sum()
    return -explained
