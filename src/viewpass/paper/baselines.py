"""The compared methods on complete Digit: at least what their own sources report, and OMVC's faults."""

from __future__ import annotations

from typing import Any

import numpy as np

from viewpass.paper.cells import Cell, Plan
from viewpass.paper.draw import write_csv
from viewpass.paper.page import Claim, Section


def run(plan: Plan) -> Section:
    """Complete Digit, all five views and the two of MultiNMF's paper; k-means beside them."""
    kinds: dict[str, dict[str, Any]] = {
        "k-means, unit rows": {"method": "kmeans", "scale": "unit"},
        "k-means, clipped unit rows (ONMF's input)": {"method": "kmeans", "scale": "clipped"},
        "k-means, each view divided by its sum (OMVC's input)": {"method": "kmeans", "scale": "sums"},
        "NMF of scikit-learn + k-means (ONMF's input)": {"method": "nmf", "scale": "clipped"},
        "OMVC": {"method": "OMVC"},
        "OMVC, scaled by its first chunk": {"method": "OMVC", "scale": "first"},
        "ONMF-I": {"method": "ONMF-I"},
        "ONMF-DA": {"method": "ONMF-DA"},
        "MultiNMF": {"method": "MultiNMF"},
        "MultiNMF, fou + pix": {"method": "MultiNMF", "two": True},
        "MIC": {"method": "MIC"},
        "DAIMC": {"method": "DAIMC"},
    }
    cells = [
        Cell.of("complete", seed=seed, quick=plan.quick, **{"scale": "all", "two": False, **more})
        for more in kinds.values()
        for seed in plan.seeds
    ]
    results = iter(plan.results(cells))
    found = {}
    rows = []
    for title in kinds:
        own = [next(results) for _ in plan.seeds]
        found[title] = tuple(float(np.mean([r[score] for r in own])) for score in ("acc", "nmi"))
        rows.append([title, *found[title]])
    write_csv(plan.out / "baselines.csv", ["method", "ACC", "NMI"], rows)
    floor = {
        "OMVC": found["k-means, each view divided by its sum (OMVC's input)"][1] - 0.05,
        "ONMF-I": found["k-means, clipped unit rows (ONMF's input)"][1] - 0.05,
        "ONMF-DA": found["k-means, clipped unit rows (ONMF's input)"][1] - 0.05,
    }
    batch = found["NMF of scikit-learn + k-means (ONMF's input)"][1]
    two = found["MultiNMF, fou + pix"]
    return Section(
        "baselines",
        "The compared methods on complete Digit",
        f"Are they straw men? Digit without anything missing, {plan.n_seeds} seeds; online ones with chunks "
        f"of 50 rows and {5 if plan.quick else 10} passes, default settings. Negative entries (view kar) are "
        "clipped for the non-negative factorisations, which costs them much: k-means itself loses as much by "
        "it.",
        ["method", "ACC", "NMI"],
        rows,
        claims=[
            Claim.judged(
                "MultiNMF's own paper: Digit (fou + pix) NMI about .80, ACC about .88.",
                two[1] > 0.77,
                f"NMI {two[1]:.3f}, ACC {two[0]:.3f}",
            ),
            *(
                Claim.judged(
                    f"{name} is no straw man: at least k-means on the same input, less .05.",
                    found[name][1] >= least,
                    f"NMI {found[name][1]:.3f}; k-means less .05: {least:.3f}"
                    + (
                        ""
                        if name == "OMVC"
                        else f"; batch NMF of scikit-learn on the same input: {batch:.3f}"
                    ),
                )
                for name, least in floor.items()
            ),
            Claim.judged(
                "OMVC's fault 1: it is normalised by the sum of all data, which a stream does not know.",
                found["OMVC, scaled by its first chunk"][1] < found["OMVC"][1] - 0.02,
                f"NMI {found['OMVC'][1]:.3f} with the sum of all rows, "
                f"{found['OMVC, scaled by its first chunk'][1]:.3f} with that of the first chunk",
            ),
        ],
    )
