"""Plot of the curve that the number of clusters is estimated from."""

from __future__ import annotations

from typing import Any

from viewpass.errors import missing_extra
from viewpass.model.curve import Curve

try:
    from matplotlib import pyplot
    from matplotlib.ticker import MaxNLocator
except ImportError as absent:
    raise missing_extra("matplotlib", "report", "plot_cluster_curve") from absent

TITLE = "information of labels\nabout hidden views (nats)"
LINE, CHOSEN = "#0077BB", "#CC3311"


def draw_curve(curve: Curve, n_clusters: int, ax: Any = None) -> Any:
    """Plot the score of each number of clusters and mark the number the model has."""
    if ax is None:
        _, ax = pyplot.subplots(figsize=(6.4, 3.6), layout="constrained")
    ax.plot(curve.numbers, curve.values, "o-", color=LINE, markersize=4, linewidth=1.5)
    low, high = curve.values - curve.errors, curve.values + curve.errors
    ax.fill_between(curve.numbers, low, high, color=LINE, alpha=0.2, linewidth=0)
    ax.axvline(n_clusters, color=CHOSEN, linewidth=1.2, linestyle="--", zorder=0)
    text = f"K = {n_clusters}"
    if curve.n_clusters != n_clusters:
        text += f" (the curve suggests {curve.n_clusters})"
    left = n_clusters < (int(curve.numbers[0]) + int(curve.numbers[-1])) / 2
    ax.annotate(
        text,
        (n_clusters, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(6 if left else -6, -12),
        textcoords="offset points",
        ha="left" if left else "right",
        color=CHOSEN,
    )
    ax.set_xlabel("number of clusters K")
    ax.set_ylabel(TITLE)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.spines[["top", "right"]].set_visible(False)
    return ax
