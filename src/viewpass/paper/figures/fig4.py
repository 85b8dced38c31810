"""Figure 4: quality against the chunk size."""

from __future__ import annotations

import numpy as np

from viewpass.evaluate.harness.draw import COLOURS, legend, save, score_panels
from viewpass.evaluate.harness.page import Claim, Section
from viewpass.evaluate.harness.tables import write_csv
from viewpass.paper.settings import PaperRun, mean_scores, passes_cell, score_rows

SIZES = (2, 5, 10, 50, 100, 250)
N_PASSES = 10


def run(plan: PaperRun) -> Section:
    """Measure and draw."""
    cells = [
        passes_cell(plan, "digit", "OPIMC", 0.4, seed, N_PASSES, chunk_size=size, alpha=0.1)
        for size in SIZES
        for seed in plan.seeds
    ]
    results = iter(plan.results(cells))
    found = {size: mean_scores(results, plan.n_seeds) for size in SIZES}
    write_csv(plan.out / "fig4.csv", ["rows per chunk", "pass", "ACC", "NMI"], score_rows(found))
    figure, axes, named = score_panels(4.2, 6.0, N_PASSES)
    for score, axis in named.items():
        for colour, marker, size in zip(COLOURS, "osv^DP", SIZES, strict=True):
            passes = range(1, N_PASSES + 1)
            axis.plot(passes, found[size][score], color=colour, marker=marker, label=f"{size}")
    legend(figure, axes, loc="outside right center", title="rows per chunk", title_fontsize=13)
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
                "NMI after pass 1 (and 10) by rows per chunk: "
                + "; ".join(f"{size}: {first[size]:.3f} ({last[size]:.3f})" for size in SIZES),
            )
        ],
    )
