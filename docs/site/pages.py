"""Prepares the Markdown pages of the repository for Sphinx: where they go, their links, the navigation.

The pages are written for reading in the repository, so they hold no directives of Sphinx. `docs/index.md` is
the one place that says which pages there are: each of its sections with a table of pages is one of the site.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
# Pages of the repository that have another place, or another name, on the site.
PLACES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "LICENSE": "LICENSE.txt",
    "docs/paper/README.md": "paper/index.md",
}
LEFT_OUT = ("site/", "paper/index.html")  # of docs/
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(#[^)\s]*)?\)")
ROW = re.compile(r"^\| \[([^\]]+)\]\(([^)#\s]+)\) \|", re.MULTILINE)


@dataclass(frozen=True)
class Section:
    """A section of the site: title, text in the index, and pages, as (title, file on the site)."""

    title: str
    text: str
    pages: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """The section's own page, without ending; a section of one page is that page."""
        own = self.title.lower().replace(" ", "-")
        return own if len(self.pages) > 1 else self.pages[0][1].removesuffix(".md")


def place(path: str) -> str:
    """Where a file of the repository goes on the site.

    >>> place("docs/method.md"), place("CHANGELOG.md"), place("docs/paper/README.md")
    ('method.md', 'changes.md', 'paper/index.md')
    """
    return PLACES.get(path, path.removeprefix("docs/"))


def relinked(text: str, path: str) -> str:
    """Rewrite the links of a page, given where it is in the repository, to the files of the site.

    >>> relinked("[a](../CHANGELOG.md#x), [b](docs/method.md)", "docs/index.md")
    '[a](changes.md#x), [b](docs/method.md)'
    """
    folder = PurePosixPath(place(path)).parent

    def renamed(link: re.Match[str]) -> str:
        if not link[1]:
            return link[0]
        target = os.path.normpath(PurePosixPath(path).parent / link[1])
        return f"]({os.path.relpath(place(target), folder)}{link[2] or ''})"

    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [LINK.sub(renamed, text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, LINK.sub(renamed, text[end:])])


def sections(index: str) -> list[Section]:
    """The sections of the index that list pages."""
    found = []
    for part in re.split(r"^## ", index, flags=re.MULTILINE)[1:]:
        title, text = part.split("\n", 1)
        rows = [(name, place(os.path.normpath(f"docs/{target}"))) for name, target in ROW.findall(text)]
        if rows:
            found.append(Section(title, text.strip(), tuple(rows)))
    return found


def contents(entries: list[str], depth: int = 1) -> str:
    """A table of contents that is not shown on its page, but in the navigation."""
    listed = "\n".join(entries)
    return f"\n\n```{{toctree}}\n:hidden:\n:maxdepth: {depth}\n\n{listed}\n```\n"


def stage(folder: Path) -> None:
    """Copy all pages into a folder, with the links and tables of contents of the site."""
    found = sections((ROOT / "docs" / "index.md").read_text())
    for path in [*ROOT.glob("docs/**/*"), *(ROOT / name for name in PLACES if name != "README.md")]:
        name = path.relative_to(ROOT).as_posix()
        if path.is_dir() or name.removeprefix("docs/").startswith(LEFT_OUT) or "__pycache__" in name:
            continue
        target = folder / place(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            target.write_text(relinked(path.read_text(), name))
        else:
            shutil.copyfile(path, target)
    for section in found:
        if len(section.pages) > 1:
            pages = [f"{title} <{page.removesuffix('.md')}>" for title, page in section.pages]
            text = f"# {section.title}\n\n{relinked(section.text, 'docs/index.md')}{contents(pages, 2)}"
            (folder / f"{section.name}.md").write_text(text)
    paper = folder / place("docs/paper/README.md")
    parts = sorted(path.stem for path in paper.parent.glob("*.md") if path != paper)
    paper.write_text(paper.read_text() + contents(parts))
    front = folder / "index.md"
    front.write_text(front.read_text() + contents([section.name for section in found], 2))
