"""Figure 4: the size of a chunk."""

from __future__ import annotations

import numpy as np

from viewpass.paper.cells import Cell, Plan
from viewpass.paper.draw import COLOURS, legend, panels, save, write_csv
from viewpass.paper.page import Claim, Section

SIZES = (2, 5, 10, 50, 100, 250)
N_PASSES = 10


def run(plan: Plan) -> Section:
    """Measure and draw."""
    cells = [
        Cell.of(
            "passes", data="digit", method="OPIMC", rate=0.4, seed=seed, n_passes=N_PASSES, chunk_size=size,
            n_rows=0, alpha=0.1,
        )
        for size in SIZES
        for seed in plan.seeds
    ]  # fmt: skip
    results = iter(plan.results(cells))
    found = {}
    rows = []
    for size in SIZES:
        own = [next(results) for _ in plan.seeds]
        found[size] = {score: np.mean([r[score] for r in own], axis=0) for score in ("acc", "nmi")}
        for number in range(N_PASSES):
            values = [float(found[size][score][number]) for score in ("acc", "nmi")]
            rows.append([size, number + 1, *values])
    write_csv(plan.out / "fig4.csv", ["rows a chunk", "pass", "ACC", "NMI"], rows)
    figure, axes = panels(1, 2, height=4.2, width=6.0)
    for score, axis in zip(("acc", "nmi"), axes.flat, strict=True):
        for colour, marker, size in zip(COLOURS, "osv^DP", SIZES, strict=True):
            passes = range(1, N_PASSES + 1)
            axis.plot(passes, found[size][score], color=colour, marker=marker, label=f"{size}")
        axis.set_xlabel("pass")
        axis.set_xticks(range(1, N_PASSES + 1))
        axis.set_ylabel("accuracy" if score == "acc" else "NMI")
    legend(figure, axes, loc="outside right center", title="rows a chunk", title_fontsize=13)
    save(figure, plan.out, "fig4")
    first = {size: float(found[size]["nmi"][0]) for size in SIZES}
    last = {size: float(found[size]["nmi"][-1]) for size in SIZES}
    rank = float(np.corrcoef(np.argsort(np.argsort(list(first.values()))), np.arange(len(SIZES)))[0, 1])
    return Section(
        "fig4",
        "Figure 4: chunk size",
        f"OPIMC on Digit, 0.4 missing, alpha 0.1, 10 passes, mean over {plan.n_seeds} seeds.",
        figure="fig4",
        alt="Accuracy and NMI over the passes for six chunk sizes",
        claims=[
            Claim.judged(
                "Generally the larger the chunk, the better.",
                rank > 0.8,
                "NMI after pass 1 (and 10) by rows a chunk: "
                + "; ".join(f"{size}: {first[size]:.3f} ({last[size]:.3f})" for size in SIZES),
            )
        ],
    )
