"""Figure 3: the average loss after each chunk over 20 passes, and whether 20 iterations per chunk suffice."""

from __future__ import annotations

import numpy as np

from viewpass.evaluate.harness.cells import Cell
from viewpass.evaluate.harness.draw import panels, save
from viewpass.evaluate.harness.page import Claim, Section
from viewpass.evaluate.harness.tables import write_csv
from viewpass.paper.settings import BEST_ALPHA, SETS, PaperRun, method, passes_cell

N_PASSES = 20
RATES = {"webkb": 0.4, "digit": 0.4, "reuters1200": 0.4, "mnist70k_3v": 0.4}
LONG = 100  # iterations, practically without limit


def cell(plan: PaperRun, data: str, max_iter: int) -> Cell:
    """OPIMC for 20 passes."""
    more = {"alpha": BEST_ALPHA[data], "max_iter": max_iter}
    return passes_cell(plan, data, "OPIMC", RATES[data], 0, N_PASSES, **more)


def run(plan: PaperRun) -> Section:
    """Measure and draw."""
    sets = [data for data in RATES if plan.takes(data)]
    results = dict(zip(sets, plan.results([cell(plan, data, 20) for data in sets]), strict=True))
    longer = dict(zip(sets, plan.results([cell(plan, data, LONG) for data in sets]), strict=True))
    alphas, seeds = (1e-3, 0.1, 1.0), plan.seeds
    theorem = plan.results(
        [
            Cell("digit", "paper", 0.4, seed, method("Theorem", alpha=alpha), n_rows=250)
            for alpha in alphas
            for seed in seeds
        ]
    )
    figure, axes = panels((len(sets) + 1) // 2, 2, height=3.3, width=5.6)
    rows = []
    for axis, (data, result) in zip(axes.flat, results.items(), strict=False):
        loss = np.array(result["loss_curve"])
        passes = np.arange(1, len(loss) + 1) / (len(loss) / N_PASSES)
        axis.plot(passes, loss, color="#0077BB", linewidth=1.4)
        axis.set_title(SETS[data].title.split(" (")[0], fontsize=12.5)
        axis.set_xlabel("passes")
        axis.set_ylabel("average loss", color="#0077BB")
        axis.set_xticks([0, 5, 10, 15, 20])
        inner = axis.twinx()
        inner.plot(np.arange(1, N_PASSES + 1), result["nmi"], color="#CC3311", marker="o", markersize=3.5)
        inner.set_ylabel("NMI", color="#CC3311", fontsize=13)
        inner.tick_params(labelsize=13)
        inner.set_ylim(0, 1)
        inner.grid(visible=False)
        rows += [[data, number + 1, float(value)] for number, value in enumerate(loss)]
    for axis in axes.flat[len(sets) :]:
        axis.axis("off")
    save(figure, plan.out, "fig3")
    write_csv(plan.out / "fig3.csv", ["set", "chunk", "average loss"], rows)
    return Section(
        "fig3",
        "Figure 3: convergence",
        "OPIMC, 0.4 missing, 20 passes, the paper's alpha, one seed. Blue: the average loss (Eq. 18-20) "
        "after each chunk. Red: NMI after each pass.",
        figure="fig3",
        alt="Average loss after each chunk and NMI after each pass for four sets",
        claims=[*_claims(results, longer), _theorem(theorem, len(alphas) * len(seeds))],
    )


def _claims(
    results: dict[str, dict[str, list[float]]], longer: dict[str, dict[str, list[float]]]
) -> list[Claim]:
    stable, changes = [], []
    for data, result in results.items():
        loss, nmi = np.array(result["loss_curve"]), np.array(result["nmi"])
        ends = loss.reshape(N_PASSES, -1)[:, -1] if len(loss) % N_PASSES == 0 else loss[-N_PASSES:]
        late_loss = abs(ends[-1] - ends[9]) / abs(ends[-1])
        late_nmi = abs(nmi[-1] - nmi[9])
        stable.append(late_loss < 0.01 and late_nmi < 0.02)
        changes.append(f"{data} loss {late_loss:.2%}, NMI {late_nmi:.3f}")
    apart = {data: abs(results[data]["nmi"][0] - longer[data]["nmi"][0]) for data in results}
    return [
        Claim.judged(
            "The average loss converges, and NMI is stable when it has.",
            all(stable),
            "change from pass 10 to 20: " + "; ".join(changes),
        ),
        Claim.judged(
            "L = 20 iterations per chunk are enough.",
            max(apart.values()) < 0.01,
            f"NMI after a pass with at most 20 and with at most {LONG} iterations differs by "
            + "; ".join(f"{data} {value:.4f}" for data, value in apart.items()),
        ),
    ]


def _theorem(results: list[dict[str, int]], n_runs: int) -> Claim:
    rises = sum(result["rises"] for result in results)
    return Claim.judged(
        "Theorem 1: the objective never increases.",
        rises == 0,
        f"{rises} increases in {19 * n_runs} steps inside a chunk of Digit, from hard labels, unfilled "
        "centres, alpha up to 1. It is a statement about a chunk: across chunks old labels are frozen, and "
        "filling centres or a large alpha can increase the objective",
    )
