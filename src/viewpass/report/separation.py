"""What sets each cluster apart: in which views, and in which of their columns, its mean differs."""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from viewpass.errors import NotCalibratedError
from viewpass.labels.features import LEAST_DIFFERENCE, differences
from viewpass.model.model import Model

FEW = 16  # columns: a view of no more is described by its columns, whether they have names or not
COLUMNS = 3  # of a cluster, the most different ones


class ColumnDifference(TypedDict):
    """A column, and how far the cluster's mean is from that of all rows, in standard deviations of these."""

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
    for v in range(len(names)):
        counts = total.counts[v].astype(np.float64)
        there = counts > 0
        if not there.any():
            continue
        sums = total.sums(v)[there]
        from_all = sums / counts[there, None] - (sums.sum(axis=0) / counts.sum())[None, :]
        squares[there, v] = (from_all * from_all).sum(axis=1)
        for cluster, some in enumerate(_columns(model, v)):
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


def _columns(model: Model, v: int) -> list[list[ColumnDifference]]:
    """The most different columns of each cluster in a view whose columns mean something."""
    names = model.schema.columns_of(model.schema.names[v])
    width = model.schema.widths[v] or 0
    if names is None and 1 < width <= FEW:
        names = tuple(f"column {number}" for number in range(width))
    if names is None or len(names) != width:
        return []
    try:
        relative = differences(model, v)
    except NotCalibratedError:
        return []
    order = np.argsort(-np.abs(relative), axis=1, kind="stable")[:, :COLUMNS]
    view = model.schema.names[v]
    return [
        [
            ColumnDifference(view=view, column=str(names[j]), difference=round(float(relative[k, j]), 2))
            for j in row.tolist()
            if abs(relative[k, j]) >= LEAST_DIFFERENCE
        ]
        for k, row in enumerate(order)
    ]
