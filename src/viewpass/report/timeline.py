"""The timeline of a stream: sizes of clusters along it, and what happened, as shapes of a small chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from viewpass.kernels.grid import Floats
from viewpass.report.charts import BOTTOM, LEFT, RIGHT, WIDTH, ticks
from viewpass.report.summary.fields import TimelineSummary
from viewpass.streams.events import Event

HEIGHT, TOP = 260, 40
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
    height: int = HEIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


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
        return round(HEIGHT - BOTTOM - float(share) * (HEIGHT - BOTTOM - TOP), 1)

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
