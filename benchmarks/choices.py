"""How often the settings chosen from the sample are right (`python -m benchmarks.choices`).

Each set is fitted with every candidate (scale and shape) and with default settings. A default fit is
right in a seed if its NMI is within .02 of the best candidate's. It is undecided if the question could not
tell the two apart: every choice in which they differ lies within its error.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import viewpass as vp
from benchmarks import machine
from benchmarks.data import Data, observed
from benchmarks.quality.cells import Cell, Cells, Key
from benchmarks.quality.page import filled
from benchmarks.quality.sets import DIGIT_SORTED, SETS
from viewpass.estimators.validation import solving_plan
from viewpass.evaluate import nmi
from viewpass.solve.question.choose import scales
from viewpass.solve.question.comparison import CLEAR
from viewpass.views.chunk import Chunk
from viewpass.views.kinds import KINDS
from viewpass.views.rows import MeasuredRows

DEFAULT, SUITED = "default", "suited"
SHAPES = {"plain": "", "neighbours": ", neighbours", "graph": ", graph"}  # and what they add to a name
KIND = "kind"  # of the values: counts, shares, yes or no
SCALES = ("unit", SUITED, KIND, "euclidean")
CLOSE = 0.02  # of the best candidate's NMI
MOST_ROWS = 5000  # of a set that is run without being named


def fit(data: Data, seed: int, **settings: Any) -> Cell:
    """The NMI of a fit over the rows that have a view, its choices, and its processor seconds."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = vp.ViewPass(len(np.unique(data.classes)), random_state=seed, **settings).fit(data.views)
    seconds = time.process_time() - began
    seen = np.any([observed(view) for view in data.views], axis=0)
    choices = [
        {"what": each.what, "chosen": each.chosen, "scores": dict(each.scores), "error": each.error}
        for each in model.choices_
    ]
    score = float(nmi(data.classes[seen], model.labels_[seen]))
    return {"nmi": score, "seconds": seconds, "choices": choices}


def candidates(data: Data) -> Iterator[tuple[str, dict[str, Any]]]:
    """The settings that a default fit chooses among, by name."""
    names = tuple(f"view{number}" for number in range(len(data.views)))
    plan = solving_plan(vp.ViewPass(), names)
    rows = MeasuredRows(Chunk.of(data.views)).measure()
    for name, names in scales(rows, plan).items():
        for shape, end in SHAPES.items():
            yield _scale_name(name) + end, {"scale": list(names), "consensus": shape}


def run(cells: Cells, sets: list[str], seeds: int, *, again: bool) -> None:
    """Fit what has not been fitted yet; with `again` the default settings in any case."""
    for name in sets:
        for missing in SETS[name].missing:
            for seed in range(seeds):
                _run_one(cells, Key(name, missing, seed, ""), again=again)


def _run_one(cells: Cells, key: Key, *, again: bool) -> None:
    own = [each for each in cells.known if each[:3] == key[:3]]
    if own and not again:
        return
    data = SETS[key.set].make(key.missing, key.seed)
    wanted = [(DEFAULT, dict[str, Any]()), *([] if own else candidates(data))]
    for method, settings in wanted:
        cells.add({**key._asdict(), "method": method, **fit(data, key.seed, **settings)})


