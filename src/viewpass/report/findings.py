"""What a summary says, in sentences and small tables: the content of pages, cards and plots.

Each cluster is set apart by the views, and their columns, in which its mean differs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple, TypedDict

import numpy as np

from viewpass.errors import NotCalibratedError
from viewpass.labels.features import LEAST_DIFFERENCE, differences
from viewpass.model.model import Model
from viewpass.report.wording import VIEW, cluster_name, listed, percent, short, title_of

Summary = Mapping[str, Any]  # viewpass.report.summary.fields.Summary

DOUBTFUL = 0.5  # confidence below which a label is as likely wrong as right
UNUSUAL = 5.0  # outlier score: one row in 150
REPEATED = 0.5  # share of different rows of a view, up to which its values count as repeated
TAKES_OVER = 2.0  # odds of what a view separates, over those of its part
IDLE = 0.1  # the same
LEAST_BINS = 8  # of rows along the data
GREW, LEAST_GROWN = 1.5, 0.01  # times the share before, and share of the last quarter of the rows
LOOK = 10  # rows worth a look, of each kind


class ViewShare(NamedTuple):
    """A view: its share of what separates clusters; of rows that it decides, and whose label it changes."""

    name: str
    separates: float | None
    decides: float | None
    changes: float | None
    missing: float
    columns: int | None
    scale: str
    distinct: float | None  # of its sampled rows, the share of different ones
    odds: float | None  # of what it separates, over the odds of its part: of what rows have, what is of it


class Disagreement(NamedTuple):
    """Sampled rows of a cluster that would be in another one without a view."""

    view: str
    cluster: int
    other: int
    rows: int
    share: float


def filled(found: Summary) -> list[Mapping[str, Any]]:
    """The clusters that have rows, the largest first; all of them where no sizes are known."""
    clusters = [cluster for cluster in found["clusters"] if cluster["rows"]] or found["clusters"]
    return sorted(clusters, key=lambda cluster: (-cluster["rows"], cluster["cluster"]))


def headline(found: Summary) -> str:
    """What was found, in a sentence."""
    clusters, views = filled(found), found["views"]
    text = f"{found['rows']:,} rows of {counted(len(views), 'view')} fall into "
    text += counted(len(clusters), "cluster")
    if clusters and clusters[0]["rows"]:
        text += f", from {percent(clusters[-1]['share'])} to {percent(clusters[0]['share'])} of the rows"
    return text + "."


def sentences(found: Summary) -> list[str]:
    """What the clusters are, which view separates them, and how sure labels are."""
    said = []
    named = [each for each in filled(found) if each["name"]]
    if named:
        said.append(f"The largest are {listed([f'“{cluster_name(each, 60)}”' for each in named[:3]])}.")
    views = [view for view in view_shares(found) if view.separates is not None]
    best = max(views, key=lambda view: view.separates or 0.0, default=None)
    sure, doubtful = mean_confidence(found), doubtful_share(found)
    parts = []
    if best is not None and len(views) > 1:
        share = f"{percent(best.separates)} of the distance between them"
        parts.append(f"The view {best.name} separates them most ({share}).")
    if sure is not None:
        rest = f", and {percent(doubtful)} of the rows are doubtful" if doubtful else ""
        parts.append(f"The mean confidence of a label is {sure:.2f}{rest}.")
    return [*said, *([" ".join(parts)] if parts else []), *_grown(found)]


def _grown(found: Summary) -> list[str]:
    """Which clusters grew most along the data, in a sentence; none where none grew much."""
    bins = np.array(found.get("growth") or [[]], dtype=np.float64)
    if bins.shape[1] < LEAST_BINS:
        return []
    cut = bins.shape[1] * 3 // 4
    before, last = (part.sum(axis=1) / max(part.sum(), 1.0) for part in (bins[:, :cut], bins[:, cut:]))
    clusters = {each["cluster"]: each for each in filled(found)}
    order = [k for k in np.argsort(before - last, kind="stable").tolist() if k in clusters]
    grown = [k for k in order if last[k] >= max(GREW * before[k], LEAST_GROWN)][:3]
    if not grown:
        return []
    texts = [
        f"“{cluster_name(clusters[k], 60)}” ({percent(float(before[k]))} to {percent(float(last[k]))})"
        for k in grown
    ]
    return [f"Grown most in the last quarter of the rows, by its share: {listed(texts)}."]


def counted(count: int, what: str) -> str:
    """A number of things."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def mean_confidence(found: Summary) -> float | None:
    """The mean confidence of all rows."""
    known = [each for each in found["clusters"] if each["confidence"] is not None and each["rows"]]
    rows = sum(each["rows"] for each in known)
    return sum(each["confidence"] * each["rows"] for each in known) / rows if rows else None


