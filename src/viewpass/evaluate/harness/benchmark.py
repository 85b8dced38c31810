"""`benchmark`: methods on sets at several missing rates, with tables, figures and a page."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from viewpass.errors import MissingExtraError, SettingError
from viewpass.evaluate.audit import audit
from viewpass.evaluate.harness import tables
from viewpass.evaluate.harness.cells import SCORES, TIMES, Cell, Report, Result, Results
from viewpass.evaluate.harness.methods import Method, parsed_methods
from viewpass.evaluate.harness.page import Section, machine, write
from viewpass.evaluate.harness.published import published_rows
from viewpass.evaluate.protocols import PROTOCOLS
from viewpass.kernels.threads import available_threads

SHOWN = ("acc", "nmi", "ari", "purity", "f")
FEW_SEEDS = 5


@dataclass(frozen=True)
class Benchmark:
    """Finished cells and their tables; `lines` has the values by ((set, rate), method)."""

    cells: tuple[Cell, ...]
    results: tuple[Result, ...]
    out: Path

    @property
    def lines(self) -> tables.Lines:
        """Values of each score over masks and seeds."""
        return tables.lines_of(self.cells, self.results)

    def mean(self, set: str, rate: float, method: str, score: str = "nmi") -> float:
        """The mean of a score over masks and seeds."""
        return float(self.lines[(set, rate), method].values[score].mean())


def benchmark(
    sets: Sequence[str | PathLike[str]],
    methods: Sequence[Any],
    *,
    out: str | PathLike[str],
    protocol: str = "paper",
    rates: Sequence[float] = (0.1, 0.3, 0.5),
    n_seeds: int = 10,
    n_starts: int = 1,
    n_passes: int = 0,
    tuned: Sequence[str] = (),
    masks: str | PathLike[str] | None = None,
    reference: str | None = None,
    published: bool = False,
    n_jobs: int | None = None,
    folder: str | PathLike[str] | None = None,
    report: Report | None = None,
) -> Benchmark:
    """Measure methods on sets with views removed, and write tables, figures and a page.

    Finished cells are kept in `out`: the same call after a crash goes on where it was, and gives the
    same scores. A cell is measured again when the data, the mask or the file of the method has changed.

    Parameters
    ----------
    sets : sequence of str or path
        Paths (.mat, .npz), or names in the data folder. A set needs classes.
    methods : sequence of str or callable
        Names ("ViewPass", "OPIMC", "IMC", "OMVC", "ONMF-I", "ONMF-DA", "MultiNMF", "MIC", "DAIMC",
        "k-means"), with settings ("OPIMC(alpha=1)"); "module:Class" or "file.py:Class" with
        `fit_predict(views)` or `fit` and `labels_`; "cmd:program {in} {out}"; classes. "NAME=..." names one.
        A method that takes `observed` gets the mask; others get dense views with rows of NaN.
    out : path
        The folder for masks, cells, tables and the page.
    protocol : str
        One of `PROTOCOLS`.
    rates : sequence of float
        Nominal missing rates.
    n_seeds : int
        Masks (and orders of rows) per set and rate.
    n_starts : int
        Seeds of the method per mask; 1: the seed of the mask.
    n_passes : int
        Passes to score methods that have passes after; 0: their labels at the end, as they are set.
    tuned : sequence of str
        Names of methods whose settings were chosen with classes: they are ranked apart.
    masks : path, optional
        A folder of masks that another benchmark wrote; those with the right name are used.
    reference : str, optional
        The method that paired differences are taken from; by default the first.
    published : bool
        Whether to print published figures of the same sets beside.
    n_jobs : int, optional
        Processes; by default one per processor. Processors are shared among them.
    folder : path, optional
        The folder of named sets; by default VIEWPASS_DATA, then ../shared/data.
    report : callable, optional
        Called with (cells done, cells in all, name of the last).

    Returns
    -------
    Benchmark
    """
    began = time.perf_counter()
    chosen = parsed_methods(methods, tuned)
    _check(protocol, rates, n_seeds, n_starts, n_passes, chosen, reference)
    kept = Results(
        Path(out),
        available_threads() if n_jobs is None else n_jobs,
        None if folder is None else str(folder),
        None if masks is None else Path(masks),
        report or (lambda done, total, name: None),
    )
    kept.out.mkdir(parents=True, exist_ok=True)
    cells = [
        Cell(str(one), protocol, float(rate), seed, method, start, n_passes)
        for one in sets
        for rate in rates
        for seed in range(n_seeds)
        for start in ([None] if n_starts == 1 else range(seed * n_starts, (seed + 1) * n_starts))
        for method in chosen
    ]
    done = Benchmark(tuple(cells), tuple(kept.results(cells)), kept.out)
    _write(done, kept, reference or chosen[0].name, published, time.perf_counter() - began)
    return done


def _check(
    protocol: str,
    rates: Sequence[float],
    n_seeds: int,
    n_starts: int,
    n_passes: int,
    methods: list[Method],
    reference: str | None,
) -> None:
    if protocol not in PROTOCOLS:
        raise SettingError(f"protocol is {protocol!r}. Choose one of {', '.join(PROTOCOLS)}.")
    if not methods or not rates or min(n_seeds, n_starts) < 1 or n_passes < 0:
        raise SettingError("a benchmark needs a method, a rate, at least 1 seed and start.")
    if any(not 0 <= rate < 1 for rate in rates):
        raise SettingError(f"rates are {', '.join(map(str, rates))}. Pass numbers from 0 to less than 1.")
    if reference is not None and reference not in [method.name for method in methods]:
        raise SettingError(f"reference {reference!r} is not one of the methods.")
    for method in methods:
        _ = method.digest  # loads it: one that cannot be loaded is refused before anything is measured


def _write(done: Benchmark, kept: Results, reference: str, published: bool, seconds: float) -> None:
    lines, first = done.lines, done.cells[0]
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
    tables.write_csv(kept.out / "cells.csv", header, rows)
    summary = [
        [*key, name, line.method.tuned, len(line.seeds)]
        + [f(values) for values in line.values.values() for f in (_mean, tables.spread)]
        for (key, name), line in lines.items()
    ]
    names = [f"{name}{end}" for name in (*SCORES, "seconds", "memory") for end in ("", " sd")]
    tables.write_csv(kept.out / "summary.csv", ["set", "rate", "method", "labels used", "n", *names], summary)
    sections = [_masks(done, kept)]
    sections += [_scores(done, lines, score) for score in SHOWN]
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
        sections.append(published_rows([Path(cell.set).stem for cell in done.cells], first.protocol))
    sections += _figures(done, lines)
    failures = {
        f"{cell.method.name} on {Path(cell.set).stem}: {result['failed']}"
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
    few = f" {n_masks} masks in all: few seeds decide nothing." if n_masks < FEW_SEEDS else ""
    n_runs = len(kept.runs(seconds))
    return (
        f"{len(done.cells):,} cells under {n_masks:,} masks.{few} Protocol {done.cells[0].protocol}: "
        f"{PROTOCOLS[done.cells[0].protocol]}. {machine()} {work / 60:.1f} minutes of processor time "
        f"({clock / 60:.1f} of wall-clock time) in {n_runs} run{'s' if n_runs != 1 else ''}. "
        "NMI is normalised by the geometric mean of the entropies. No method was given classes; the column "
        "`labels used` is yes for methods whose settings were chosen with them, which are ranked apart."
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
        name = Path(cell.set).stem
        rows.append(
            [name, cell.protocol, cell.rate, cell.seed, found.missing, found.complete, found.single, digest]
        )
        if not any(row[:2] == [name, f"{cell.rate:g}"] for row in shown):
            shown.append([name, f"{cell.rate:g}", found.line])
    header = [
        "set",
        "protocol",
        "rate",
        "seed",
        "missing cells",
        "complete rows",
        "rows with one view",
        "sha256",
    ]
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
    sets = list(dict.fromkeys(name for (name, _), _ in lines))
    rates = list(dict.fromkeys(rate for (_, rate), _ in lines))
    methods = list(dict.fromkeys(name for _, name in lines))
    for score in ("acc", "nmi"):
        curves = {
            (one, m): [_mean(100 * lines[(one, rate), m].values[score]) for rate in rates]
            for one in sets
            for m in methods
        }
        if len(rates) > 1:
            name = draw.curves(
                done.out,
                f"{score}-rates",
                sets,
                methods,
                curves,
                ("missing rate", rates),
                f"{tables.TITLES[score]} (%)",
            )
            sections.append(
                Section(
                    name,
                    f"{tables.TITLES[score]} against the missing rate",
                    "",
                    figure=name,
                    alt=f"{score} by rate",
                )
            )
        over = _over_passes(done, score)
        if over:
            passes = list(range(1, max(map(len, over.values())) + 1))
            shown = list(dict.fromkeys(one for one, _ in over))
            name = draw.curves(
                done.out,
                f"{score}-passes",
                shown,
                methods,
                over,
                ("pass", passes),
                f"{tables.TITLES[score]} (%)",
            )
            sections.append(
                Section(
                    name, f"{tables.TITLES[score]} over the passes", "", figure=name, alt=f"{score} by pass"
                )
            )
    return sections


def _over_passes(done: Benchmark, score: str) -> dict[tuple[str, str], list[float]]:
    """Means after each pass by set with its rate, and method; of methods without passes a constant."""
    groups: dict[tuple[str, str], list[list[float]]] = {}
    for cell, result in zip(done.cells, done.results, strict=True):
        if "failed" not in result:
            groups.setdefault((f"{Path(cell.set).stem} {cell.rate:g}", cell.method.name), []).append(
                result[score]
            )
    most = max((len(values) for group in groups.values() for values in group), default=1)
    if most == 1:
        return {}
    means = {key: (100 * np.mean(group, axis=0)).tolist() for key, group in groups.items()}
    return {key: values * most if len(values) == 1 else values for key, values in means.items()}
