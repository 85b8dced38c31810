"""The targets of the quality benchmarks, compared with what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.quality.sets import DEBIAN, DIGIT, MNIST, NATURAL, REPORTED, SETS, TUNED
from benchmarks.quality.summary import Results, mean_nmi

OURS, QUARTER, OFFLINE = "viewpass", "viewpass-quarter", "imc5"
MEANS = {OURS: 0.605, QUARTER: 0.59}  # NMI over all sets
BELOW_OFFLINE = {OURS: 0.02, QUARTER: 0.05}
FIXED = (  # set, missing, measure, at least
    (DIGIT, "0.3", "nmi", 0.87),
    (DIGIT, "0.3", "acc", 0.93),
    (DIGIT, "0.4", "nmi", 0.84),
    (MNIST, "0.3", "nmi", 0.83),
    (DEBIAN, NATURAL, "nmi", 0.43),
)


@dataclass(frozen=True)
class Bar:
    """A measured value that should be no lower than its bound; `seeds` is the smallest number behind it."""

    what: str
    value: float
    bound: float
    seeds: int

    @property
    def met(self) -> bool:
        return self.value >= self.bound


def bars(found: Results) -> Iterator[Bar]:
    """All targets for which there are measurements."""
    for method, bound in MEANS.items():
        mean = mean_nmi(found, method, TUNED + REPORTED)
        if mean is not None and mean[1] == len(TUNED + REPORTED):
            seeds = min(_seeds(found, method))
            yield Bar(f"{method}, mean of all sets: NMI", mean[0], bound, seeds)
    for name, missing, measure, bound in FIXED:
        result = found.get((name, missing, OURS))
        if result and measure in result.figures:
            figure = result.figures[measure]
            yield Bar(f"{OURS}, {name}, {missing}: {measure.upper()}", figure.mean, bound, figure.seeds)
    for method, below in BELOW_OFFLINE.items():
        for name in TUNED + REPORTED:
            for missing in SETS[name].missing:
                two = [found.get((name, missing, each)) for each in (method, OFFLINE)]
                figures = [result.figures["nmi"] for result in two if result and result.figures]
                if len(figures) == 2:
                    what = f"{method} / IMC, {name}, {missing}: NMI"
                    seeds = min(each.seeds for each in figures)
                    yield Bar(what, figures[0].mean, figures[1].mean - below, seeds)


def _seeds(found: Results, method: str) -> list[int]:
    return [each.figures["nmi"].seeds for each in found.values() if each.method == method and each.figures]
