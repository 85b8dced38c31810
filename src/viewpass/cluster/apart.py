"""What sets each cluster apart: in which views, and in which of their columns, its mean differs."""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from viewpass.core.model import Model
from viewpass.kernels.grid import Floats

FEW = 16  # columns: a view of no more is described by its columns, whether they have names or not
COLUMNS = 3  # of a cluster, the most different ones
LEAST = 0.5  # standard deviations of the means of clusters


class ColumnDifference(TypedDict):
    """A column, and how far the cluster's mean is from that of all rows, in deviations of such means."""

    view: str
    column: str
    difference: float


class Apart(TypedDict):
    """Shares of the views in the squared distance of a cluster's mean from that of all rows."""

    views: dict[str, float | None]
    columns: list[ColumnDifference]


def apart(model: Model) -> list[Apart]:
    """What sets each cluster apart; None for a view that no row of it has."""
    total, names = model.clusters, model.schema.names
    squares = np.full((total.n_clusters, len(names)), np.nan)
    columns: list[list[ColumnDifference]] = [[] for _ in range(total.n_clusters)]
    for v, name in enumerate(names):
        counts = total.counts[v].astype(np.float64)
        there = counts > 0
        if not there.any():
            continue
        sums = total.sums(v)[there]
        means = sums / counts[there, None]
        differences = means - (sums.sum(axis=0) / counts.sum())[None, :]
        squares[there, v] = (differences * differences).sum(axis=1)
        own = model.schema.columns[v] if model.schema.columns else None
        if own is None and means.shape[1] <= FEW and means.shape[1] > 1:
            own = tuple(f"column {number}" for number in range(means.shape[1]))
        if own is not None and len(own) == means.shape[1]:
            weights = counts[there, None] / counts.sum()
            found = _columns(name, own, differences, np.sqrt((weights * differences**2).sum(axis=0)))
            for cluster, some in zip(np.flatnonzero(there).tolist(), found, strict=True):
                columns[cluster] += some
    whole = np.nansum(squares, axis=1, keepdims=True)
    shares = np.divide(squares, whole, out=np.full_like(squares, np.nan), where=whole > 0)
    return [
        Apart(
            views={
                name: None if np.isnan(share) else round(float(share), 4)
                for name, share in zip(names, shares[k], strict=True)
            },
            columns=sorted(columns[k], key=lambda each: -abs(each["difference"]))[:COLUMNS],
        )
        for k in range(total.n_clusters)
    ]


def _columns(
    view: str, names: tuple[object, ...], differences: Floats, spread: Floats
) -> list[list[ColumnDifference]]:
    """The most different columns of each cluster in a view."""
    relative = np.divide(differences, spread, out=np.zeros_like(differences), where=spread > 0)
    order = np.argsort(-np.abs(relative), axis=1, kind="stable")[:, :COLUMNS]
    return [
        [
            ColumnDifference(view=view, column=str(names[j]), difference=round(float(relative[k, j]), 2))
            for j in row.tolist()
            if abs(relative[k, j]) >= LEAST
        ]
        for k, row in enumerate(order)
    ]
