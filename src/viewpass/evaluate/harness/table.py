"""Tables of results, written as CSV, Markdown, HTML and LaTeX."""

from __future__ import annotations

import csv
import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$"}
TEX |= {sign: "\\" + sign for sign in "&%$#_{}"}


def tex(text: str) -> str:
    """Text for LaTeX, its special signs escaped."""
    return "".join(TEX.get(letter, letter) for letter in text)


@dataclass(frozen=True)
class Form:
    """How a kind of file escapes text, and marks the best and the second entry of a column."""

    escape: Callable[[str], str]
    marks: tuple[tuple[str, str], ...]


MARKDOWN = Form(lambda text: text.replace("|", "\\|"), (("**", "**"), ("<u>", "</u>")))
HTML = Form(html.escape, (("<b>", "</b>"), ("<u>", "</u>")))
LATEX = Form(tex, ((r"\textbf{", "}"), (r"\underline{", "}")))


@dataclass(frozen=True)
class Marked:
    """A table entry that is the best (rank 1) or second (2) of its column, or neither (0)."""

    text: str
    rank: int = 0


def entry(value: Any, form: Form) -> str:
    """A table entry as text of a kind of file."""
    if isinstance(value, Marked):
        before, after = form.marks[value.rank - 1] if value.rank else ("", "")
        return f"{before}{form.escape(value.text)}{after}"
    if isinstance(value, float):
        value = f"{value:.3f}" if 0.001 <= abs(value) < 100 else f"{value:.3g}"
    return form.escape(str(value))


@dataclass(frozen=True)
class Table:
    """Rows under a header; columns named by a pair share its first part as a heading in LaTeX."""

    header: Sequence[str | tuple[str, str]] = ()
    rows: Sequence[Sequence[Any]] = ()

    @property
    def names(self) -> list[str]:
        """The columns in a word each."""
        return [name if isinstance(name, str) else " ".join(name) for name in self.header]

    def csv(self, path: Path) -> None:
        """Write it for other programs."""
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(self.names)
            for row in self.rows:
                writer.writerow([f"{value:.6g}" if isinstance(value, float) else value for value in row])

    def markdown(self) -> list[str]:
        """Its lines in Markdown."""
        lines = [[entry(value, MARKDOWN) for value in row] for row in (self.names, *self.rows)]
        lines.insert(1, ["---"] * len(self.header))
        return [f"| {' | '.join(line)} |" for line in lines]

    def html(self) -> str:
        """The element that holds it."""
        lines = ["".join(f"<th>{entry(name, HTML)}" for name in self.names)]
        lines += ["".join(f"<td>{entry(value, HTML)}" for value in row) for row in self.rows]
        return "<div class='wide'><table>" + "".join(f"\n<tr>{line}" for line in lines) + "\n</table></div>"

    def latex(self, caption: str) -> str:
        """A booktabs table; a rule stands wherever the second column changes."""
        pairs = [("", name) if isinstance(name, str) else name for name in self.header]
        heads, rules, column = [], [], 1
        for head, group in groupby(pair[0] for pair in pairs):
            n = len(list(group))
            heads.append(rf"\multicolumn{{{n}}}{{c}}{{{tex(head)}}}" if head else " & " * (n - 1))
            rules += [rf"\cmidrule(lr){{{column}-{column + n - 1}}}"] if head else []
            column += n
        text = [r"% needs \usepackage{booktabs}", r"\begin{table}\centering", rf"\caption{{{tex(caption)}}}"]
        text += [rf"\begin{{tabular}}{{ll{'r' * (len(pairs) - 2)}}}", r"\toprule"]
        text += [" & ".join(heads) + r" \\", "".join(rules)]
        text += [" & ".join(tex(name) for _, name in pairs) + r" \\"]
        for _, rows in groupby(self.rows, key=lambda row: row[1]):
            text += [
                r"\midrule",
                *(" & ".join(entry(value, LATEX) for value in row) + r" \\" for row in rows),
            ]
        return "\n".join([*text, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])
