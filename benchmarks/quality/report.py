"""Writes the measurements as Markdown: one table per measure and half, then the targets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.quality.bars import Bar, bars
from benchmarks.quality.methods import METHODS
from benchmarks.quality.sets import DIGIT_SORTED, REPORTED, SETS, TUNED
from benchmarks.quality.summary import Result, Results
from benchmarks.table import grid, short

GROUPS = (
    ("reported half", REPORTED),
    ("tuned half", TUNED),
    ("Digit sorted by class", (DIGIT_SORTED,)),
)
TABLES = (
    ("nmi", "NMI"),
    ("acc", "ACC"),
    ("ari", "ARI"),
    ("processor_seconds", "processor seconds"),
    ("bytes_above", "MB above the data"),
)
WHOLE, QUARTER = "default warm-up", "warm-up limited to a quarter of the rows"
MEBIBYTE = 1 << 20


def text(found: Results, seeds: int) -> str:
    """All tables and checks; those of NMI first."""
    parts = []
    for measure, title in TABLES:
        for group, names in GROUPS:
            for warmup, methods in _columns(found):
                words = _table(found, names, methods, measure, seeds)
                if words:
                    parts += [f"## {title}, {group}, {warmup}", words]
    parts += ["## The other labels of the stream's methods", *_others(found)]
    parts += ["## Targets", _checks(list(bars(found)), seeds), *_failures(found)]
    return "\n\n".join(part for part in parts if part) + "\n"


def brief(found: Results, seeds: int) -> str:
    """NMI and the checks."""
    _, methods = next(_columns(found))
    tables = [_table(found, names, methods, "nmi", seeds) for _, names in GROUPS]
    return "\n\n".join(part for part in (*tables, _checks(list(bars(found)), seeds)) if part)


def _columns(found: Results) -> Iterator[tuple[str, list[str]]]:
    there = {method for *_, method in found}
    whole = [name for name in METHODS if name in there and not METHODS[name].quarter]
    quarter = [name for name in METHODS if name in there and METHODS[name].quarter]
    yield WHOLE, whole
    if quarter:
        yield QUARTER, [name for name in ("imc5",) if name in there] + quarter


def _table(found: Results, names: Sequence[str], methods: list[str], measure: str, seeds: int) -> str:
    lines = []
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
    figure = result.figures[measure]
    few = f" ({figure.seeds})" if figure.seeds < seeds else ""
    if measure == "processor_seconds":
        return short(figure.mean) + few
    if measure == "bytes_above":
        return f"{figure.mean / MEBIBYTE:,.0f}{few}"
    return f"{_points(figure.mean)} ± {_points(figure.spread)}{few}"


def _points(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1)


def _others(found: Results) -> list[str]:
    """NMI of the labels that do not count."""
    methods = [name for name in METHODS if any(r.method == name and r.other_nmi for r in found.values())]
    lines = []
    for name in SETS:
        for missing in SETS[name].missing:
            row = [found.get((name, missing, method)) for method in methods]
            if any(row):
                said = [_points(each.other_nmi.mean) if each and each.other_nmi else "" for each in row]
                lines.append((name, missing, *said))
    heads = [METHODS[method].title for method in methods]
    about = "NMI of `labels_` for published OPIMC, of `stream_labels_` for viewpass."
    return [about, grid(("set", "missing", *heads), lines, left=2)] if lines else []


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
