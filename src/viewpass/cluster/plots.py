"""The curve that the number of clusters is read off, drawn."""

from __future__ import annotations

from typing import Any

from viewpass.core.consensus.number_of_clusters import GAP, Curve
from viewpass.errors import missing_extra

try:
    from matplotlib import pyplot
    from matplotlib.ticker import MaxNLocator
except ImportError as absent:
    raise missing_extra("matplotlib", "report", "plot_cluster_curve") from absent

TITLES = {
    GAP: "gap behind the K-th eigenvalue\nof the graph",
    "merge price": "price of the merge below K clusters,\nover that of the merge before",
}
LINE, TAKEN = "#0077BB", "#CC3311"


def draw_curve(curve: Curve, n_clusters: int, ax: Any = None) -> Any:
    """A value for each number of clusters; the number the model has is marked, and the highest named."""
    if ax is None:
        _, ax = pyplot.subplots(figsize=(6.4, 3.6), layout="constrained")
    ax.plot(curve.numbers, curve.values, "o-", color=LINE, markersize=4, linewidth=1.5)
    ax.axvline(n_clusters, color=TAKEN, linewidth=1.2, linestyle="--", zorder=0)
    told = f"K = {n_clusters}"
    if curve.n_clusters != n_clusters:
        told += f" (the curve says {curve.n_clusters})"
    left = n_clusters < (int(curve.numbers[0]) + int(curve.numbers[-1])) / 2
    ax.annotate(
        told,
        (n_clusters, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(6 if left else -6, -12),
        textcoords="offset points",
        ha="left" if left else "right",
        color=TAKEN,
    )
    ax.set_xlabel("number of clusters K")
    ax.set_ylabel(TITLES[curve.kind])
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.spines[["top", "right"]].set_visible(False)
    return ax
