"""Figure 5: degenerate centres filled or not, on Digit in its original order."""

from __future__ import annotations

from viewpass.evaluate.harness.draw import legend, save, score_panels
from viewpass.evaluate.harness.page import Claim, Section
from viewpass.evaluate.harness.tables import write_csv
from viewpass.paper.settings import PaperRun, mean_scores, passes_cell, score_rows

N_PASSES = 10
KINDS = {"filled (OPIMC-F)": "mean", "not filled (OPIMC-NF)": None}


def run(plan: PaperRun) -> Section:
    """Measure and draw."""
    cells = [
        passes_cell(plan, "digit", "OPIMC", 0.4, seed, N_PASSES, alpha=0.1, shuffle=False, fill=fill)
        for fill in KINDS.values()
        for seed in plan.seeds
    ]
    results = iter(plan.results(cells))
    found = {kind: mean_scores(results, plan.n_seeds) for kind in KINDS}
    write_csv(plan.out / "fig5.csv", ["centres", "pass", "ACC", "NMI"], score_rows(found))
    figure, axes, named = score_panels(4.2, 5.4, N_PASSES)
    styles = ({"color": "#CC3311", "marker": "o"}, {"color": "#0077BB", "marker": "s", "linestyle": "--"})
    for score, axis in named.items():
        for style, kind in zip(styles, KINDS, strict=True):
            axis.plot(range(1, N_PASSES + 1), found[kind][score], label=kind, **style)
        axis.set_ylim(0, 1)
    legend(figure, axes, loc="outside lower center", ncols=2)
    save(figure, plan.out, "fig5")
    with_fill, without = (float(found[kind]["nmi"][-1]) for kind in KINDS)
    early, early_without = (float(found[kind]["nmi"][0]) for kind in KINDS)
    return Section(
        "fig5",
        "Figure 5: degenerate centres",
        f"OPIMC on Digit, sorted by class as it comes, 0.4 missing, mean over {plan.n_seeds} seeds.",
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
