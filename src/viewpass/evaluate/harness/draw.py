"""Figures of lines in panels, as SVG and PDF."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viewpass.errors import missing_extra

# Colour-blind safe (Paul Tol's bright scheme); markers differ as well.
COLOURS = ("#0077BB", "#CC3311", "#009988", "#EE7733", "#AA3377", "#222222")
MARKERS = "osv^DP"
RULES = {
    "font.size": 13,
    "axes.titlesize": 12.5,
    "axes.grid": True,
    "grid.color": "#E4E4E4",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 5.5,
    "svg.hashsalt": "viewpass",
    "svg.fonttype": "none",
}


@dataclass(frozen=True)
class Line:
    """Values at places, with a name for the legend."""

    name: str
    places: Sequence[float]
    values: Sequence[float]
    style: dict[str, Any] = field(default_factory=dict)  # of matplotlib; by default a colour and marker


@dataclass(frozen=True)
class Panel:
    """Lines over one axis; `beside` has the right axis, from 0 to 1, to itself."""

    lines: Sequence[Line]
    across: str
    up: str
    title: str = ""
    limits: tuple[float, float] | None = None
    ticks: Sequence[float] | None = None
    logarithmic: str = ""  # "x", "xy"
    beside: Line | None = None


@dataclass(frozen=True)
class Figure:
    """Panels in rows, and what a reader who does not see them is told."""

    panels: Sequence[Panel]
    alt: str
    n_columns: int = 2
    size: tuple[float, float] = (4.6, 3.5)  # inches of a panel


def draw(figure: Figure, out: Path, name: str) -> None:
    """Write NAME.svg and NAME.pdf into a folder, with one legend for all panels."""
    try:
        from matplotlib import figure as pictures
        from matplotlib import style
    except ImportError as absent:
        raise missing_extra("matplotlib", "report", "drawing figures") from absent
    n_columns = min(figure.n_columns, len(figure.panels))
    n_rows = -(-len(figure.panels) // n_columns)
    size = n_columns * figure.size[0], n_rows * figure.size[1]
    with style.context(["default", RULES]):
        picture = pictures.Figure(figsize=size, facecolor="white", layout="constrained")
        axes = list(picture.subplots(n_rows, n_columns, squeeze=False).flat)
        spare = axes[len(figure.panels) :]
        names = list(dict.fromkeys(line.name for panel in figure.panels for line in panel.lines))
        shown: dict[str, Any] = {}
        for axis, panel in zip(axes, figure.panels, strict=False):
            _draw_panel(axis, panel, names)
            handles, labels = axis.get_legend_handles_labels()
            shown |= dict(zip(labels, handles, strict=True))
        for axis in spare:
            axis.axis("off")
        if len(names) > 1 and spare:
            spare[0].legend(shown.values(), shown, loc="center", fontsize=15)
        elif len(names) > 1:
            fitting = int(size[0] / (0.8 + 0.1 * max(map(len, names))))  # names of this length, by inches
            n_names = max(1, min(len(names), fitting, 4))
            picture.legend(shown.values(), shown, loc="outside lower center", ncols=n_names)
        for ending, when in (("svg", "Date"), ("pdf", "CreationDate")):
            picture.savefig(out / f"{name}.{ending}", metadata={when: None})


def _draw_panel(axis: Any, panel: Panel, names: list[str]) -> None:
    from matplotlib.ticker import LogLocator

    for line in panel.lines:
        number = names.index(line.name)  # the same method has the same colour in every panel
        own = {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)]}
        axis.plot(line.places, line.values, label=line.name, **(line.style or own))
    axis.set(title=panel.title, xlabel=panel.across, ylabel=panel.up)
    for letter in panel.logarithmic:
        getattr(axis, f"set_{letter}scale")("log")
    if panel.limits is not None:
        axis.set_ylim(panel.limits)
    if panel.ticks is not None:
        axis.set_xticks(panel.ticks, [f"{place:,}" for place in panel.ticks])
        axis.minorticks_off()
    if "y" in panel.logarithmic:
        axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.yaxis.set_major_formatter("{x:g}")
    if panel.beside is not None:
        right = axis.twinx()
        right.plot(panel.beside.places, panel.beside.values, color=COLOURS[1], marker="o", markersize=3.5)
        right.set_ylabel(panel.beside.name, color=COLOURS[1])
        axis.yaxis.label.set_color(COLOURS[0])
        right.set_ylim(0, 1)
        right.grid(visible=False)
