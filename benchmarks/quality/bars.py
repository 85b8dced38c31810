"""The targets of the quality benchmarks, compared with what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.quality.sets import DEBIAN, DIGIT, MNIST, NATURAL, REPORTED, SETS, TUNED
from benchmarks.quality.summary import Results
from viewpass.cluster.validation import WARMUP_ROWS

OFFLINE, PUBLISHED, AUTO, START = "imc5", "opimc10", "viewpass-auto", "viewpass-start"
AUTO_QUARTER = "viewpass-auto-quarter"
BELOW_OFFLINE = 0.02
BELOW_OFFLINE_QUARTER = 0.05
GAIN = 0.05
FIXED = (  # set, missing, measure, at least
    (DIGIT, "0.3", "nmi", 0.87),
    (DIGIT, "0.3", "acc", 0.93),
    (DIGIT, "0.4", "nmi", 0.84),
    (MNIST, "0.3", "nmi", 0.74),
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
    for name, missing, measure, bound in FIXED:
        result = found.get((name, missing, AUTO))
        if result and measure in result.figures:
            figure = result.figures[measure]
            yield Bar(f"auto, {name}, {missing}: {measure.upper()}", figure.mean, bound, figure.seeds)
    yield from _gains(found)
    yield from _each(found, AUTO, OFFLINE, BELOW_OFFLINE, "auto / IMC")
    yield from _each(found, AUTO_QUARTER, OFFLINE, BELOW_OFFLINE_QUARTER, "auto, warm-up a quarter / IMC")
    yield from _each(found, START, PUBLISHED, 0.0, "start alone / published, 10 passes")


def _gains(found: Results) -> Iterator[Bar]:
    """The gain of "auto" over the offline method, as means over sets.

    "auto" also reads sets no larger than the warm-up all at once: they are listed separately.
    """
    everything = TUNED + REPORTED
    groups = {
        "all": everything,
        "tuned half": TUNED,
        "reported half": REPORTED,
        "larger than the warm-up": tuple(name for name in everything if SETS[name].n_rows > WARMUP_ROWS),
        "whole in the warm-up": tuple(name for name in everything if SETS[name].n_rows <= WARMUP_ROWS),
    }
    for title, names in groups.items():
        pairs = [pair for name in names for pair in _pairs(found, name, AUTO, OFFLINE)[:1]]
        if pairs:
            gain = float(np.mean([ours - theirs for _, ours, theirs, _ in pairs]))
            about = f"auto above IMC, mean of {len(pairs)} sets ({title})"
            yield Bar(about, gain, GAIN, min(seeds for *_, seeds in pairs))


def _each(found: Results, ours: str, theirs: str, below: float, what: str) -> Iterator[Bar]:
    for name in TUNED + REPORTED:
        for missing, value, beside, seeds in _pairs(found, name, ours, theirs):
            yield Bar(f"{what}, {name}, {missing}: NMI", value, beside - below, seeds)


def _pairs(found: Results, name: str, ours: str, theirs: str) -> list[tuple[str, float, float, int]]:
    """NMI of two methods wherever both were measured, the lower missing rate first."""
    pairs = []
    for missing in SETS[name].missing:
        two = [found.get((name, missing, method)) for method in (ours, theirs)]
        figures = [result.figures["nmi"] for result in two if result and result.figures]
        if len(figures) == 2:
            pairs.append((missing, figures[0].mean, figures[1].mean, min(each.seeds for each in figures)))
    return pairs
