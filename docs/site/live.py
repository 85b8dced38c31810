"""The report of a real run as a page of the site, where the data is at hand."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from docs.site.pages import ROOT

GUIDE = "guide-tate.md"  # the page that leads to it
PAGE = "tate-report.html"
FIT = "-k 30 --id acno --keep title,artist,year --name-by subjects"


def works() -> Path | None:
    """The table of the Tate collection, where the tests look for data too."""
    folder = Path(os.environ.get("VIEWPASS_DATA", ROOT.parent / "shared" / "data"))
    return folder / "tate.parquet" if (folder / "tate.parquet").exists() else None


def write(pages: Path, work: Path, table: Path | None) -> Path | None:
    """Make the report of a run on the table; the guide's page says where it is, or that it was left out."""
    guide, report = pages / GUIDE, None
    note = "The live report is not in this copy of the site: the table was not at hand when it was built."
    if table is not None:
        run = work / "tate"
        if not (run / "report.html").exists():
            shutil.rmtree(run, ignore_errors=True)
            command = [Path(sys.executable).with_name("viewpass"), "fit", table, *FIT.split(), "--out", run]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        report = run / "report.html"
        note = f'<a href="{PAGE}">Open the report of this run</a>, as `viewpass fit` wrote it.'
    guide.write_text(guide.read_text().replace("\n## What to trust", f"\n{note}\n\n## What to trust"))
    return report
