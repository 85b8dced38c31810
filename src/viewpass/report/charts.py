"""Points of small charts, in the units of their drawing; and the timeline of a stream as such a chart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

import numpy as np

from viewpass.kernels.grid import Floats
from viewpass.report.summary.fields import TimelineSummary
from viewpass.streams.events import Event

WIDTH, HEIGHT = 560, 200
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 12, 34
MOST = 240  # points of a line


class Chart(TypedDict):
    """A line with its axes, ready to be drawn as SVG."""

    line: str
    band: str
    dots: list[tuple[float, float, str]]
    ticks_x: list[tuple[float, str]]
    ticks_y: list[tuple[float, str]]
    mark: float | None
    label: str


def line_chart(
    xs: Sequence[float],
    ys: Sequence[float | None],
    errors: Sequence[float | None] | None = None,
    *,
    mark: float | None = None,
    label: str = "",
    dots: bool = False,
) -> Chart | None:
    """The chart of a curve; None where there are fewer than two points."""
    points = [
        (x, y, e or 0.0) for x, y, e in zip(xs, ys, errors or [0.0] * len(xs), strict=True) if y is not None
    ]
    if len(points) < 2:
        return None
    points = (
        [points[round(i * (len(points) - 1) / (MOST - 1))] for i in range(MOST)]
        if len(points) > MOST
        else points
    )
    low, high = min(y - e for _, y, e in points), max(y + e for _, y, e in points)
    margin = (high - low) * 0.05 or abs(high) * 0.05 or 1.0
    low, high, first, last = low - margin, high + margin, points[0][0], points[-1][0]

    def at(x: float, y: float) -> tuple[float, float]:
        across = LEFT + (x - first) / ((last - first) or 1) * (WIDTH - LEFT - RIGHT)
        return round(across, 1), round(TOP + (high - y) / (high - low) * (HEIGHT - TOP - BOTTOM), 1)

    upper, lower = [at(x, y + e) for x, y, e in points], [at(x, y - e) for x, y, e in points]
    return Chart(
        line=_joined([at(x, y) for x, y, _ in points]),
        band=_joined([*upper, *reversed(lower)]) if errors else "",
        dots=[(*at(x, y), f"{x:g}: {y:.4g}") for x, y, _ in points] if dots and len(points) <= 60 else [],
        ticks_x=[(at(x, low)[0], f"{x:,.0f}") for x in ticks(first, last, 6, least=1.0)],
        ticks_y=[(at(first, y)[1], f"{y:.6g}") for y in ticks(low, high, 4)],
        mark=at(mark, low)[0] if mark is not None and first <= mark <= last else None,
        label=label,
    )


def _joined(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in points)


def ticks(first: float, last: float, most: int, least: float = 0.0) -> list[float]:
    """Round numbers between two numbers.

    >>> ticks(0.07, 0.61, 4)
    [0.2, 0.4, 0.6]
    """
    rough = (last - first) / most
    unit = 10.0 ** math.floor(math.log10(rough))
    step = max(next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough * 0.999), least)
    start = math.ceil(first / step - 1e-9)
    return [round(step * i, 12) for i in range(start, math.floor(last / step + 1e-9) + 1)]


def sparkline(values: Sequence[float], width: int = 120, height: int = 24) -> str:
    """Points of a small line; flat where all values are the same."""
    high = max(values, default=0.0) or 1.0
    step = width / max(len(values) - 1, 1)
    return _joined(
        [
            (round(i * step, 1), round(height - 2 - value / high * (height - 4), 1))
            for i, value in enumerate(values)
        ]
    )


def growth_of(found: Mapping[str, Any], cluster: int) -> str:
    """The growth of a cluster along the stream, where the summary has it."""
    growth = found.get("growth") or []
    values = growth[cluster] if cluster < len(growth) else []
    return sparkline(values) if len(values) > 1 else ""


TIMELINE_HEIGHT, TIMELINE_TOP = 260, 40
SHOWN = 12  # clusters with a band of their own; the others share one
COLOURS = 10  # of the palette, in page.css
MARKED = 200  # events with a mark
LISTED = 100  # events in words


class Band(NamedTuple):
    """A cluster's share of the rows along the stream; id None: the other clusters together."""

    id: int | None
    low: Floats  # at each point
    high: Floats


class Shape(NamedTuple):
    """A band as it is drawn: its outline, what it is, and where its name stands (None: too thin for it)."""

    outline: str
    text: str
    colour: int | None  # of the palette
    name: tuple[float, float, str] | None


