"""Figure 5: degenerate centres filled or not, Digit in its own order."""

from __future__ import annotations

import numpy as np

from viewpass.paper.cells import Cell, Plan
from viewpass.paper.draw import legend, panels, save, write_csv
from viewpass.paper.page import Claim, Section

N_PASSES = 10
KINDS = {"filled (OPIMC-F)": "mean", "not filled (OPIMC-NF)": "none"}


def run(plan: Plan) -> Section:
    """Measure and draw."""
    cells = [
        Cell.of(
            "passes", data="digit", method="OPIMC", rate=0.4, seed=seed, n_passes=N_PASSES, chunk_size=50,
            n_rows=0, alpha=0.1, shuffle=False, fill=fill,
        )
        for fill in KINDS.values()
        for seed in plan.seeds
    ]  # fmt: skip
    results = iter(plan.results(cells))
    found = {}
    rows = []
    for kind in KINDS:
        own = [next(results) for _ in plan.seeds]
        found[kind] = {score: np.mean([r[score] for r in own], axis=0) for score in ("acc", "nmi")}
        for number in range(N_PASSES):
            values = [float(found[kind][score][number]) for score in ("acc", "nmi")]
            rows.append([kind, number + 1, *values])
    write_csv(plan.out / "fig5.csv", ["centres", "pass", "ACC", "NMI"], rows)
    figure, axes = panels(1, 2, height=4.2, width=5.4)
    looks = ({"color": "#CC3311", "marker": "o"}, {"color": "#0077BB", "marker": "s", "linestyle": "--"})
    for score, axis in zip(("acc", "nmi"), axes.flat, strict=True):
        for look, kind in zip(looks, KINDS, strict=True):
            axis.plot(range(1, N_PASSES + 1), found[kind][score], label=kind, **look)
        axis.set_xlabel("pass")
        axis.set_xticks(range(1, N_PASSES + 1))
        axis.set_ylabel("accuracy" if score == "acc" else "NMI")
        axis.set_ylim(0, 1)
    legend(figure, axes, loc="outside lower center", ncols=2)
    save(figure, plan.out, "fig5")
    with_fill, without = (float(found[kind]["nmi"][-1]) for kind in KINDS)
    early, early_without = (float(found[kind]["nmi"][0]) for kind in KINDS)
    return Section(
        "fig5",
        "Figure 5: degenerate centres",
        f"OPIMC on Digit in its own order (sorted by class), 0.4 missing, mean over {plan.n_seeds} seeds.",
        figure="fig5",
        alt="Accuracy and NMI over the passes with and without filled centres",
        claims=[
            Claim.judged(
                "Filling degenerate centres helps.",
                with_fill > without and early > early_without,
                f"NMI after pass 1: {early:.3f} filled, {early_without:.3f} not; after pass 10: "
                f"{with_fill:.3f}, {without:.3f}",
            )
        ],
    )
