"""Builds the site: `python -m docs.site --out out/site` (or `make docs`)."""

from __future__ import annotations

import argparse
import filecmp
import shutil
import sys
from pathlib import Path

from docs.site import api, check, live, pages
from sphinx.cmd.build import build_main


def main() -> int:
    """Prepare the pages, run Sphinx with every warning an error, and check what it wrote."""
    parser = argparse.ArgumentParser(prog="python -m docs.site", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/site"), help="folder of the site")
    parser.add_argument("--work", type=Path, default=Path("build/site"), help="folder of what is in between")
    parser.add_argument("--no-report", action="store_true", help="leave out the live report of the Tate run")
    given = parser.parse_args()
    fresh, source = given.work / "fresh", given.work / "source"
    shutil.rmtree(fresh, ignore_errors=True)
    pages.stage(fresh)
    api.write(fresh)
    report = live.write(fresh, given.work, None if given.no_report else live.works())
    if update(source, fresh):  # no page stays that has no source any more
        shutil.rmtree(given.out, ignore_errors=True)
        shutil.rmtree(given.work / "doctrees", ignore_errors=True)
    settings = ["-c", str(Path(__file__).parent), "-d", str(given.work / "doctrees")]
    failed = build_main(["-b", "html", "-W", "--keep-going", "-q", *settings, str(source), str(given.out)])
    if report is not None:
        shutil.copyfile(report, given.out / live.PAGE)
    problems = ["Sphinx found faults, see above."] if failed else check.problems(given.out)
    print(
        "\n".join(problems)
        or f"{len(list(given.out.rglob('*.html')))} pages, to be read from {given.out / 'index.html'}"
    )
    return 1 if problems else 0


def update(old: Path, new: Path) -> bool:
    """Make one folder equal to another; equal files keep their time, so Sphinx does not read them again.

    Gives whether a file is gone.
    """
    gone = [path for path in old.rglob("*") if path.is_file() and not (new / path.relative_to(old)).is_file()]
    for path in gone:
        path.unlink()
    for path in new.rglob("*"):
        target = old / path.relative_to(new)
        if path.is_file() and not (target.is_file() and filecmp.cmp(path, target, shallow=False)):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    return bool(gone)


if __name__ == "__main__":
    sys.exit(main())
