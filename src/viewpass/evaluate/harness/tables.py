"""Tables of measured cells: means and spreads, paired differences; as CSV, LaTeX, and rows for a page."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from viewpass.evaluate.harness.cells import SCORES, Cell, Result
from viewpass.evaluate.harness.methods import Method
from viewpass.evaluate.harness.page import Marked
from viewpass.evaluate.harness.sets import set_title
from viewpass.kernels.grid import Floats

TITLES = {"acc": "ACC", "nmi": "NMI", "ari": "ARI", "purity": "purity", "f": "F"}
TITLES |= {"seconds": "seconds", "memory": "MiB"}
MEBIBYTE = 1 << 20
Key = tuple[str, float]  # a set (without its folder) and a rate


@dataclass(frozen=True)
class Line:
    """The cells of a method on a set at a rate, one value per seed."""

    method: Method
    values: dict[str, Floats]
    seeds: tuple[tuple[int, int], ...]
    failed: tuple[str, ...]


Lines = dict[tuple[Key, str], Line]


def lines_of(cells: Sequence[Cell], results: Sequence[Result]) -> Lines:
    """Cells of the same set, rate and method together."""
    groups: dict[tuple[Key, str], list[tuple[Cell, Result]]] = {}
    for cell, result in zip(cells, results, strict=True):
        key = (set_title(cell.set), cell.rate), cell.method.name
        groups.setdefault(key, []).append((cell, result))
    out = {}
    for key, group in groups.items():
        good = [(cell, result) for cell, result in group if "failed" not in result]
        values = {
            name: np.array([result[name][-1] for _, result in good])
            for name in (*SCORES, "seconds", "memory")
        }
        values["memory"] = values["memory"] / MEBIBYTE
        seeds = tuple((cell.seed, cell.start or 0) for cell, _ in good)
        failed = tuple(result["failed"] for _, result in group if "failed" in result)
        out[key] = Line(group[0][0].method, values, seeds, failed)
    return out


@dataclass(frozen=True)
class Benchmark:
    """Finished cells and their tables; `lines` has the values by ((set, rate), method)."""

    cells: tuple[Cell, ...]
    results: tuple[Result, ...]
    out: Path

    @property
    def lines(self) -> Lines:
        """Values of each score over masks and seeds."""
        return lines_of(self.cells, self.results)

    def mean(self, set: str, rate: float, method: str, score: str = "nmi") -> float:
        """The mean of a score over masks and seeds."""
        return float(self.lines[(set, rate), method].values[score].mean())


def spread(values: Floats) -> float:
    """Standard deviation; 0 of a single value."""
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def score_rows(lines: Lines, score: str, *, percent: bool = True) -> tuple[list[str], list[list[Any]]]:
    """Methods against sets and rates: header and rows, the best two of each group of methods marked.

    Methods whose settings were chosen with classes are a group of their own: they are never ranked
    together with the others.
    """
    keys, methods = list(dict.fromkeys(key for key, _ in lines)), _methods(lines)
    factor = 100.0 if percent else 1.0
    ranks: dict[tuple[Key, str], int] = {}
    for key in keys:
        for tuned in (False, True):
            means = {
                m.name: float(line.values[score].mean())
                for m in methods
                if m.tuned == tuned and (line := lines.get((key, m.name))) and line.seeds
            }
            ordered = sorted(set(means.values()), reverse=True)
            ranks |= {(key, name): ordered.index(mean) + 1 for name, mean in means.items()}
    rows = []
    for method in sorted(methods, key=lambda m: m.tuned):
        row: list[Any] = [method.name, "yes" if method.tuned else "no"]
        for key in keys:
            line = lines.get((key, method.name))
            if line is None or not line.seeds:
                row.append("fails" if line else "")
                continue
            values, rank = factor * line.values[score], ranks[key, method.name]
            few = f" ({len(line.failed)} failed)" if line.failed else ""
            row.append(
                Marked(
                    f"{values.mean():.2f} ± {spread(values):.2f}{few}", rank if rank < 3 and percent else 0
                )
            )
        rows.append(row)
    return ["method", "labels used", *(f"{name} {rate:g}" for name, rate in keys)], rows


def _methods(lines: Lines) -> list[Method]:
    return list({name: line.method for (_, name), line in lines.items()}.values())


def paired_rows(lines: Lines, reference: str, score: str) -> tuple[list[str], list[list[Any]]]:
    """Differences from a method on the same masks and seeds: mean, standard error, number of pairs."""
    rows = []
    for (key, name), line in lines.items():
        other = lines.get((key, reference))
        if name == reference or other is None:
            continue
        theirs = dict(zip(other.seeds, other.values[score], strict=True))
        own = zip(line.seeds, line.values[score], strict=True)
        gaps = 100 * np.array([value - theirs[seed] for seed, value in own if seed in theirs])
        if len(gaps):
            error = f"{spread(gaps) / np.sqrt(len(gaps)):.2f}" if len(gaps) > 1 else "-"
            rows.append([*key, name, f"{gaps.mean():+.2f}", error, len(gaps)])
    return [
        "set",
        "rate",
        "method",
        f"{TITLES[score]} less that of {reference}",
        "standard error",
        "pairs",
    ], rows


def latex(lines: Lines, score: str, caption: str) -> str:
    """A booktabs table: best in bold, second underlined, methods with tuned settings below a rule."""
    _, rows = score_rows(lines, score)
    keys = list(dict.fromkeys(key for key, _ in lines))
    sets = list(dict.fromkeys(name for name, _ in keys))
    spans = [(name, sum(key[0] == name for key in keys)) for name in sets]
    starts = np.cumsum([3, *(n for _, n in spans)])
    text = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}\centering",
        rf"\caption{{{_tex(caption)}}}",
        rf"\begin{{tabular}}{{ll{'r' * len(keys)}}}",
        r"\toprule",
        " & " + "".join(rf" & \multicolumn{{{n}}}{{c}}{{{_tex(name)}}}" for name, n in spans) + r" \\",
        "".join(
            rf"\cmidrule(lr){{{first}-{first + n - 1}}}" for first, (_, n) in zip(starts, spans, strict=False)
        ),
        " & ".join(["method", "labels used", *(f"{rate:g}" for _, rate in keys)]) + r" \\",
        r"\midrule",
    ]
    for place, row in enumerate(rows):
        if place and row[1] != rows[place - 1][1]:
            text.append(r"\midrule")
        entries = [
            Marked(_tex(value.text), value.rank).between((r"\textbf{", "}"), (r"\underline{", "}"))
            if isinstance(value, Marked)
            else _tex(str(value))
            for value in row
        ]
        text.append(" & ".join(entries) + r" \\")
    return "\n".join([*text, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _tex(text: str) -> str:
    signs = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    signs |= {sign: "\\" + sign for sign in "&%$#_{}"} | {"±": r"$\pm$"}
    return "".join(signs.get(letter, letter) for letter in text)


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table for other programs."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        for row in rows:
            writer.writerow([f"{value:.6g}" if isinstance(value, float) else value for value in row])
