"""Plots of a summary by matplotlib; each takes and gives axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viewpass.errors import SettingError, missing_extra
from viewpass.model.model import Model
from viewpass.report.charts import MARKED, bands
from viewpass.report.findings import Summary, filled, view_shares
from viewpass.report.layout import places_of
from viewpass.report.page import Places, cluster_colours, cluster_spots
from viewpass.report.wording import VIEW, cluster_name, short

try:
    from matplotlib import pyplot
    from matplotlib.ticker import MaxNLocator
except ImportError as absent:
    raise missing_extra("matplotlib", "report", "a plot") from absent

# Told apart by people who see colours differently; the same as on the page.
PALETTE = (
    *("#3b6fb0", "#d9644a", "#23824a", "#b8961b", "#3aa7c4"),
    *("#a23a7c", "#e08a1e", "#128a80", "#7a2e4d", "#7d7f86"),
)
BAR, REST = "#0a6180", "#d8d5ce"
NAMED = 40  # clusters with a name on the map, or with a bar
NAMES_APART = 0.04  # of the rows: names of events that are nearer are one
OFTEN = ("drifted", "silent", "sounding")  # events of the timeline with a line, but without their name
NAMED_SHARE = 0.04  # of a band of the timeline with a name


def _axes(ax: Any, width: float = 6.4, height: float = 3.8) -> Any:
    if ax is None:
        _, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _plain(text: str) -> str:
    """Text that matplotlib does not take for a formula."""
    return text.replace("$", r"\$")


def _bars(values: Sequence[tuple[str, float]], label: str, ax: Any) -> Any:
    """A bar for each name, the first on top."""
    ax = _axes(ax, height=0.3 * len(values) + 0.9)
    ax.barh(range(len(values)), [value for _, value in values], color=BAR, height=0.7)
    ax.set_yticks(range(len(values)), [_plain(name) for name, _ in values])
    ax.invert_yaxis()
    ax.set_xlabel(label)
    return ax


def draw_sizes(found: Summary, ax: Any = None) -> Any:
    """Rows of each cluster, the largest first."""
    clusters = filled(found)[:NAMED]
    if not clusters or not clusters[0]["rows"]:
        raise SettingError("the sizes of the clusters are not known: give the rows, as in plot('sizes', X).")
    return _bars([(cluster_name(each, VIEW), each["rows"]) for each in clusters], "rows", ax)


def draw_missing(found: Summary, ax: Any = None) -> Any:
    """The share of rows that lack each view."""
    shares = [(view.name, view.missing) for view in view_shares(found)]
    return _bars(shares, "share of the rows that lack it", ax)


def draw_views(found: Summary, ax: Any = None) -> Any:
    """The share of each view in what separates clusters."""
    shares = [(view.name, view.separates or 0.0) for view in view_shares(found)]
    return _bars(shares, "share of what separates clusters", ax)


def draw_loss(found: Summary, ax: Any = None) -> Any:
    """The average loss after each chunk."""
    ax, losses = _axes(ax), found["loss_curve"]
    ax.plot(range(1, len(losses) + 1), losses, color=BAR, marker="o" if len(losses) < 30 else None)
    ax.set_xlabel("chunk")
    ax.set_ylabel("average loss per row")
    return ax


def draw_curve(model: Model, ax: Any = None) -> Any:
    """The score of each number of clusters, with its error, and the number that the model has."""
    curve, n_clusters = model.curve, model.n_clusters
    if curve is None:
        raise SettingError("no cluster curve: it is computed with n_clusters='auto' or anchors.")
    ax = _axes(ax)
    ax.plot(curve.numbers, curve.values, "o-", color=BAR, markersize=4, linewidth=1.5)
    low, high = curve.values - curve.errors, curve.values + curve.errors
    ax.fill_between(curve.numbers, low, high, color=BAR, alpha=0.2, linewidth=0)
    ax.axvline(n_clusters, color=PALETTE[1], linewidth=1.2, linestyle="--", zorder=0)
    suggested = f" (the curve suggests {curve.n_clusters})" if curve.n_clusters != n_clusters else ""
    left = n_clusters < (int(curve.numbers[0]) + int(curve.numbers[-1])) / 2
    ax.annotate(
        f"K = {n_clusters}{suggested}",
        (n_clusters, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(6 if left else -6, -12),
        textcoords="offset points",
        ha="left" if left else "right",
        color=PALETTE[1],
    )
    ax.set_xlabel("number of clusters K")
    ax.set_ylabel("information of labels\nabout hidden views (nats)")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return ax


def draw_map(found: Summary, places: Places, ax: Any = None) -> Any:
    """The map of the sampled rows, or of the centres, coloured by cluster."""
    ax = _axes(ax, 7.2, 5.4)
    clusters = filled(found)
    spots = cluster_spots(places, len(found["clusters"]))
    colours = cluster_colours(clusters, spots)
    rows = [row for row in found["sample"] if row["reasons"]["near"]]
    if rows:
        given = [row["reasons"]["near"] for row in rows], [row["reasons"]["weights"] for row in rows]
        xy, labels = places_of(*given, places.centres), [row["cluster"] for row in rows]
        sizes: Any = 9.0
    else:
        xy, labels = places.centres, places.clusters.tolist()
        sizes = 12.0 + 120.0 * places.sizes / max(int(places.sizes.max(initial=1)), 1)
    shown = [PALETTE[colours.get(label, 9)] for label in labels]
    ax.scatter(xy[:, 0], -xy[:, 1], s=sizes, c=shown, alpha=0.8, linewidths=0)
    for each in clusters[:NAMED]:
        x, y = spots[each["cluster"]]
        text = _plain(short(cluster_name(each), 26) if each["name"] else str(each["cluster"]))
        box = {"boxstyle": "round,pad=.15", "fc": "white", "ec": "none", "alpha": 0.7}
        ax.annotate(text, (x, -y), ha="center", va="center", fontsize=7.5, bbox=box)
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def draw_timeline(found: Summary, ax: Any = None) -> Any:
    """The shares of clusters along a stream, by lasting id, and lines where something happened."""
    timeline = found["timeline"]
    if not timeline or len(timeline["rows"]) < 2:
        raise SettingError("there is no timeline: nothing happened to the clusters of this model.")
    ax = _axes(ax, 7.2, 3.8)
    rows = timeline["rows"]
    for band in bands(timeline):
        colour = REST if band.id is None else PALETTE[band.id % len(PALETTE)]
        ax.fill_between(rows, band.low, band.high, color=colour, alpha=0.85, linewidth=0)
        inner = slice(1, -1) if len(rows) > 2 else slice(None)  # names stay inside the axes
        widest = int((band.high - band.low)[inner].argmax()) + (inner.start or 0)
        if band.high[widest] - band.low[widest] >= NAMED_SHARE:
            text = "others" if band.id is None else str(band.id)
            middle = (band.low[widest] + band.high[widest]) / 2
            shade = "black" if band.id is None else "white"
            ax.annotate(text, (rows[widest], middle), ha="center", va="center", fontsize=7.5, color=shade)
    happened = dict[int, list[str]]()
    for event in timeline["events"][-MARKED:]:
        happened.setdefault(event["row"], []).append(event["what"])
    named = dict[int, list[str]]()
    for row, kinds in happened.items():
        ax.axvline(row, color="#1c1e22", linewidth=0.8, linestyle=":")
        last = next(reversed(named), None)
        near = last is not None and row - last < NAMES_APART * (rows[-1] - rows[0])
        names = named.setdefault(last if near and last is not None else row, [])
        names += [kind for kind in kinds if kind not in OFTEN]
    for row, names in named.items():
        text = ", ".join(dict.fromkeys(names))
        ax.annotate(text, (row, 1.01), fontsize=7, rotation=50, va="bottom", annotation_clip=False)
    ax.set_xlim(rows[0], rows[-1])
    ax.set_ylim(0, 1)
    ax.set_xlabel("rows read")
    ax.set_ylabel("share of the rows")
    return ax


KINDS: dict[str, Any] = {
    "map": draw_map,
    "sizes": draw_sizes,
    "views": draw_views,
    "missing": draw_missing,
    "curve": draw_curve,
    "loss": draw_loss,
    "timeline": draw_timeline,
}
