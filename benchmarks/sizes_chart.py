"""Draws seconds of a fit by number of rows."""

from __future__ import annotations

from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from benchmarks.sizes import SIZES, Seconds

STYLES = {"viewpass": ("o", "#0077BB"), "KMeans": ("v", "#999999"), "HDBSCAN": ("s", "#EE7733")}


def draw(found: Seconds, folder: Path) -> None:
    """Save sizes.svg."""
    with rc_context({"font.size": 12, "svg.hashsalt": "viewpass", "svg.fonttype": "none"}):
        figure = Figure(figsize=(7.5, 4.2), facecolor="white", layout="constrained")
        axes = figure.add_subplot()
        for name, values in found.items():
            marker, colour = STYLES[name]
            axes.loglog(SIZES, values, marker=marker, color=colour, label=name)
        axes.set_xlabel("rows")
        axes.set_ylabel("processor seconds of a fit")
        axes.grid(color="#DDDDDD")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        figure.savefig(folder / "sizes.svg", metadata={"Date": None})
