"""Writes the measurements as Markdown: one table per measure and half, then the targets."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.quality.bars import Bar, bars
from benchmarks.quality.methods import METHODS
from benchmarks.quality.sets import DIGIT_SORTED, REPORTED, SETS, TUNED
from benchmarks.quality.summary import Result, Results, mean_nmi
from benchmarks.table import grid, short

GROUPS = (
    ("reported half", REPORTED),
    ("tuned half", TUNED),
    ("Digit sorted by class", (DIGIT_SORTED,)),
)
TABLES = (
    ("nmi", "NMI"),
    ("least", "NMI of the worst seed"),
    ("acc", "ACC"),
    ("ari", "ARI"),
    ("processor_seconds", "processor seconds"),
    ("bytes_above", "MB above the data"),
)
MEBIBYTE = 1 << 20


def text(found: Results, seeds: int) -> str:
    """All tables and checks; those of NMI first."""
    parts = ["## Mean NMI of all sets, first missing rate of each", means(found)]
    for measure, title in TABLES:
        for group, names in GROUPS:
            words = _table(found, names, measure, seeds)
            if words:
                parts += [f"## {title}, {group}", words]
    parts += ["## Targets", _checks(list(bars(found)), seeds), *_failures(found)]
    return "\n\n".join(part for part in parts if part) + "\n"


def brief(found: Results, seeds: int) -> str:
    """What the page of the documentation shows: means, NMI and processor seconds."""
    parts = ["## Mean NMI of all sets, first missing rate of each", means(found)]
    for group, names in GROUPS:
        if words := _table(found, names, "nmi", seeds):
            parts += [f"## NMI, {group}", words]
    every = [name for _, names in GROUPS for name in names]
    return "\n\n".join([*parts, "## Processor seconds", _table(found, every, "processor_seconds", seeds)])


def means(found: Results) -> str:
    """Mean NMI of each method over the sets it has, and over those of the reported half."""
    lines = []
    for method in _methods(found):
        shown = [mean_nmi(found, method, names) for names in (TUNED + REPORTED, REPORTED)]
        cells = [f"{_points(mean[0])} ({mean[1]})" if mean else "" for mean in shown]
        lines.append((METHODS[method].title, *cells))
    return grid(("mean NMI (sets)", "all sets", "reported half"), lines)


def _methods(found: Results) -> list[str]:
    there = {method for *_, method in found}
    return [name for name in METHODS if name in there]


def _table(found: Results, names: Sequence[str], measure: str, seeds: int) -> str:
    lines, methods = [], _methods(found)
    for name in names:
        for missing in SETS[name].missing:
            row = [found.get((name, missing, method)) for method in methods]
            if any(row):
                lines.append((name, missing, *(_entry(result, measure, seeds) for result in row)))
    heads = [METHODS[method].title for method in methods]
    return grid(("set", "missing", *heads), lines, left=2) if lines else ""


def _entry(result: Result | None, measure: str, seeds: int) -> str:
    if result is None:
        return ""
    if not result.figures:
        return "fails"
    figure = result.figures["nmi" if measure == "least" else measure]
    few = f" ({figure.seeds})" if figure.seeds < seeds else ""
    if measure == "least":
        return _points(figure.least) + few
    if measure == "processor_seconds":
        return short(figure.mean) + few
    if measure == "bytes_above":
        return f"{figure.mean / MEBIBYTE:,.0f}{few}"
    return f"{_points(figure.mean)} ± {_points(figure.spread)}{few}"


def _points(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1)


def _checks(checks: list[Bar], seeds: int) -> str:
    lines = []
    for bar in checks:
        few = f" ({bar.seeds} seeds)" if bar.seeds < seeds else ""
        said = "met" if bar.met else "MISSED"
        lines.append(f"- {said}: {bar.what} {_signed(bar.value)}, at least {_signed(bar.bound)}{few}")
    met = sum(bar.met for bar in checks)
    return "\n".join([f"{met} of {len(checks)} met.", "", *lines]) if checks else ""


def _signed(value: float) -> str:
    return ("-" if value < 0 else "") + _points(abs(value))


def _failures(found: Results) -> list[str]:
    lines = [
        f"- {METHODS[result.method].title}, {result.set}, {result.missing}: {result.failed}"
        for result in found.values()
        if result.failed
    ]
    return ["## Where a method failed", "\n".join(lines)] if lines else []
