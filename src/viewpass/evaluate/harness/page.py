"""Results as one page, in HTML and Markdown: claims and whether they hold, then figures and tables."""

from __future__ import annotations

import html
import platform
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from viewpass.errors import MissingExtraError
from viewpass.evaluate.harness.draw import Figure, draw
from viewpass.evaluate.harness.table import Marked, Table
from viewpass.kernels.threads import available_threads

CONFIRMED, NOT, CANNOT = "confirmed", "not confirmed", "cannot be checked here"
ENOUGH_SEEDS = 5
MASKS = "What the masks really are (of the first seed):"


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, whether it holds here, and the numbers."""

    statement: str
    verdict: str
    found: str
    doubt: str = ""  # why another run may give another verdict

    @classmethod
    def judged(cls, statement: str, holds: bool, found: str) -> Claim:
        """Confirmed if it holds."""
        return cls(statement, CONFIRMED if holds else NOT, found)

    @property
    def answer(self) -> str:
        """The verdict, with what makes it doubtful."""
        return f"{self.verdict} ({self.doubt})" if self.doubt else self.verdict


@dataclass
class Section:
    """One table or figure of the page; `data` is written as KEY.csv beside it."""

    key: str
    title: str
    text: str
    table: Table = field(default_factory=Table)
    figure: Figure | None = None
    claims: list[Claim] = field(default_factory=list)
    data: Table | None = None
    over_seeds: bool = True  # whether its verdicts rest on means over seeds
    masks: Table = field(default_factory=Table)  # what the masks of its cells really are

    def write(self, out: Path) -> None:
        """Write KEY.csv and the figure; without matplotlib the text says that it is left out."""
        if self.data is not None:
            self.data.csv(out / f"{self.key}.csv")
        if self.figure is not None:
            try:
                draw(self.figure, out, self.key)
            except MissingExtraError as absent:
                self.figure, self.text = None, f"{self.text} The figure is left out: {absent}"

    def doubt_few_seeds(self, n_seeds: int) -> None:
        """Say beside every verdict how few seeds it rests on."""
        if self.over_seeds and n_seeds < ENOUGH_SEEDS:
            doubt = f"only {n_seeds} seed{'s' if n_seeds > 1 else ''}"
            self.claims = [
                claim if claim.verdict == CANNOT else replace(claim, doubt=doubt) for claim in self.claims
            ]

    def markdown(self) -> list[str]:
        """Its claims, figure and table in Markdown."""
        lines = ["", *claims_table([self]).markdown()] if self.claims else []
        lines += ["", f"![{self.figure.alt}]({self.key}.svg)"] if self.figure else []
        lines += ["", *self.table.markdown()] if self.table.rows else []
        return lines + (["", MASKS, "", *self.masks.markdown()] if self.masks.rows else [])


def claims_table(sections: Sequence[Section]) -> Table:
    """All claims, their verdicts and figures."""
    claims = [claim for section in sections for claim in section.claims]
    rows = [[claim.statement, Marked(claim.answer, 1), claim.found] for claim in claims]
    return Table(["the paper says", "here", "figures"], rows)


def write(out: Path, sections: Sequence[Section], preface: str, title: str, *, apart: bool = False) -> None:
    """Write index.html and README.md; `apart`: README.md with the verdicts, and a file per section."""
    texts = _markdown_apart(sections) if apart else {"README.md": list(_markdown(sections))}
    texts["README.md"] = [f"# {title}", "", preface, "", *texts["README.md"]]
    for name, lines in texts.items():
        (out / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    (out / "index.html").write_text(hypertext(sections, preface, title, out), encoding="utf-8")


def _markdown(sections: Sequence[Section]) -> Iterator[str]:
    for section in sections:
        yield from (f"## {section.title}", "", section.text, *section.markdown(), "")


def _markdown_apart(sections: Sequence[Section]) -> dict[str, list[str]]:
    """How many claims hold, and a file for each table or figure."""
    verdicts = (CONFIRMED, NOT, CANNOT)
    counts: list[list[Any]] = []
    files = dict[str, list[str]]()
    for section in sections:
        found = [claim.verdict for claim in section.claims]
        counts.append([f"[{section.title}]({section.key}.md)", *(found.count(one) for one in verdicts)])
        files[f"{section.key}.md"] = [f"# {section.title}", "", section.text, *section.markdown()]
    few = f"A verdict that rests on fewer than {ENOUGH_SEEDS} seeds is not conclusive."
    return files | {"README.md": [*Table(["claims of", *verdicts], counts).markdown(), "", few]}


STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 1100px; margin: 2rem auto;
padding: 0 1rem }
h1 { font-size: 1.7rem } h2 { font-size: 1.25rem; margin-top: 2.2rem }
table { border-collapse: collapse; font-size: .92rem } td, th { padding: .3rem .7rem; text-align: left;
border-bottom: 1px solid #ddd; vertical-align: top } img { max-width: 100% } .wide { overflow-x: auto }
"""


def hypertext(sections: Sequence[Section], preface: str, title: str, out: Path) -> str:
    """The page as HTML, with the figures of the folder `out` in it."""
    esc = html.escape
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width'>",
        f"<title>{esc(title)}</title><style>{STYLE}</style>",
        f"<h1>{esc(title)}</h1><p>{esc(preface)}</p>",
    ]
    if any(section.claims for section in sections):
        parts += ["<h2>Claims</h2>", claims_table(sections).html()]
    for section in sections:
        parts.append(f"<h2 id='{section.key}'>{esc(section.title)}</h2><p>{esc(section.text)}</p>")
        if section.figure:  # as a data address: SVG in the page itself would mix up the names of its parts
            picture = b64encode((out / f"{section.key}.svg").read_bytes()).decode()
            alt = esc(section.figure.alt, quote=True)
            parts.append(f"<img src='data:image/svg+xml;base64,{picture}' alt='{alt}'>")
        parts.append(section.table.html() if section.table.rows else "")
        parts.append(f"<p>{MASKS}</p>{section.masks.html()}" if section.masks.rows else "")
    return "\n".join(parts) + "\n</html>\n"


def machine() -> str:
    """The processor and the versions that something was measured with."""
    names = ("viewpass", "numpy", "scipy", "scikit-learn")
    libraries = ", ".join(f"{name} {_version(name)}" for name in names)
    return (
        f"{_processor()}, {available_threads()} processors, Python {platform.python_version()}, {libraries}."
    )


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "?"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