def table(cells: Cells, seeds: int) -> str:
    """The table of docs/measured/defaults.md, and how many fits were right."""
    methods = [scale + end for scale in SCALES for end in SHAPES.values()]
    lines = ["| set | missing | best settings | NMI | default | right | undecided | lost |", "|" + "---|" * 8]
    n_right = n_undecided = n_all = 0
    for name, missing in dict.fromkeys((key.set, key.missing) for key in sorted(cells.known)):
        kinds, lost = [], []
        for seed in range(seeds):
            mine = {key.method: cell for key, cell in cells.known.items() if key[:3] == (name, missing, seed)}
            if DEFAULT in mine:
                kinds.append(judged(mine))
                lost.append(max(cell["nmi"] for cell in mine.values()) - mine[DEFAULT]["nmi"])
        means = {method: _mean(cells, name, missing, method) for method in methods}
        best = max(methods, key=lambda method: means[method])
        values = f"{best} | {_short(means[best])} | {_short(_mean(cells, name, missing, DEFAULT))}"
        right, undecided = kinds.count("right"), kinds.count("undecided")
        n_right, n_undecided, n_all = n_right + right, n_undecided + undecided, n_all + len(kinds)
        shown = "as is" if missing == "natural" else missing.lstrip("0")
        numbers = f"{right} | {undecided or ''} | {_short(float(np.mean(lost)))}"
        lines.append(f"| {name} | {shown} | {values} | {numbers} |")
    share = 100 * (n_right + n_undecided) / max(n_all, 1)
    lines += ["", f"Of {n_all} fits {n_right} are right and {n_undecided} undecided: {share:.0f} %."]
    return "\n".join(lines)


def judged(mine: dict[str, Cell]) -> str:
    """Whether a default fit is "right", "undecided" or "wrong", given the cells of its seed."""
    best = max((method for method in mine if method != DEFAULT), key=lambda method: mine[method]["nmi"])
    if mine[DEFAULT]["nmi"] >= mine[best]["nmi"] - CLOSE:
        return "right"
    scale, _, shape = best.partition(", ")
    wanted = {"scale": scale, "consensus": shape if shape == "graph" else "plain"}
    choices = mine[DEFAULT]["choices"]
    taken = [choice["chosen"] for choice in choices if choice["what"] == "consensus"]
    if "graph" not in (shape, *taken) and taken and taken[-1] != (shape or "plain"):
        return "wrong"  # between centres of the search and of neighbours the objective decides
    for choice in choices:
        if choice["what"] not in wanted:
            continue
        scores = choice["scores"]
        names = {_scale_name(name) if choice["what"] == "scale" else name: name for name in scores}
        other, chosen = names.get(wanted[choice["what"]]), choice["chosen"]
        if not scores or other == chosen:
            continue
        if other is None:
            return "wrong"
        error = choice["error"] * (1.0 if scores[other] > 0 else CLEAR)
        if abs(scores[other] - scores[chosen]) > error:
            return "wrong"
    return "undecided"


def _scale_name(name: str) -> str:
    """The column of the table, given the name of a candidate such as "idf+standard"."""
    if name == "unit":
        return name
    each = set(name.split("+"))
    return "euclidean" if "euclidean" in each else KIND if each & set(KINDS) else SUITED


def _mean(cells: Cells, name: str, missing: str, method: str) -> float:
    """The mean NMI over the seeds; below zero where nothing was measured."""
    own = [
        cell["nmi"] for key, cell in cells.known.items() if (*key[:2], key.method) == (name, missing, method)
    ]
    return float(np.mean(own)) if own else -1.0


def _short(value: float) -> str:
    return f"{value:.2f}".replace("0.", ".")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choices", description=__doc__)
    parser.add_argument("--only", help="sets, by name; without it all of at most 5,000 rows")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--again", action="store_true", help="run the default settings again")
    parser.add_argument("--report", action="store_true", help="run nothing, only print the table")
    parser.add_argument("--out", type=Path, default=Path("out/choices"))
    parser.add_argument("--page", type=Path, help="page to put the table into: docs/measured/defaults.md")
    options = parser.parse_args()
    small = [name for name, each in SETS.items() if each.n_rows <= MOST_ROWS and name != DIGIT_SORTED]
    cells = Cells(options.out / f"{machine.code_digest()}.jsonl")
    if not options.report:
        run(cells, options.only.split(",") if options.only else small, options.seeds, again=options.again)
    text = table(cells, options.seeds)
    print(text)
    if options.page:
        options.page.write_text(filled(options.page.read_text(), text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
