"""The tables and figures of a benchmark: scores, costs, paired differences, masks, published figures.

Figures that papers have published are for reading beside measured ones; never ranked with them.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from viewpass.evaluate.audit import audit
from viewpass.evaluate.harness.cells import SCORES, TIMES, Cell, Result, Results
from viewpass.evaluate.harness.draw import Figure, Line, Panel
from viewpass.evaluate.harness.methods import Method
from viewpass.evaluate.harness.page import Section
from viewpass.evaluate.harness.sets import set_title
from viewpass.evaluate.harness.table import Marked, Table
from viewpass.evaluate.protocols import PROTOCOLS
from viewpass.kernels.grid import Floats

if TYPE_CHECKING:
    from viewpass.evaluate.harness.benchmark import Benchmark

TITLES = {"acc": "ACC", "nmi": "NMI", "ari": "ARI", "purity": "purity", "f": "F"}
COSTS = {
    "seconds": ("seconds", "Wall-clock seconds of a fit; cells may have run beside each other."),
    "memory": ("MiB", "MiB above the data that a fit held at most; of a program, all of it."),
}
MEBIBYTE = 1 << 20
PUBLISHED = ("method", "venue", "set", "protocol", "rate", "acc", "nmi", "tuned", "kind")
SAME = {"paper": "share of each view"}  # what papers call our protocols
Key = tuple[str, float]  # a set (without its folder) and a rate


@dataclass(frozen=True)
class Group:
    """The cells of a method on a set at a rate, one value per seed."""

    method: Method
    values: dict[str, Floats]
    seeds: tuple[tuple[int, int], ...]
    failed: tuple[str, ...]


Groups = dict[tuple[Key, str], Group]


def groups_of(cells: Sequence[Cell], results: Sequence[Result]) -> Groups:
    """Cells of the same set, rate and method together."""
    found: dict[tuple[Key, str], list[tuple[Cell, Result]]] = {}
    for cell, result in zip(cells, results, strict=True):
        key = (set_title(cell.set), cell.rate), cell.method.name
        found.setdefault(key, []).append((cell, result))
    out = {}
    for key, group in found.items():
        good = [(cell, result) for cell, result in group if "failed" not in result]
        values = {name: np.array([result[name][-1] for _, result in good]) for name in (*SCORES, *COSTS)}
        values["memory"] = values["memory"] / MEBIBYTE
        seeds = tuple((cell.seed, cell.start or 0) for cell, _ in good)
        failed = tuple(result["failed"] for _, result in group if "failed" in result)
        out[key] = Group(group[0][0].method, values, seeds, failed)
    return out


def sections(done: Benchmark, kept: Results, reference: str, published: bool) -> list[Section]:
    """Everything that the page shows; tables for other programs and LaTeX are written on the way."""
    groups, first = done.groups, done.cells[0]
    _write_cells(done)
    _write_summary(done, groups)
    out = [_masks(done, kept)]
    text = "Mean and standard deviation over masks and seeds, in percent; best in bold, second underlined."
    for score, title in TITLES.items():
        table = score_table(groups, score)
        out.append(Section(score, title, text, table))
        if score in ("acc", "nmi"):
            caption = f"{title} (%), protocol {first.protocol}, mean and standard deviation"
            (done.out / f"{score}.tex").write_text(table.latex(caption), encoding="utf-8")
    out += [Section(name, title, text, cost_table(groups, name)) for name, (title, text) in COSTS.items()]
    if len({name for _, name in groups}) > 1:
        text = "On the same masks and seeds, in points. Less than two standard errors may be chance."
        for score in ("acc", "nmi"):
            table, title = paired_table(groups, reference, score), f"Paired differences, {TITLES[score]}"
            out.append(Section(f"paired-{score}", title, text, table, data=table))
    if published:
        out.append(published_section([set_title(cell.set) for cell in done.cells], first.protocol))
    out += [*_over_rates(groups), *_over_passes(done)]
    failures = {
        f"{cell.method.name} on {set_title(cell.set)}: {result['failed']}"
        for cell, result in zip(done.cells, done.results, strict=True)
        if "failed" in result
    }
    if failures:
        out.append(Section("failed", "Cells that failed", "; ".join(sorted(failures))))
    return out


# ---- tables


def spread(values: Floats) -> float:
    """Standard deviation; 0 of a single value."""
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def mean(values: Floats) -> float:
    """The mean; NaN of no value."""
    return float(values.mean()) if len(values) else float("nan")


def score_table(groups: Groups, score: str) -> Table:
    """A score in percent, the best two of each column marked.

    Methods whose settings were chosen with classes are never ranked together with the others.
    """
    ranks: dict[tuple[Key, str], int] = {}
    for key in {key for key, _ in groups}:
        for tuned in (False, True):
            means = {
                name: mean(group.values[score])
                for (own, name), group in groups.items()
                if own == key and group.seeds and group.method.tuned == tuned
            }
            best = sorted(set(means.values()), reverse=True)[:2]
            ranks |= {(key, name): best.index(value) + 1 for name, value in means.items() if value in best}
    return _table(groups, score, 100.0, ranks)


def cost_table(groups: Groups, cost: str) -> Table:
    """Seconds or memory."""
    return _table(groups, cost, 1.0, {})


def _table(groups: Groups, name: str, factor: float, ranks: dict[tuple[Key, str], int]) -> Table:
    """Methods against sets and rates, those with tuned settings last."""
    keys = list(dict.fromkeys(key for key, _ in groups))
    methods = {method: group.method.tuned for (_, method), group in groups.items()}
    rows = []
    for method in sorted(methods, key=lambda name: methods[name]):
        row: list[Any] = [method, "yes" if methods[method] else "no"]
        for key in keys:
            group = groups.get((key, method))
            if group is None or not group.seeds:
                row.append("fails" if group else "")
                continue
            values = factor * group.values[name]
            few = f" ({len(group.failed)} failed)" if group.failed else ""
            text = f"{values.mean():.2f} ± {spread(values):.2f}{few}"
            row.append(Marked(text, ranks.get((key, method), 0)))
        rows.append(row)
    return Table(["method", "labels used", *((name, f"{rate:g}") for name, rate in keys)], rows)


def paired_table(groups: Groups, reference: str, score: str) -> Table:
    """Differences from a method on the same masks and seeds: mean, standard error, number of pairs."""
    rows = []
    for (key, name), group in groups.items():
        other = groups.get((key, reference))
        if name == reference or other is None:
            continue
        theirs = dict(zip(other.seeds, other.values[score], strict=True))
        own = zip(group.seeds, group.values[score], strict=True)
        gaps = 100 * np.array([value - theirs[seed] for seed, value in own if seed in theirs])
        if len(gaps):
            error = f"{spread(gaps) / np.sqrt(len(gaps)):.2f}" if len(gaps) > 1 else "-"
            rows.append([key[0], f"{key[1]:g}", name, f"{gaps.mean():+.2f}", error, len(gaps)])
    difference = f"{TITLES[score]} less that of {reference}"
    return Table(["set", "rate", "method", difference, "standard error", "pairs"], rows)


def _write_cells(done: Benchmark) -> None:
    measures = (*SCORES, "presence", *TIMES, "memory")
    header = [
        "set",
        "protocol",
        "rate",
        "seed",
        "start",
        "method",
        "labels used",
        *measures,
        "mask",
        "failed",
    ]
    rows = [
        [cell.set, cell.protocol, cell.rate, cell.seed, cell.start, cell.method.name, cell.method.tuned]
        + [result[name][-1] if name in result else "" for name in measures]
        + [result["mask"], result.get("failed", "")]
        for cell, result in zip(done.cells, done.results, strict=True)
    ]
    Table(header, rows).csv(done.out / "cells.csv")


def _write_summary(done: Benchmark, groups: Groups) -> None:
    names = [f"{name}{end}" for name in (*SCORES, *COSTS) for end in ("", " sd")]
    rows = [
        [*key, name, group.method.tuned, len(group.seeds)]
        + [figure(values) for values in group.values.values() for figure in (mean, spread)]
        for (key, name), group in groups.items()
    ]
    Table(["set", "rate", "method", "labels used", "n", *names], rows).csv(done.out / "summary.csv")


def _masks(done: Benchmark, kept: Results) -> Section:
    """What the masks really are, beside every table."""
    rows = []
    seen = {result["mask"]: cell for cell, result in zip(done.cells, done.results, strict=True)}
    for digest, cell in seen.items():
        found = audit(kept.removed(cell).observed)
        about = [set_title(cell.set), cell.protocol, cell.rate, cell.seed]
        rows.append([*about, found.missing, found.complete, found.single, digest])
    shares = ["missing cells", "complete rows", "rows with one view", "sha256"]
    text = "What the masks really are; of the first seed. masks/ holds all of them, masks.csv their SHA-256."
    data = Table(["set", "protocol", "rate", "seed", *shares], rows)
    return Section("masks", "Masks", text, mask_table(kept, done.cells), data=data)


def mask_table(kept: Results, cells: Iterable[Cell]) -> Table:
    """`audit` of the first mask of each set and rate, in a line."""
    first = {(set_title(cell.set), f"{cell.rate:g}"): cell for cell in reversed(list(cells))}
    rows = [[*key, audit(kept.removed(cell).observed).line] for key, cell in reversed(first.items())]
    return Table(["set", "rate", "mask"], rows)


def published_figures() -> list[dict[str, str]]:
    """All published figures; ACC and NMI in percent, `tuned` by classes or not."""
    text = files("viewpass.evaluate.harness").joinpath("published.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def published_section(sets: Sequence[str], protocol: str) -> Section:
    """The published figures of these sets, each with whether its protocol is the one used here."""
    wanted = {name.lower() for name in sets}
    rows = []
    known = published_figures()
    for row in known:
        if wanted & set(row["names"].split()):
            theirs = row["protocol"]
            same = SAME.get(protocol, protocol) == theirs
            difference = "the same" if same else f"differs: {PROTOCOLS.get(theirs, theirs)}"
            rows.append([*(row[name] for name in PUBLISHED), difference])
    text = (
        "As the papers or their supplements print them. Preprocessing, views and rows may differ even where "
        "the protocol is the same, and many methods choose settings or the last epoch with classes: do not "
        "rank them together with measured figures."
    )
    if not rows:
        names = ", ".join(dict.fromkeys(row["names"].split()[0] for row in known))
        text = f"There are none of these sets in the table. It knows files by these names: {names}."
    header = [*PUBLISHED[:5], "ACC", "NMI", "tuned with classes", "kind", "protocol used here"]
    return Section("published", "Published figures", text, Table(header, rows))


# ---- figures


def _over_rates(groups: Groups) -> list[Section]:
    rates = list(dict.fromkeys(rate for (_, rate), _ in groups))
    out = []
    for score in ("acc", "nmi"):
        values: dict[tuple[str, str], list[float]] = {}
        for ((name, _), method), group in groups.items():
            values.setdefault((name, method), []).append(mean(100 * group.values[score]))
        out += _lines(score, "missing rate", "rates", rates, values)
    return out


def _over_passes(done: Benchmark) -> list[Section]:
    """Means after each pass by set with its rate, and method; of methods without passes a constant."""
    out = []
    for score in ("acc", "nmi"):
        found: dict[tuple[str, str], list[list[float]]] = {}
        for cell, result in zip(done.cells, done.results, strict=True):
            if "failed" not in result:
                key = f"{set_title(cell.set)} {cell.rate:g}", cell.method.name
                found.setdefault(key, []).append(result[score])
        most = max((len(values) for group in found.values() for values in group), default=1)
        means = {key: (100 * np.mean(group, axis=0)).tolist() for key, group in found.items()}
        whole = {key: values * most if len(values) == 1 else values for key, values in means.items()}
        out += _lines(score, "pass", "passes", range(1, most + 1), whole)
    return out


def _lines(
    score: str,
    across: str,
    ending: str,
    places: Sequence[float],
    values: dict[tuple[str, str], list[float]],
) -> list[Section]:
    """A figure with a panel for each set and a line for each method, where there are places to compare."""
    if len(places) < 2:
        return []
    panels = [
        Panel(
            [Line(method, places, own) for (there, method), own in values.items() if there == name],
            across,
            f"{TITLES[score]} (%)",
            name,
            ticks=places,
        )
        for name in dict.fromkeys(name for name, _ in values)
    ]
    title = f"{TITLES[score]} by {across}"
    figure = Figure(panels, title, n_columns=3)
    return [Section(f"{score}-{ending}", title, "Means over masks and seeds.", figure=figure)]
