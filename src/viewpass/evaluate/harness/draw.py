"""Draws figures in one style, as SVG, PNG and PDF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from viewpass.errors import missing_extra

try:
    from matplotlib import style
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator
except ImportError as absent:
    raise missing_extra("matplotlib", "report", "drawing figures") from absent

# Colour-blind safe (Paul Tol's bright scheme); markers and dashes differ as well.
STYLES: dict[str, dict[str, Any]] = {
    "OPIMC": {"color": "#CC3311", "marker": "o", "linewidth": 2.6, "zorder": 5},
    "IMC": {"color": "#222222", "marker": "", "linestyle": "--"},
    "OMVC": {"color": "#0077BB", "marker": "s"},
    "MultiNMF": {"color": "#777777", "marker": "", "linestyle": ":"},
    "ONMF-I": {"color": "#009988", "marker": "^"},
    "ONMF-DA": {"color": "#EE7733", "marker": "v"},
}
COLOURS = ("#0077BB", "#CC3311", "#009988", "#EE7733", "#AA3377", "#222222")
RULES = {
    "font.size": 13,
    "axes.titlesize": 14,
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


def panels(n_rows: int, n_columns: int, height: float = 3.5, width: float = 4.6) -> tuple[Any, Any]:
    """A figure and its axes, as a 2-D array."""
    with style.context(["default", RULES]):
        figure = Figure(figsize=(width * n_columns, height * n_rows), facecolor="white", layout="constrained")
        return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def score_panels(height: float, width: float, n_passes: int = 0) -> tuple[Any, Any, dict[str, Any]]:
    """A figure with a panel for accuracy and one for NMI, with one tick per pass."""
    figure, axes = panels(1, 2, height=height, width=width)
    named = dict(zip(("acc", "nmi"), axes.flat, strict=True))
    for score, axis in named.items():
        axis.set_ylabel("accuracy" if score == "acc" else "NMI")
        if n_passes:
            axis.set_xlabel("pass")
            axis.set_xticks(range(1, n_passes + 1))
    return figure, axes, named


def legend(figure: Any, axes: Any, **where: Any) -> None:
    """One legend for all panels, from the first of them."""
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, fontsize=13, **where)


def readable(axis: Any) -> None:
    """Tick labels at 1, 2 and 5 of every decade of a logarithmic axis."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter("{x:g}")


def save(figure: Any, out: Path, name: str, second: str = "png") -> str:
    """Write NAME.svg, and NAME.png or NAME.pdf; returns NAME."""
    with style.context(["default", RULES]):
        figure.savefig(out / f"{name}.svg", metadata={"Date": None})
        more = {"dpi": 110} if second == "png" else {"metadata": {"CreationDate": None}}
        figure.savefig(out / f"{name}.{second}", **more)
    return name


def curves(
    out: Path,
    name: str,
    methods: Sequence[str],
    values: Mapping[tuple[str, str], Sequence[float]],
    across: tuple[str, Sequence[float]],
    ylabel: str,
) -> None:
    """Values by panel and method: a panel each with a line for each method, as SVG and PDF."""
    titles = list(dict.fromkeys(title for title, _ in values))
    n_columns = min(len(titles), 3)
    figure, axes = panels((len(titles) + n_columns - 1) // n_columns, n_columns)
    label, places = across
    for axis, title in zip(axes.flat, titles, strict=False):
        for number, method in enumerate(methods):
            if (title, method) in values:
                line = {"color": COLOURS[number % len(COLOURS)], "marker": "osv^DP"[number % 6]}
                axis.plot(places, values[title, method], label=method, **line)
        axis.set_title(title)
        axis.set_xlabel(label)
        axis.set_ylabel(ylabel)
        axis.set_xticks(places)
    for axis in axes.flat[len(titles) :]:
        axis.axis("off")
    legend(figure, axes, loc="outside lower center", ncols=min(len(methods), 4))
    save(figure, out, name, "pdf")
