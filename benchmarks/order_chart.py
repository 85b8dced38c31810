"""Draws NMI along the stream of Digit, sorted by class and shuffled, with and without births of anchors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

WITHOUT, WITH = "#999999", "#1f77b4"


def draw(found: dict[str, Any], folder: Path) -> None:
    """Two panels side by side, as `order.svg`."""
    plt.rcParams["svg.hashsalt"] = "viewpass"
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
    titles = ("rows sorted by class", "rows shuffled")
    for panel, title, (without, births) in zip(
        panels, titles, (found["curves"][:2], found["curves"][2:]), strict=True
    ):
        panel.plot(found["rows"], without, "o-", color=WITHOUT, label="anchors of the first rows")
        panel.plot(found["rows"], births, "o-", color=WITH, label="adaptive_anchors=True")
        panel.set_title(title)
        panel.set_xlabel("rows read")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("NMI of the rows read so far")
    panels[1].legend(loc="lower right", frameon=False)
    figure.savefig(folder / "order.svg", metadata={"Date": None})
    plt.close(figure)