def doubtful_share(found: Summary) -> float | None:
    """The share of sampled rows whose label is rather wrong than right."""
    sure = [row["confidence"] for row in found["sample"] if row["confidence"] is not None]
    return sum(value < DOUBTFUL for value in sure) / len(sure) if sure else None


def _reasons(found: Summary) -> list[Mapping[str, Any]]:
    """Sampled rows whose label the final centres give as well: not all that the stream gave are."""
    rows = [row for row in found["sample"] if row["cluster"] >= 0]
    return [row for row in rows if row["reasons"]["cluster"] in (-1, row["cluster"])]


def view_shares(found: Summary) -> list[ViewShare]:
    """Each view and what it does."""
    rows, n_rows = _reasons(found), max(found["rows"], 1)
    present = [(n_rows - view["missing"]) * (view["weight"] > 0) for view in found["views"].values()]
    parts_of = [own / max(sum(present), 1) for own in present]
    shares = []
    for v, (name, view) in enumerate(found["views"].items()):
        decided = changed = judged = dropped = 0
        for row in rows:
            parts, without = row["reasons"]["parts"], row["reasons"]["without"]
            known = [part for part in parts if part is not None]
            if len(known) > 1:
                judged += 1
                decided += parts[v] is not None and parts[v] == max(known)
            if without[v] is not None:
                dropped += 1
                changed += without[v] != row["cluster"]
        shares.append(
            ViewShare(
                short(name, VIEW),
                view["say"],
                decided / judged if judged else None,
                changed / dropped if dropped else None,
                view["missing"] / n_rows,
                view["columns"],
                view["scale"],
                view["distinct"],
                _relative_odds(view["say"], parts_of[v]),
            )
        )
    return shares


def repeated_views(found: Summary) -> list[ViewShare]:
    """Views of repeated values that take over: clusters may be these values."""
    views = view_shares(found)
    return [
        view
        for view in views
        if view.distinct is not None and view.distinct <= REPEATED and (view.odds or 0.0) >= TAKES_OVER
    ]


def idle_views(found: Summary) -> list[ViewShare]:
    """Views that hardly separate clusters, of those that take part; beside one that takes over, any may."""
    if repeated_views(found):
        return []
    return [view for view in view_shares(found) if view.odds is not None and view.odds <= IDLE]


def _relative_odds(share: float | None, part: float) -> float | None:
    """The odds of a share over those of the part that the view is of all; None where it takes no part."""
    if share is None or not 0.0 < part < 1.0:
        return None
    return (share / max(1.0 - share, 1e-9)) / (part / (1.0 - part))


def disagreements(found: Summary, most: int = 8) -> list[Disagreement]:
    """Where a view and the others disagree most: the label without it is another one."""
    moves: Counter[tuple[str, int, int]] = Counter()
    sizes: Counter[tuple[str, int]] = Counter()
    for row in _reasons(found):
        for name, other in zip(found["views"], row["reasons"]["without"], strict=True):
            if other is not None:
                sizes[name, row["cluster"]] += 1
                if other != row["cluster"]:
                    moves[name, row["cluster"], other] += 1
    order = sorted(moves.items(), key=lambda item: (-item[1], item[0]))[:most]
    return [
        Disagreement(short(name, VIEW), cluster, other, count, count / sizes[name, cluster])
        for (name, cluster, other), count in order
    ]


def unusual_rows(found: Summary) -> list[Mapping[str, Any]]:
    """The sampled rows that are farthest out."""
    rows = [row for row in _reasons(found) if row["reasons"]["outlier"] is not None]
    rows = [row for row in rows if row["reasons"]["outlier"] >= UNUSUAL]
    return sorted(rows, key=lambda row: (-row["reasons"]["outlier"], row["row"]))[:LOOK]


def doubtful_rows(found: Summary) -> list[Mapping[str, Any]]:
    """The rows of the lowest confidence, at most two of a cluster, and one of those that show the same."""
    rows = [
        row for each in found["clusters"] for row in each["doubtful"][:2] if row["confidence"] is not None
    ]
    told: dict[object, Mapping[str, Any]] = {}
    for row in sorted(rows, key=lambda row: (row["confidence"], row["row"])):
        told.setdefault(title_of(row), row)
    return list(told.values())[:LOOK]


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
