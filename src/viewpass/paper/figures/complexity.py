"""Checks the stated complexity, O(L n_v d K N) time and O(n_v d s) memory, against measured growth."""

from __future__ import annotations

from typing import Any

import numpy as np

from viewpass.evaluate.harness.cells import Cell
from viewpass.evaluate.harness.draw import legend, panels, readable, save
from viewpass.evaluate.harness.page import Claim, Section
from viewpass.evaluate.harness.tables import write_csv
from viewpass.paper.settings import PaperRun, method

BASE: dict[str, int] = {
    "n_rows": 16000, "n_views": 2, "width": 256, "n_clusters": 20, "chunk_size": 1000, "max_iter": 20,
}  # fmt: skip
SWEEPS = {
    "n_rows": (4000, 8000, 16000, 32000),
    "width": (64, 128, 256, 512),
    "n_views": (1, 2, 4),
    "n_clusters": (10, 20, 40, 80),
    "max_iter": (1, 5, 20, 80),
    "chunk_size": (250, 500, 1000, 2000, 4000),
}
LETTERS = {
    "n_rows": "N (rows)",
    "width": "d (columns)",
    "n_views": "n_v (views)",
    "n_clusters": "K (clusters)",
    "max_iter": "L (maximum iterations per chunk)",
    "chunk_size": "s (rows per chunk)",
}


def cell(n_rows: int, n_views: int, width: int, **settings: int) -> Cell:
    """A pass of OPIMC over noise; the fastest of three."""
    own = method("Scaled", "viewpass.paper.published", **settings)
    return Cell(f"noise {n_rows}x{n_views}x{width}", "paper", 0.0, 0, own, shuffle=False, n_timings=3)


def run(plan: PaperRun) -> Section:
    """Vary one number at a time; measure one cell after the other."""
    found: dict[str, list[dict[str, Any]]] = {}
    rows: list[list[Any]] = []
    for name, values in SWEEPS.items():
        found[name] = plan.results([cell(**{**BASE, name: value}) for value in values], alone=True)
        for value, result in zip(values, found[name], strict=True):
            rows.append([name, value, result["seconds"][0], result["n_iter"], result["bytes"] / 2**20])
    header = ["varied", "value", "seconds per pass", "iterations", "memory, MiB"]
    write_csv(plan.out / "complexity.csv", header, rows)
    figure, axes = panels(2, 3)
    slopes = {}
    for axis, (name, values) in zip(axes.flat, SWEEPS.items(), strict=True):
        memory = name == "chunk_size"
        measured = [r["bytes"] / 2**20 if memory else r["seconds"][0] for r in found[name]]
        slopes[name] = float(np.polyfit(np.log(values), np.log(measured), 1)[0])
        axis.plot(values, measured, color="#CC3311", marker="o", label="measured")
        middle = len(values) // 2
        order = [measured[middle] * value / values[middle] for value in values]
        axis.plot(values, order, color="#666666", linestyle="--", label="stated complexity")
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xticks(values, [f"{value:,}" for value in values])
        axis.minorticks_off()
        readable(axis.yaxis)
        axis.set_xlabel(LETTERS[name])
        axis.set_ylabel("MiB allocated" if memory else "seconds per pass")
    legend(figure, axes, loc="outside lower center", ncols=2)
    save(figure, plan.out, "complexity")
    linear = ("n_rows", "width", "n_views", "n_clusters")
    return Section(
        "complexity",
        "Complexity, measured",
        "One pass of OPIMC over noise, one number varied at a time around N = 16,000, n_v = 2, d = 256, "
        "K = 20, s = 1,000, L = 20. A chunk ends early when no label changes: "
        "complexity.csv has the iterations it took.",
        figure="complexity",
        alt="Seconds against N, d, n_v, K and L, memory against s, log-log",
        claims=[
            Claim.judged(
                "Time is O(L n_v d K N).",
                all(slopes[name] < 1.15 for name in (*linear, "max_iter")),
                "measured exponents (1 is linear, less is better): "
                + ", ".join(
                    f"{LETTERS[name].split()[0]} {slopes[name]:.2f}" for name in (*linear, "max_iter")
                ),
            ),
            Claim.judged(
                "Memory is O(n_v d s).",
                slopes["chunk_size"] < 1.15,
                f"measured exponent of s: {slopes['chunk_size']:.2f} (with the sums, constant in s)",
            ),
        ],
        over_seeds=False,
    )
