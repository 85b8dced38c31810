"""Runs the requested parts of the paper and writes the page."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from viewpass.errors import DataError, SettingError
from viewpass.evaluate.harness.page import Section, machine, write
from viewpass.evaluate.harness.sections import mask_table
from viewpass.paper.baselines import baselines
from viewpass.paper.costs import complexity, table1, table2
from viewpass.paper.curves import fig1
from viewpass.paper.figures import fig2, fig3, fig4, fig5
from viewpass.paper.plan import PaperRun

logger = logging.getLogger("viewpass")

TITLE = "The paper, measured again"
MEASURES = (table1, table2, fig1, fig2, fig3, fig4, fig5, complexity, baselines)
PARTS = {measure.__name__: measure for measure in MEASURES}


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
    plan.out.mkdir(parents=True, exist_ok=True)
    sections: list[Section] = []
    began = time.perf_counter()
    for name in names:
        start, before = time.perf_counter(), plan.n_done
        plan.used.clear()
        try:
            section = PARTS[name](plan)
        except DataError as problem:
            report(f"{name}: left out. {problem}")
            sections.append(Section(name, name, f"Left out: {problem}"))
            continue
        section.doubt_few_seeds(plan.n_seeds)
        section.masks = mask_table(plan, (cell for cell in plan.used if not cell.set.startswith("noise")))
        section.write(plan.out)
        sections.append(section)
        report(f"{name}: {plan.n_done - before} cells measured in {time.perf_counter() - start:.0f} s")
        write(plan.out, sections, preface(plan, time.perf_counter() - began), TITLE, apart=True)
    return sections


def preface(plan: PaperRun, seconds: float) -> str:
    """What the page shows, and how it was measured."""
    clock, work = plan.took()
    busy = ", on a busy machine" if work < 0.5 * clock else ""
    runs = plan.runs(seconds)
    hours = sum(run["seconds"] for run in runs) / 3600
    kind = "a quick run: shorter grids, fewer passes, parts of the large sets" if plan.quick else "a full run"
    if plan.parts and not plan.quick:
        kind += ", but figures 1 to 3 and table 2 read only parts of the large sets"
    options = "".join(f" --{name}" for name in ("quick", "parts") if getattr(plan, name))
    options += f" --seeds {plan.n_seeds}"
    return (
        f"The claims of One-Pass Incomplete Multi-view Clustering (Hu and Chen, AAAI 2019) beside what "
        f"`viewpass paper{options}` measured with {plan.n_seeds} seeds. It is {kind}. {machine()} "
        f"{len(plan.fresh):,} cells took {work / 60:.0f} minutes of processor time "
        f"({clock / 60:.0f} of wall-clock time{busy}), in {len(runs)} run{'s' if len(runs) != 1 else ''} of "
        f"{hours:.1f} hours together. "
        "NMI is normalised by the geometric mean of the entropies."
    )
