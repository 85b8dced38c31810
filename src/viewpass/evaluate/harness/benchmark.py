"""`benchmark`: methods on sets at several missing rates, with tables, figures and a page."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from viewpass.errors import SettingError
from viewpass.evaluate.harness.cells import Cell, Report, Result, Results
from viewpass.evaluate.harness.methods import Method, parsed_methods
from viewpass.evaluate.harness.page import ENOUGH_SEEDS, machine, write
from viewpass.evaluate.harness.sections import Groups, groups_of, sections
from viewpass.evaluate.harness.sets import set_title
from viewpass.evaluate.protocols import PROTOCOLS
from viewpass.kernels.threads import available_threads


@dataclass(frozen=True)
class Benchmark:
    """Finished cells; `groups` has their values by ((set, rate), method)."""

    cells: tuple[Cell, ...]
    results: tuple[Result, ...]
    out: Path

    @property
    def groups(self) -> Groups:
        """Values of each score over masks and seeds."""
        return groups_of(self.cells, self.results)

    def mean(self, set: str, rate: float, method: str, score: str = "nmi") -> float:
        """The mean of a score over masks and seeds."""
        return float(self.groups[(set, rate), method].values[score].mean())


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
        Paired differences are those from the first.
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
    names = [str(one) for one in sets]
    rates = list(dict.fromkeys(float(rate) for rate in rates))
    if min(n_seeds, n_starts) < 1 or n_passes < 0:
        raise SettingError("a benchmark needs at least 1 seed and 1 start, and 0 passes or more.")
    _check(names, protocol, rates, chosen)
    kept = Results(
        Path(out),
        available_threads() if n_jobs is None else n_jobs,
        None if folder is None else str(folder),
        None if masks is None else Path(masks),
        report or (lambda done, total, name: None),
    )
    kept.out.mkdir(parents=True, exist_ok=True)
    cells = [
        Cell(name, protocol, rate, seed, method, start, n_passes)
        for name in names
        for rate in rates
        for seed in range(n_seeds)
        for start in ([None] if n_starts == 1 else range(seed * n_starts, (seed + 1) * n_starts))
        for method in chosen
    ]
    done = Benchmark(tuple(cells), tuple(kept.results(cells)), kept.out)
    shown = sections(done, kept, chosen[0].name, published)
    for section in shown:
        section.write(done.out)
    write(done.out, shown, _preface(done, kept, time.perf_counter() - began), "Benchmark")
    return done


def _preface(done: Benchmark, kept: Results, seconds: float) -> str:
    clock, work = kept.took()
    n_masks = len({result["mask"] for result in done.results})
    n_seeds = len({cell.seed for cell in done.cells})
    few = f" {n_seeds} per set and rate: few seeds decide nothing." if n_seeds < ENOUGH_SEEDS else ""
    n_runs = len(kept.runs(seconds))
    return (
        f"{len(done.cells):,} cells under {n_masks:,} masks.{few} Protocol {done.cells[0].protocol}: "
        f"{PROTOCOLS[done.cells[0].protocol]}. {machine()} {work / 60:.1f} minutes of processor time "
        f"({clock / 60:.1f} of wall-clock time) in {n_runs} run{'s' if n_runs != 1 else ''}. "
        "NMI is normalised by the geometric mean of the entropies. No method was given classes; the column "
        '"labels used" is yes for methods whose settings were chosen with them, which are ranked apart.'
    )


def _check(sets: list[str], protocol: str, rates: list[float], methods: list[Method]) -> None:
    """Refuse what cannot be measured before anything is."""
    if protocol not in PROTOCOLS:
        raise SettingError(f"protocol is {protocol!r}. Choose one of {', '.join(PROTOCOLS)}.")
    if not sets or not methods or not rates:
        raise SettingError("a benchmark needs a set, a method and a rate.")
    if any(not 0 <= rate < 1 for rate in rates):
        raise SettingError(f"rates are {', '.join(map(str, rates))}. Pass numbers from 0 to less than 1.")
    titles = [set_title(name) for name in sets]
    for title in titles:
        if titles.count(title) > 1:
            raise SettingError(f"two sets are named {title!r}. Give each file another name.")
    for method in methods:
        _ = method.digest  # loads it
