"""What a benchmark writes: CSV and LaTeX tables, figures, and a page in HTML and Markdown.

Figures that papers have published are for reading beside measured ones; never ranked with them.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from viewpass.errors import MissingExtraError
from viewpass.evaluate.audit import audit
from viewpass.evaluate.harness import tables
from viewpass.evaluate.harness.cells import SCORES, TIMES, Cell, Results
from viewpass.evaluate.harness.page import Section, machine, write
from viewpass.evaluate.harness.sets import set_title
from viewpass.evaluate.harness.tables import Benchmark
from viewpass.evaluate.protocols import PROTOCOLS

COLUMNS = ("method", "venue", "set", "protocol", "rate", "acc", "nmi", "tuned", "kind")
SAME = {"paper": "share of each view"}  # what papers call our protocols


def published() -> list[dict[str, str]]:
    """All published figures; ACC and NMI in percent, `tuned` by classes or not."""
    text = files("viewpass.evaluate.harness").joinpath("published.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def published_rows(sets: Sequence[str], protocol: str) -> Section:
    """The published figures of these sets, each with whether its protocol is the one used here."""
    wanted = {name.lower() for name in sets}
    rows = []
    for row in published():
        if wanted & set(row["names"].split()):
            theirs = row["protocol"]
            same = SAME.get(protocol, protocol) == theirs
            difference = "the same" if same else f"differs: {PROTOCOLS.get(theirs, theirs)}"
            rows.append([*(row[name] for name in COLUMNS), difference])
    text = (
        "As the papers or their supplements print them. Preprocessing, views and rows may differ even where "
        "the protocol is the same, and many methods choose settings or the last epoch with classes: do not "
        "rank them together with measured figures."
    )
    if not rows:
        text = "There are none of these sets in the table."
    header = [*COLUMNS[:5], "ACC", "NMI", "tuned with classes", "kind", "protocol used here"]
    return Section("published", "Published figures", text, header, rows)


FEW_SEEDS = 5


def write_outputs(done: Benchmark, kept: Results, reference: str, published: bool, seconds: float) -> None:
    """Write tables, figures and the page of a benchmark into its folder."""
    lines, first = done.lines, done.cells[0]
    measures = (*SCORES, "presence", *TIMES, "memory")
    about = ("set", "protocol", "rate", "seed", "start", "method", "labels used")
    header = [*about, *measures, "mask", "failed"]
    rows = [
        [cell.set, cell.protocol, cell.rate, cell.seed, cell.start, cell.method.name, cell.method.tuned]
        + [result[name][-1] if name in result else "" for name in measures]
        + [result["mask"], result.get("failed", "")]
        for cell, result in zip(done.cells, done.results, strict=True)
    ]
    tables.write_csv(kept.out / "cells.csv", header, rows)
    summary = [
        [*key, name, line.method.tuned, len(line.seeds)]
        + [f(values) for values in line.values.values() for f in (_mean, tables.spread)]
        for (key, name), line in lines.items()
    ]
    names = [f"{name}{end}" for name in (*SCORES, "seconds", "memory") for end in ("", " sd")]
    tables.write_csv(kept.out / "summary.csv", ["set", "rate", "method", "labels used", "n", *names], summary)
    sections = [_masks(done, kept)]
    sections += [_scores(done, lines, score) for score in SCORES]
    sections += [_costs(lines, name) for name in ("seconds", "memory")]
    if len({name for _, name in lines}) > 1:
        for score in ("acc", "nmi"):
            head, own = tables.paired_rows(lines, reference, score)
            tables.write_csv(kept.out / f"paired-{score}.csv", head, own)
            text = "On the same masks and seeds, in points. Less than two standard errors may be chance."
            sections.append(
                Section(f"paired-{score}", f"Paired differences, {tables.TITLES[score]}", text, head, own)
            )
    if published:
        sections.append(published_rows([set_title(cell.set) for cell in done.cells], first.protocol))
    sections += _figures(done, lines)
    failures = {
        f"{cell.method.name} on {set_title(cell.set)}: {result['failed']}"
        for cell, result in zip(done.cells, done.results, strict=True)
        if "failed" in result
    }
    if failures:
        sections.append(Section("failed", "Cells that failed", "; ".join(sorted(failures))))
    write(kept.out, sections, _preface(done, kept, seconds), "Benchmark")


def _mean(values: Any) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _preface(done: Benchmark, kept: Results, seconds: float) -> str:
    clock, work = kept.took()
    n_masks = len({result["mask"] for result in done.results})
    n_seeds = len({cell.seed for cell in done.cells})
    few = f" {n_seeds} per set and rate: few seeds decide nothing." if n_seeds < FEW_SEEDS else ""
    n_runs = len(kept.runs(seconds))
    return (
        f"{len(done.cells):,} cells under {n_masks:,} masks.{few} Protocol {done.cells[0].protocol}: "
        f"{PROTOCOLS[done.cells[0].protocol]}. {machine()} {work / 60:.1f} minutes of processor time "
        f"({clock / 60:.1f} of wall-clock time) in {n_runs} run{'s' if n_runs != 1 else ''}. "
        "NMI is normalised by the geometric mean of the entropies. No method was given classes; the column "
        '"labels used" is yes for methods whose settings were chosen with them, which are ranked apart.'
    )


def _masks(done: Benchmark, kept: Results) -> Section:
    """What the masks really are, beside every table."""
    seen: dict[str, Cell] = {}
    for cell, result in zip(done.cells, done.results, strict=True):
        seen.setdefault(result["mask"], cell)
    rows: list[list[Any]] = []
    shown: list[list[str]] = []
    for digest, cell in seen.items():
        found = audit(kept.removed(cell).observed)
        name = set_title(cell.set)
        rows.append(
            [name, cell.protocol, cell.rate, cell.seed, found.missing, found.complete, found.single, digest]
        )
        if not any(row[:2] == [name, f"{cell.rate:g}"] for row in shown):
            shown.append([name, f"{cell.rate:g}", found.line])
    about = ("set", "protocol", "rate", "seed")
    header = [*about, "missing cells", "complete rows", "rows with one view", "sha256"]
    tables.write_csv(kept.out / "masks.csv", header, rows)
    text = "What the masks really are; of the first seed. masks/ holds all of them, masks.csv their SHA-256."
    return Section("masks", "Masks", text, ["set", "rate", "mask"], shown)


def _scores(done: Benchmark, lines: tables.Lines, score: str) -> Section:
    header, rows = tables.score_rows(lines, score)
    text = "Mean and standard deviation over masks and seeds, in percent; best in bold, second underlined."
    if score in ("acc", "nmi"):
        caption = (
            f"{tables.TITLES[score]} (%), protocol {done.cells[0].protocol}, mean and standard deviation"
        )
        (done.out / f"{score}.tex").write_text(tables.latex(lines, score, caption), encoding="utf-8")
    return Section(score, tables.TITLES[score], text, header, rows)


def _costs(lines: tables.Lines, name: str) -> Section:
    header, rows = tables.score_rows(lines, name, percent=False)
    text = {
        "seconds": "Wall-clock seconds of a fit; cells may have run beside each other.",
        "memory": "MiB above the data that a fit held at most; of a program, all of it.",
    }
    return Section(name, tables.TITLES[name], text[name], header, rows)


def _figures(done: Benchmark, lines: tables.Lines) -> list[Section]:
    try:
        from viewpass.evaluate.harness import draw
    except MissingExtraError as absent:
        return [Section("figures", "Figures", f"Left out: {absent}")]
    sections = []
    methods = list(dict.fromkeys(name for _, name in lines))
    for score in ("acc", "nmi"):
        title = tables.TITLES[score]
        over_rates, over_passes = _over_rates(lines, score), _over_passes(done, score)
        found = (("missing rate", "rates", *over_rates), ("pass", "passes", *over_passes))
        for across, ending, places, values in found:
            if len(places) > 1:
                name = f"{score}-{ending}"
                draw.curves(done.out, name, methods, values, (across, places), f"{title} (%)")
                about = f"{title} by {across}"
                sections.append(Section(name, about, "Means over masks and seeds.", figure=name, alt=about))
    return sections


Curves = tuple[list[float], dict[tuple[str, str], list[float]]]  # places; values by panel and method


def _over_rates(lines: tables.Lines, score: str) -> Curves:
    rates = list(dict.fromkeys(rate for (_, rate), _ in lines))
    values: dict[tuple[str, str], list[float]] = {}
    for ((name, _), method), line in lines.items():
        values.setdefault((name, method), []).append(_mean(100 * line.values[score]))
    return rates, values


def _over_passes(done: Benchmark, score: str) -> Curves:
    """Means after each pass by set with its rate, and method; of methods without passes a constant."""
    groups: dict[tuple[str, str], list[list[float]]] = {}
    for cell, result in zip(done.cells, done.results, strict=True):
        if "failed" not in result:
            key = f"{set_title(cell.set)} {cell.rate:g}", cell.method.name
            groups.setdefault(key, []).append(result[score])
    most = max((len(values) for group in groups.values() for values in group), default=1)
    means = {key: (100 * np.mean(group, axis=0)).tolist() for key, group in groups.items()}
    whole = {key: values * most if len(values) == 1 else values for key, values in means.items()}
    return list(range(1, most + 1)), whole
