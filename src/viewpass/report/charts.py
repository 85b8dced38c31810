"""Points of small charts, in the units of their drawing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

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
