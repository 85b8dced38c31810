"""`python -m benchmarks.measured` (`make measured`): makes docs/measured/ and docs/paper/ anew.

Each page is a list of commands, run one after the other. A page has its own introduction, and below it what
the commands print, or "Not measured on this version." The output of a finished command is kept in the folder
`--out`, so that a stopped run continues. Changed code, or `--again`, starts anew. `--quick` takes smaller
sizes and fewer runs, says so on the page, and leaves out what takes hours at any size.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from benchmarks import machine
from benchmarks.quality.page import filled

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "measured"
PAPER = ROOT / "docs" / "paper"
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
NOT_MEASURED = "Not measured on this version."
SHOWN = (".md", ".csv", ".svg", ".html")  # what docs/paper has of a run of `viewpass paper`


@dataclass(frozen=True)
class Step:
    """A command whose output is a part of a page."""

    title: str
    base: str
    full: str = ""  # options
    quick: str | None = None  # options of a quick run; None: left out of it

    def text(self, quick: bool) -> str | None:
        """The command as the page has it, or None if it is left out."""
        options = self.quick if quick else self.full
        return None if options is None else f"{self.base} {options}".strip()

    def command(self, quick: bool) -> list[str]:
        """The command to run."""
        first, *options = (self.text(quick) or "").split()
        program = Path(sys.executable)
        return [str(program if first == "python" else program.with_name(first)), *options]


PAGE_STEPS: dict[str, tuple[Step, ...]] = {
    "speed": (
        Step("Small data", "python -m benchmarks.sizes", "", "--runs 1"),
        Step("Distance passes of a fit", "python -m benchmarks.defaults", "", "--runs 1"),
        Step("Fits beside other software", "python -m benchmarks", "--full", "--share 0.02 --runs 1"),
        Step("Parquet files", "python -m benchmarks.files", "--full --runs 2", "--rows 500000 --runs 1"),
        Step("A large .h5mu file", "python -m benchmarks.mudata_file", "", "--cells 50000"),
    ),
    "defaults": (
        Step("Right choices", "python -m benchmarks.choices", "", "--only 3sources,webkb,mfeat --seeds 2"),
        Step("Order of rows", "python -m benchmarks.order", "", "--sets webkb,mfeat --seeds 1"),
        Step("Seeds, order and rows of the Tate table", "python -m benchmarks.stability", "", "--runs 1"),
        Step("Reasons", "python -m benchmarks.reasons"),
    ),
    "gaps": (
        Step("Digit", "python -m benchmarks.gaps --data mfeat", "", "--seeds 2"),
        Step("MNIST", "python -m benchmarks.gaps --data mnist_hog5000 --rows 2000"),
    ),
    "streams": (
        Step("Labels as rows are read", "python -m benchmarks.streams", "", "--sets rbf3,own_late --seeds 1"),
        Step("Single figures", "python -m benchmarks.streams.figures", "", "noise speed --seeds 1"),
    ),
    "distributed": (
        Step("Ten million rows", "python -m benchmarks.engines --runs 1", "--copies 10", ""),
        Step(
            "100 clusters", "python -m benchmarks.engines --runs 1 --only local", "--copies 10 --clusters 100"
        ),
        Step("A graph", "python -m benchmarks.engines --runs 1 --rings --only scan local", "--copies 10", ""),
        Step("int8", "python -m benchmarks.quantised"),
    ),
    "reproduction": (Step("Digit, ACC / NMI", "python -m benchmarks.reproduction", "", ""),),
}
WRITERS = {  # pages that their commands write themselves
    "quality": Step("Quality", "python -m benchmarks.quality --page docs/measured/quality.md"),
    "paper": Step("The paper", "viewpass paper --parts --out out/paper"),
}


def main() -> int:
    options = _options()
    for page in options.only:
        if page in WRITERS:
            write_itself(page, quick=options.quick)
        else:
            write_page(page, options.out, quick=options.quick, again=options.again)
    return 0


def write_page(page: str, out: Path, *, quick: bool, again: bool) -> None:
    """Run the commands of a page that have not been run, and put what they print between its marks."""
    steps = PAGE_STEPS[page]
    about = _about(quick and any(step.quick != step.full for step in steps))
    ran, code = dict[str, str](), machine.code_digest()
    for step in steps:
        shown = step.text(quick)
        if shown is None:
            print(f"{page}: {step.title}: left out of a quick run", flush=True)
            continue
        kept = out / f"{page}-{sha256((shown + code).encode()).hexdigest()[:12]}.md"
        if again or not kept.exists():
            began = time.perf_counter()
            text = as_markdown(output(step.command(quick)))
            kept.parent.mkdir(parents=True, exist_ok=True)
            new = kept.with_suffix(".new")
            new.write_text(text)
            new.replace(kept)
            print(f"{page}: {step.title}: {time.perf_counter() - began:.0f} s", flush=True)
        ran[step.title] = kept.read_text().strip()
        path = PAGES / f"{page}.md"
        path.write_text(filled(path.read_text(), tables(steps, about, ran, quick=quick)))


def tables(steps: tuple[Step, ...], about: str, ran: dict[str, str], *, quick: bool) -> str:
    """What a page has between its marks: each command with what it printed."""
    parts = [about]
    for step in steps:
        shown = step.text(quick) or step.text(quick=False)
        parts.append(f"## {step.title}\n\n`{shown}`\n\n{ran.get(step.title, NOT_MEASURED)}")
    return "\n\n".join(part for part in parts if part)


def write_itself(page: str, *, quick: bool) -> None:
    """Run the command that writes a page; docs/paper gets what a run of the paper has written."""
    step = WRITERS[page]
    if step.text(quick) is None:
        print(f"{page}: left out of a quick run", flush=True)
        return
    output(step.command(quick))
    if page == "paper":
        shutil.rmtree(PAPER)
        PAPER.mkdir()
        for path in (ROOT / "out" / "paper").iterdir():
            if path.suffix in SHOWN:
                shutil.copyfile(path, PAPER / path.name)


def output(command: list[str]) -> str:
    """What a command prints; its progress goes to the terminal."""
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def as_markdown(text: str) -> str:
    """Tables and headings as they are, other lines as blocks of text."""
    lines: list[str] = []
    plain: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line and not line.startswith(("|", "#")):
            plain.append(line)
            continue
        if plain:
            lines += ["", "```text", *plain, "```", ""]
            plain = []
        lines.append(f"#{line}" if line.startswith("#") else line)
    return "\n".join(lines).strip() + "\n"


def _about(reduced: bool) -> str:
    facts = machine.facts()
    libraries = ", ".join(f"{name} {number}" for name, number in facts["libraries"].items() if number)
    busy = (
        f" Load {facts['load']:.0f} at the start: seconds are those of a busy machine."
        if facts["load"] > 1
        else ""
    )
    sizes = " A quick run: smaller sizes and fewer runs than the commands have by default." if reduced else ""
    return f"{facts['processor']}, {facts['cores']} processors, {libraries}.{sizes}{busy}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.measured",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    pages = [*PAGE_STEPS, *WRITERS]
    parser.add_argument("--only", default=",".join(pages), help=f"some of {','.join(pages)}")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, fewer runs")
    parser.add_argument("--again", action="store_true", help="run finished commands again")
    parser.add_argument("--out", type=Path, default=Path("out/measured"), help="folder of what is kept")
    options = parser.parse_args()
    options.only = options.only.split(",")
    options.out = options.out.resolve()
    for page in options.only:
        if page not in pages:
            parser.error(f"--only {page}: choose from {', '.join(pages)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
