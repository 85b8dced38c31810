"""Draws the demo's picture: the images of each cluster, the wrong ones, and the missing views."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from viewpass.errors import missing_extra

try:
    from matplotlib import style
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle
except ImportError as absent:
    raise missing_extra("matplotlib", "report", "the picture of the demo") from absent

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

# Colour-blind safe: Paul Tol's vibrant scheme.
RIGHT, WRONG = "#0077BB", "#CC3311"
INK, SOFT, FAINT = "#222222", "#666666", "#C8C8C8"

# Layout of the panel of clusters, in tiles.
N_NEAR, N_FAR = 7, 10
PITCH, LINE = 1.16, 1.5  # from tile to tile, from row to row
TEXT_X, CENTRE_X = 1.0, 4.5
NEAR_X = CENTRE_X + 1.9
FAR_X = NEAR_X + N_NEAR * PITCH + 0.5

# Layout of the panel of missing views, in lines.
DOT_PITCH, BAR_X, BAR_WIDTH = 0.8, 3.6, 5.6
GROUP_GAP = 0.7


@dataclass(frozen=True)
class Clustering:
    """What the picture shows."""

    images: Floats
    digits: Integers
    labels: npt.NDArray[Any]
    observed: Mask
    view_names: tuple[str, ...]
    distances: Floats  # of each row from its own centre; only their order matters
    means: Floats  # the centres of the pixel view, as images
    matched: Integers  # the digit of each cluster
    rate: float
    caption: str

    @property
    def right(self) -> Mask:
        """Rows whose digit is the one their cluster is matched to."""
        return np.asarray(self.digits == self.matched[self.labels])


def draw(found: Clustering, path: Path) -> None:
    """Draw and save the picture."""
    with style.context(["default", {"font.size": 11, "text.color": INK}]):
        figure = Figure(figsize=(18, 9.2), facecolor="white")
        _write_around(figure, found)
        _show_clusters(figure.add_axes((0.02, 0.06, 0.675, 0.80)), found)
        _show_missing(figure.add_axes((0.725, 0.06, 0.26, 0.80)), found)
        figure.savefig(path, dpi=140)


def _write_around(figure: Any, found: Clustering) -> None:
    n_rows, n_clusters = len(found.images), len(found.means)
    title = (
        f"{n_rows:,} handwritten digits in {n_clusters} clusters, with {found.rate:.0%} of every view missing"
    )
    key = (
        "Red frame: an image of another digit, named in the corner. Dots under an image: "
        f"its views ({', '.join(found.view_names)}), filled where seen."
    )
    figure.text(0.02, 0.954, title, fontsize=21.5, weight="bold", va="center")
    figure.text(0.02, 0.903, key, fontsize=13, color=SOFT, va="center")
    figure.text(0.02, 0.030, found.caption, fontsize=12, color=SOFT, va="center")


# ---- the clusters


def _show_clusters(axes: Any, found: Clustering) -> None:
    _blank(axes, width=FAR_X + N_FAR * PITCH, height=len(found.means) * LINE, top=1.0)
    axes.set_aspect("equal", anchor="NW")
    for x, text in (
        (0.0, "cluster"),
        (CENTRE_X, "centre"),
        (NEAR_X, "closest to the centre"),
        (FAR_X, "farthest from it"),
    ):
        axes.text(x, -0.45, text, fontsize=12.5, weight="bold", va="center")
    for line, cluster in enumerate(np.argsort(found.matched)):
        _show_cluster(axes, found, int(cluster), line * LINE)


def _show_cluster(axes: Any, found: Clustering, cluster: int, y: float) -> None:
    rows = np.flatnonzero(found.labels == cluster)
    _write_header(axes, found, cluster, rows, y)
    if not len(rows):
        return
    _tile(axes, found.means[cluster], CENTRE_X, y, SOFT, 1.4)
    ranked = rows[np.argsort(found.distances[rows], kind="stable")]
    nearest, others = ranked[:N_NEAR], ranked[N_NEAR:]
    for start, shown in ((NEAR_X, nearest), (FAR_X, others[-N_FAR:])):
        for place, row in enumerate(shown):
            _show_image(axes, found, int(row), start + place * PITCH, y)


def _write_header(axes: Any, found: Clustering, cluster: int, rows: Integers, y: float) -> None:
    digit = int(found.matched[cluster])
    axes.text(0.0, y + 0.5, str(digit), fontsize=29, weight="bold", va="center")
    if not len(rows):
        axes.text(TEXT_X, y + 0.5, f"no. {cluster}, no image", fontsize=11, va="center")
        return
    share = found.right[rows].mean()
    axes.text(TEXT_X, y + 0.12, f"no. {cluster}, {len(rows)} images", fontsize=11, va="center")
    axes.text(TEXT_X, y + 0.50, f"{share:.0%} right", fontsize=11.5, weight="bold", va="center")
    axes.text(TEXT_X, y + 0.88, _intruders(found, rows, digit), fontsize=10, color=WRONG, va="center")


def _intruders(found: Clustering, rows: Integers, digit: int) -> str:
    """The most common wrong digits."""
    counts = np.bincount(found.digits[rows], minlength=10)
    counts[digit] = 0
    others = [int(other) for other in np.argsort(-counts, kind="stable") if counts[other]]
    named = [f"{other} ({counts[other]})" for other in others[:2]]
    more = " …" if len(others) > 2 else ""
    return f"also {', '.join(named)}{more}" if named else ""


def _show_image(axes: Any, found: Clustering, row: int, x: float, y: float) -> None:
    right = bool(found.right[row])
    _tile(axes, found.images[row], x, y, FAINT if right else WRONG, 0.7 if right else 2.6)
    if not right:
        _write_digit(axes, str(found.digits[row]), x, y)
    n_views = found.observed.shape[1]
    places = x + 0.5 + 0.19 * (np.arange(n_views) - (n_views - 1) / 2)
    _dots(axes, places, y + 1.17, found.observed[row], size=11)


def _write_digit(axes: Any, digit: str, x: float, y: float) -> None:
    axes.add_patch(Rectangle((x + 0.70, y), 0.30, 0.34, color=WRONG, lw=0, zorder=4))
    style = {"fontsize": 9, "weight": "bold", "color": "white", "zorder": 5}
    axes.text(x + 0.85, y + 0.175, digit, ha="center", va="center_baseline", **style)


def _tile(axes: Any, image: Floats, x: float, y: float, edge: str, width: float) -> None:
    axes.imshow(image, cmap="Greys", extent=(x, x + 1, y + 1, y), interpolation="nearest")
    axes.add_patch(Rectangle((x, y), 1, 1, fill=False, edgecolor=edge, lw=width, zorder=3))


def _dots(axes: Any, x: npt.NDArray[Any], y: float, filled: Mask, size: float) -> None:
    axes.scatter(x[filled], np.full(filled.sum(), y), s=size, color=INK, lw=0.8)
    axes.scatter(
        x[~filled], np.full((~filled).sum(), y), s=size, facecolor="white", edgecolor="#999999", lw=0.8
    )


# ---- the missing views


def _show_missing(axes: Any, found: Clustering) -> None:
    groups = _grouped(found.observed)
    n_lines = sum(1 + len(group) for group in groups)
    _blank(axes, BAR_X + BAR_WIDTH + 2.3, n_lines + GROUP_GAP * (len(groups) - 1), top=4.2, left=-0.3)
    axes.text(-0.2, -3.33, "which views were seen", fontsize=12.5, weight="bold", va="center")
    axes.text(BAR_X, -0.7, "right", fontsize=11.5, weight="bold", color=RIGHT)
    axes.text(BAR_X + 1.5, -0.7, "wrong", fontsize=11.5, weight="bold", color=WRONG)
    for view, name in enumerate(found.view_names):
        axes.text(view * DOT_PITCH, -0.7, name, rotation=45, rotation_mode="anchor", fontsize=11)
    scale = BAR_WIDTH / max(len(rows) for group in groups for rows in group)
    y = 0.0
    for group in groups:
        _write_group(axes, found, group, y + 0.5)
        for rows in group:
            y += 1
            _show_combination(axes, found, rows, y + 0.5, scale)
        y += 1 + GROUP_GAP


def _grouped(observed: Mask) -> list[list[Integers]]:
    """Rows with the same views, by the number of views, then the most common first."""
    combinations, which = np.unique(observed, axis=0, return_inverse=True)
    alike = [np.flatnonzero(which.ravel() == c) for c in range(len(combinations))]
    alike.sort(key=len, reverse=True)
    sizes = sorted({int(n) for n in combinations.sum(axis=1)}, reverse=True)
    return [[rows for rows in alike if observed[rows[0]].sum() == size] for size in sizes]


def _write_group(axes: Any, found: Clustering, group: list[Integers], y: float) -> None:
    rows = np.concatenate(group)
    n_seen, n_views = int(found.observed[rows[0]].sum()), found.observed.shape[1]
    name = f"all {n_views} views" if n_seen == n_views else f"{n_seen} of {n_views} views"
    share = found.right[rows].mean()
    axes.text(-0.2, y, name, fontsize=11.5, weight="bold", va="center")
    axes.text(BAR_X, y, f"{len(rows)} images, {share:.0%} right", fontsize=11.5, va="center")


def _show_combination(axes: Any, found: Clustering, rows: Integers, y: float, scale: float) -> None:
    seen = found.observed[rows[0]]
    _dots(axes, DOT_PITCH * np.arange(len(seen)), y, seen, size=48)
    n_right = int(found.right[rows].sum())
    middle, end = BAR_X + scale * n_right, BAR_X + scale * len(rows)
    axes.add_patch(Rectangle((BAR_X, y - 0.3), middle - BAR_X, 0.6, color=RIGHT, lw=0))
    axes.add_patch(Rectangle((middle, y - 0.3), end - middle, 0.6, color=WRONG, lw=0))
    share = found.right[rows].mean()
    axes.text(end + 0.2, y, f"{len(rows)}, {share:.0%}", fontsize=10.5, color=SOFT, va="center")


def _blank(axes: Any, width: float, height: float, top: float, left: float = 0.0) -> None:
    axes.set_axis_off()
    axes.set(xlim=(left, width), ylim=(height, -top))
