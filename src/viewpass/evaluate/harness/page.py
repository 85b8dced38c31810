"""Results as one page, in HTML and Markdown: claims and whether they hold, then figures and tables."""

from __future__ import annotations

import html
import platform
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from viewpass.kernels.threads import available_threads

CONFIRMED, NOT, CANNOT = "confirmed", "not confirmed", "cannot be checked here"
ENOUGH_SEEDS = 5  # of a full run


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
    """One table or figure."""

    key: str
    title: str
    text: str
    header: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    figure: str | None = None
    alt: str = ""
    claims: list[Claim] = field(default_factory=list)
    over_seeds: bool = True  # whether its verdicts rest on means over seeds

    def doubt_few_seeds(self, n_seeds: int) -> None:
        """Say beside every verdict that so few seeds are not conclusive."""
        if not self.over_seeds or n_seeds >= ENOUGH_SEEDS:
            return
        doubt = f"not conclusive: only {n_seeds} seed{'s' if n_seeds > 1 else ''}"
        self.claims = [
            claim if claim.verdict == CANNOT else replace(claim, doubt=doubt) for claim in self.claims
        ]


@dataclass(frozen=True)
class Marked:
    """A table entry that is the best or second of its column."""

    text: str
    rank: int = 0  # 1: best, 2: second, 0: neither

    def between(self, best: tuple[str, str], second: tuple[str, str]) -> str:
        """The text between the marks of its rank."""
        before, after = ("", "") if not self.rank else best if self.rank == 1 else second
        return f"{before}{self.text}{after}"


def text_of(value: Any) -> str:
    """A table entry as text."""
    if isinstance(value, Marked):
        return value.between(("**", "**"), ("<u>", "</u>"))
    if isinstance(value, float):
        return f"{value:.3f}" if 0.001 <= abs(value) < 100 else f"{value:.3g}"
    return str(value)


def html_of(value: Any) -> str:
    """A table entry as HTML."""
    if isinstance(value, Marked):
        return replace(value, text=html.escape(value.text)).between(("<b>", "</b>"), ("<u>", "</u>"))
    return html.escape(text_of(value))


def markdown(sections: Sequence[Section], preface: str, title: str, *, parts: bool = True) -> str:
    """The page as Markdown; without `parts` its only section has no title and text of its own."""
    lines = [f"# {title}", "", preface]
    if any(section.claims for section in sections):
        lines += ["", *["## Claims", ""] * parts, "| the paper says | here | figures |", "|---|---|---|"]
    for section in sections:
        for claim in section.claims:
            lines.append(f"| {_cell(claim.statement)} | **{claim.answer}** | {_cell(claim.found)} |")
    for section in sections:
        lines += ["", f"## {section.title}", "", section.text] if parts else []
        if section.figure:
            lines += ["", f"![{section.alt}]({section.figure}.svg)"]
        if section.rows:
            lines += ["", _row(section.header), "|" + "---|" * len(section.header)]
            lines += [_row([text_of(value) for value in row]) for row in section.rows]
    return "\n".join(lines) + "\n"


def markdown_parts(sections: Sequence[Section], preface: str, title: str) -> dict[str, str]:
    """The page as Markdown files by name: README.md with all verdicts, and a file per table or figure."""
    lines = [f"# {title}", "", preface, "", "| the paper says | here |", "|---|---|"]
    files = {}
    for section in sections:
        link = f"[{section.title}]({section.key}.md)"
        lines.append(f"| **{link}** | |")
        lines += [f"| {_cell(claim.statement)} | {claim.answer} |" for claim in section.claims]
        files[f"{section.key}.md"] = markdown([section], section.text, section.title, parts=False)
    return {"README.md": "\n".join(lines) + "\n", **files}


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _row(values: Sequence[str]) -> str:
    return "| " + " | ".join(map(_cell, values)) + " |"


STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 1100px; margin: 2rem auto;
padding: 0 1rem }
h1 { font-size: 1.7rem } h2 { font-size: 1.25rem; margin-top: 2.2rem }
table { border-collapse: collapse; font-size: .92rem } td, th { padding: .3rem .7rem; text-align: left;
border-bottom: 1px solid #ddd; vertical-align: top } img { max-width: 100% }
.confirmed { color: #00695c; font-weight: 600 } .not { color: #b71c1c; font-weight: 600 }
.cannot { color: #666; font-weight: 600 } .wide { overflow-x: auto }
"""


def hypertext(sections: Sequence[Section], preface: str, title: str, out: Path | None = None) -> str:
    """The page as HTML; figures of the folder `out` are part of it."""
    esc = html.escape
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width'>",
        f"<title>{esc(title)}</title><style>{STYLE}</style>",
        f"<h1>{esc(title)}</h1><p>{esc(preface)}</p>",
    ]
    claims = [claim for section in sections for claim in section.claims]
    if claims:
        parts.append("<h2>Claims</h2><div class='wide'><table>")
        parts.append("<tr><th>the paper says<th>here<th>figures")
    for claim in claims:
        kind = claim.verdict.split()[0]
        parts.append(
            f"<tr><td>{esc(claim.statement)}<td class='{kind}'>{esc(claim.answer)}<td>{esc(claim.found)}"
        )
    parts.append("</table></div>" if claims else "")
    for section in sections:
        parts.append(f"<h2 id='{section.key}'>{esc(section.title)}</h2><p>{esc(section.text)}</p>")
        if section.figure:
            parts.append(_picture(section, out))
        if section.rows:
            parts.append("<div class='wide'><table><tr>" + "".join(f"<th>{esc(h)}" for h in section.header))
            for row in section.rows:
                parts.append("<tr>" + "".join(f"<td>{html_of(value)}" for value in row))
            parts.append("</table></div>")
    return "\n".join(parts) + "\n</html>\n"


def _picture(section: Section, out: Path | None) -> str:
    """The figure as a data address: SVG in the page itself would mix up the names of its parts."""
    source = f"{section.figure}.svg"
    if out is not None:
        source = "data:image/svg+xml;base64," + b64encode((out / source).read_bytes()).decode()
    return f"<img src='{source}' alt='{html.escape(section.alt, quote=True)}'>"


def write(out: Path, sections: Sequence[Section], preface: str, title: str, *, apart: bool = False) -> None:
    """Write index.html and README.md; `apart`: Markdown with a file per section."""
    whole = {"README.md": markdown(sections, preface, title)}
    files = markdown_parts(sections, preface, title) if apart else whole
    files["index.html"] = hypertext(sections, preface, title, out)
    for name, text in files.items():
        (out / name).write_text(text, encoding="utf-8")


def machine() -> str:
    """The processor and the versions that something was measured with."""
    libraries = ", ".join(
        f"{name} {_version(name)}" for name in ("viewpass", "numpy", "scipy", "scikit-learn")
    )
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
