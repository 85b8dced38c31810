"""Draws the chart of the speed benchmarks: seconds of every method over those of one distance pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from benchmarks.ours import DEFAULT, PUBLISHED
from benchmarks.peers import FAISS

INK, SOFT, FAINT = "#222222", "#666666", "#DDDDDD"
# Colour-blind safe (Paul Tol's vibrant scheme); the markers differ as well.
STYLES = {
    PUBLISHED: ("o", "#0077BB", 17),
    DEFAULT: ("h", "#009988", 15),
    FAISS[0].name: ("s", "#EE7733", 12),
    FAISS[1].name: ("p", "#AA5500", 14),
    "KMeans": ("v", "#EE3377", 13),
    "MiniBatchKMeans": ("^", "#CC3311", 13),
    "iMML OPIMC": ("X", "#666666", 14),
    "read the bytes": ("|", "#222222", 20),
}


def draw(found: dict[str, Any], folder: Path) -> None:
    """Save bench.png and bench.svg, if there is anything to draw."""
    measured = [row for row in found["rows"] if row.get("ratio") and row["method"] in STYLES]
    names = list(dict.fromkeys(row["workload"] for row in measured))
    if not names:
        return
    settings: dict[Any, Any] = {"font.size": 17, "text.color": INK, "svg.hashsalt": "viewpass"}
    with rc_context(settings):
        figure = Figure(figsize=(15, 2.9 + 0.72 * len(names)), facecolor="white")
        top = 1 - 1.75 / figure.get_figheight()
        axes = figure.add_axes((0.16, 1.0 / figure.get_figheight(), 0.81, top - 1.0 / figure.get_figheight()))
        _dots(axes, measured, names)
        _frame(axes, names)
        _write(figure, found)
        figure.savefig(folder / "bench.png", dpi=110)
        figure.savefig(folder / "bench.svg", metadata={"Date": None})


def _dots(axes: Any, measured: list[dict[str, Any]], names: list[str]) -> None:
    for method, (marker, colour, size) in STYLES.items():
        rows = [row for row in measured if row["method"] == method]
        front = {DEFAULT: 5, PUBLISHED: 4}.get(method, 3)
        axes.plot(
            [row["ratio"] for row in rows],
            [names.index(row["workload"]) for row in rows],
            *(marker,),
            color=colour,
            markersize=size,
            markeredgecolor="white" if marker != "|" else colour,
            markeredgewidth=1.0 if marker != "|" else 4,
            linestyle="none",
            label=method,
            zorder=front,
            clip_on=False,
        )
    for row in measured:
        if row["method"] == DEFAULT:
            place = (row["ratio"], names.index(row["workload"]))
            style = {"fontsize": 14, "weight": "bold", "color": STYLES[DEFAULT][1], "ha": "center"}
            axes.annotate(_brief(row["ratio"]), place, (0, 11), textcoords="offset points", **style)


def _brief(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}" if ratio >= 2 else f"{ratio:.2f}"


def _frame(axes: Any, names: list[str]) -> None:
    axes.set_xscale("log")
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), names, fontsize=18)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g} x")
    axes.tick_params(axis="both", which="both", length=0, labelcolor=INK)
    axes.grid(axis="x", color=FAINT, lw=1)
    axes.axvline(1, color=INK, lw=2, zorder=2)
    for y in range(len(names)):
        axes.axhline(y, color=FAINT, lw=1, zorder=1)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)


def head(figure: Any, title: str) -> float:
    """Draw title and legend above all panels; returns the figure's height."""
    height: float = figure.get_figheight()
    figure.text(0.02, 1 - 0.42 / height, title, fontsize=23, weight="bold", va="center")
    figure.legend(
        *figure.axes[0].get_legend_handles_labels(),
        loc="upper left",
        bbox_to_anchor=(0.01, 1 - 0.7 / height),
        ncols=3,
        frameon=False,
        fontsize=16.5,
        handletextpad=0.2,
        columnspacing=1.5,
    )
    return height


def _write(figure: Any, found: dict[str, Any]) -> None:
    height = head(figure, "Time to cluster, in distance passes: one pass = every row times the centres, once")
    size = "full size" if found["share"] == 1 else f"{found['share']:g} of the rows"
    facts = found["machine"]
    about = (
        f"{size}, {found['n_threads']} threads of {facts['processor']}; log scale, left is faster. "
        "iMML and FAISS do not take sparse data."
    )
    figure.text(0.02, 0.25 / height, about, fontsize=15, color=SOFT, va="center")
