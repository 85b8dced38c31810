"""Runs the requested parts of the paper and writes the page."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from importlib import import_module

from viewpass.errors import DataError, SettingError
from viewpass.evaluate.harness.page import Section, machine, write
from viewpass.paper.settings import SETS, PaperRun

logger = logging.getLogger("viewpass")

TITLE = "The paper, measured again"
PARTS = ("table1", "table2", "fig1", "fig2", "fig3", "fig4", "fig5", "complexity", "baselines")


def chosen(only: Sequence[str]) -> tuple[str, ...]:
    """The requested parts, in the order of the paper."""
    for name in only:
        if name not in PARTS:
            raise SettingError(f"--only {name}: choose one of {', '.join(PARTS)}.")
    return tuple(name for name in PARTS if not only or name in only)


def run(
    plan: PaperRun, only: Sequence[str] = (), report: Callable[[str], None] = logger.info
) -> list[Section]:
    """Measure all parts, or some; the page is rewritten after each."""
    names = chosen(only)
    for data in plan.sets:
        if data not in SETS:
            raise SettingError(f"--set {data}: choose one of {', '.join(SETS)}.")
    plan.out.mkdir(parents=True, exist_ok=True)
    sections: list[Section] = []
    began = time.perf_counter()
    for name in names:
        start, before = time.perf_counter(), plan.n_done
        try:
            section: Section = import_module(f"viewpass.paper.figures.{name}").run(plan)
        except DataError as problem:
            report(f"{name}: left out. {problem}")
            sections.append(Section(name, name, f"Left out: {problem}"))
            continue
        section.doubt_few_seeds(plan.n_seeds)
        sections.append(section)
        report(f"{name}: {plan.n_done - before} cells measured in {time.perf_counter() - start:.0f} s")
        write(plan.out, sections, preface(plan, time.perf_counter() - began), TITLE, apart=True)
    return sections


def preface(plan: PaperRun, seconds: float) -> str:
    """What the page shows, and how it was measured."""
    clock, work = plan.took()
    busy = ", on a busy machine" if work < 0.5 * clock else ""
    runs = "; ".join(
        f"a run of {run['seconds'] / 60:.1f} minutes with "
        f"{run['processes']:.0f} process{'es' if run['processes'] > 1 else ''} measured "
        f"{run['cells']:,.0f} of them"
        for run in plan.runs(seconds)
    )
    kind = "a quick run: shorter grids, fewer passes, parts of the large sets" if plan.quick else "a full run"
    if plan.parts and not plan.quick:
        kind += ", but figures 1 to 3 and table 2 read only parts of the large sets"
    if plan.sets:
        kind += f"; figures 1 to 3 of {' and '.join(plan.sets)} only"
    options = "".join(f" --{name}" for name in ("quick", "parts") if getattr(plan, name))
    options += "".join(f" --set {data}" for data in plan.sets)
    return (
        f"The claims of One-Pass Incomplete Multi-view Clustering (Hu and Chen, AAAI 2019) beside what "
        f"`viewpass paper{options}` measured with {plan.n_seeds} seeds: {kind}. {machine()} "
        f"{len(plan.fresh):,} cells took {work / 60:.0f} minutes of processor time "
        f"({clock / 60:.0f} of wall-clock time in total{busy}); {runs}. "
        "NMI is normalised by the geometric mean of the entropies."
    )
