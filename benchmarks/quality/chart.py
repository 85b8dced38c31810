"""Draws the chart of the quality benchmarks: NMI of every method, one row per data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from benchmarks.chart import head
from benchmarks.quality.methods import METHODS
from benchmarks.quality.sets import REPORTED, SETS, TUNED
from benchmarks.quality.summary import Result, Results

INK, SOFT, FAINT = "#222222", "#666666", "#DDDDDD"
# Colour-blind safe (Paul Tol's vibrant scheme); the markers differ as well.
STYLES = {
    "kmeans": ("v", "#BBBBBB", 12),
    "opimc1": ("<", "#EE7733", 12),
    "opimc10": ("^", "#CC3311", 13),
    "imc5": ("s", "#222222", 11),
    "nemo": ("P", "#AA3377", 13),
    "pimvc": ("X", "#009988", 13),
    "nemo-standard": ("P", "#D9A3C0", 13),
    "pimvc-standard": ("X", "#7FCCC3", 13),
    "viewpass-quarter": ("h", "#99CCEE", 15),
    "viewpass": ("o", "#0077BB", 17),
}
ROW, HEAD, FOOT = 0.62, 2.6, 1.25  # inches


def draw(found: Results, folder: Path) -> None:
    """Save quality.png and quality.svg, if there is anything to draw."""
    first = {name: real.missing[0] for name, real in SETS.items()}
    measured = [each for each in found.values() if each.figures and each.missing == first[each.set]]
    halves = [
        [name for name in half if any(each.set == name for each in measured)] for half in (REPORTED, TUNED)
    ]
    rows = {name: place for place, name in _places(halves)}
    if not rows:
        return
    height = HEAD + FOOT + ROW * (max(rows.values()) + 1)
    with rc_context({"font.size": 17, "text.color": INK, "svg.hashsalt": "viewpass"}):
        figure = Figure(figsize=(15, height), facecolor="white")
        axes = figure.add_axes((0.19, FOOT / height, 0.78, 1 - (HEAD + FOOT) / height))
        _dots(axes, [each for each in measured if each.set in rows], rows)
        _frame(axes, rows, halves)
        _write(figure, measured)
        figure.savefig(folder / "quality.png", dpi=110)
        figure.savefig(folder / "quality.svg", metadata={"Date": None})


def _places(halves: list[list[str]]) -> list[tuple[float, str]]:
    """Rows from above, a gap with a heading before each half."""
    places, at = [], 0.0
    for half in halves:
        at += 1 if half else 0
        for name in half:
            places.append((at, name))
            at += 1
    return places


def _dots(axes: Any, measured: list[Result], rows: dict[str, float]) -> None:
    for layer, (method, (marker, colour, size)) in enumerate(STYLES.items()):
        some = [each for each in measured if each.method == method]
        if some:
            axes.plot(
                [each.figures["nmi"].mean for each in some],
                [rows[each.set] for each in some],
                marker,
                color=colour,
                markersize=size,
                markeredgecolor="white",
                markeredgewidth=1.0,
                label=METHODS[method].title,
                zorder=3 + layer,
                clip_on=False,
            )


def _frame(axes: Any, rows: dict[str, float], halves: list[list[str]]) -> None:
    axes.set_xlim(0, 1)
    axes.set_ylim(max(rows.values()) + 0.5, -0.5)
    axes.set_yticks(list(rows.values()), [_title(name) for name in rows], fontsize=18)
    axes.tick_params(axis="both", length=0, labelcolor=INK)
    axes.grid(axis="x", color=FAINT, lw=1)
    for y in rows.values():
        axes.axhline(y, color=FAINT, lw=1, zorder=1)
    for half, title in zip(halves, ("reported half", "tuned half"), strict=True):
        if half:
            axes.text(0, rows[half[0]] - 0.8, title, fontsize=18, weight="bold", va="center")
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)


def _title(name: str) -> str:
    return "Digit (mfeat)" if name == "mfeat" else name


def _write(figure: Any, measured: list[Result]) -> None:
    height = head(figure, "How well clusters agree with the classes (NMI), real data, views missing")
    seeds = max(each.figures["nmi"].seeds for each in measured)
    about = (
        f"Mean of at most {seeds} seeds; 0.3 of each view removed (not bdgp, debian_l10n, emoji_l10n). "
        "Right is better.\nNEMO and PIMVC need all pairs of rows: sets of at most 3,100. "
        "Sample of a quarter of the rows: at least 50 per cluster."
    )
    figure.text(0.02, 0.42 / height, about, fontsize=15, color=SOFT, va="center")