class Mark(NamedTuple):
    """An event at its place along the stream."""

    x: float
    what: str
    text: str


class TimelineChart(NamedTuple):
    """What the page draws."""

    shapes: list[Shape]
    marks: list[Mark]
    ticks_x: list[tuple[float, str]]
    events: list[str]
    n_more: int
    label: str
    width: int = WIDTH
    height: int = TIMELINE_HEIGHT
    top: int = TIMELINE_TOP
    bottom: int = TIMELINE_HEIGHT - BOTTOM


def timeline_summary(
    timeline: Sequence[tuple[int, Mapping[int, int]]], events: Sequence[Event]
) -> TimelineSummary:
    """Sizes at some rows, by the lasting id of the cluster, and events: as plain values.

    >>> found = timeline_summary([(10, {0: 10}), (20, {0: 10, 1: 10})], [Event("born", 20, 1)])
    >>> found["rows"], found["sizes"], found["events"][0]["what"]
    ([10, 20], {'0': [10, 10], '1': [0, 10]}, 'born')
    """
    ids = sorted({id for _, sizes in timeline for id in sizes})
    return TimelineSummary(
        rows=[row for row, _ in timeline],
        sizes={str(id): [int(sizes.get(id, 0)) for _, sizes in timeline] for id in ids},
        events=[event.as_dict() for event in events],
    )


def bands(found: Mapping[str, Any]) -> list[Band]:
    """Shares of the clusters stacked, those that are largest at any point by id, and the others on top."""
    if not found["sizes"]:
        return []
    ids, sizes = [int(id) for id in found["sizes"]], np.array(list(found["sizes"].values()), dtype=np.float64)
    shares = sizes / np.maximum(sizes.sum(axis=0), 1.0)
    order = np.argsort(-shares.max(axis=1), kind="stable")
    shown, rest = np.sort(order[:SHOWN]), order[SHOWN:]
    parts = [(ids[place], shares[place]) for place in shown.tolist()]
    if len(rest):
        parts.append((None, shares[rest].sum(axis=0)))
    made, low = list[Band](), np.zeros(sizes.shape[1])
    for id, share in parts:
        made.append(Band(id, low, low + share))
        low = low + share
    return made


def event_of(given: Mapping[str, Any]) -> Event:
    """An event from its plain values."""
    return Event(**{**given, "others": tuple(given["others"]), "views": tuple(given["views"])})


def timeline_chart(found: Mapping[str, Any] | None) -> TimelineChart | None:
    """The chart of a timeline; None where nothing happened."""
    if not found or not found["events"]:
        return None
    rows, events = found["rows"], [event_of(each) for each in found["events"]]
    ends = [*rows, *(event.row for event in events)]
    first, last = min(ends), max(ends)

    def across(row: float) -> float:
        return round(LEFT + float(row - first) / ((last - first) or 1) * (WIDTH - LEFT - RIGHT), 1)

    def up(share: float) -> float:
        return round(TIMELINE_HEIGHT - BOTTOM - float(share) * (TIMELINE_HEIGHT - BOTTOM - TIMELINE_TOP), 1)

    shapes = []
    for band in bands(found) if len(rows) > 1 else []:
        upper = [(across(row), up(share)) for row, share in zip(rows, band.high, strict=True)]
        lower = [(across(row), up(share)) for row, share in zip(rows, band.low, strict=True)]
        outline = " ".join(f"{x},{y}" for x, y in [*upper, *reversed(lower)])
        text = "other clusters" if band.id is None else f"cluster {band.id}"
        widest = int((band.high - band.low).argmax())
        middle = (upper[widest][1] + lower[widest][1]) / 2
        wide = band.high[widest] - band.low[widest] >= 0.06
        x = min(max(upper[widest][0], LEFT + 12), WIDTH - RIGHT - 12)
        name = (x, round(middle + 4, 1), "others" if band.id is None else str(band.id)) if wide else None
        shapes.append(Shape(outline, text, None if band.id is None else band.id % COLOURS, name))
    return TimelineChart(
        shapes=shapes,
        marks=[Mark(across(event.row), event.what, str(event)) for event in events[-MARKED:]],
        ticks_x=[(across(row), f"{row:,.0f}") for row in ticks(first, last, 6, least=1.0)]
        if last > first
        else [],
        events=[f"{event}, {event.certainty:.0%} sure" for event in events[-LISTED:]],
        n_more=max(len(events) - LISTED, 0),
        label=f"shares of {len(found['sizes'])} clusters along the stream, and {len(events)} events",
    )
