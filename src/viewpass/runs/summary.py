"""The summary and the page of a finished run, from its model and its label file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from viewpass.estimators.persistence import load
from viewpass.estimators.report_methods import places_of_model
from viewpass.labels.files.formats import which_labels
from viewpass.report.page import Page, report_page
from viewpass.report.summary.fields import Summary
from viewpass.report.summary.overview import summarise
from viewpass.report.summary.row_sample import row_sampler
from viewpass.runs.folder import RunFolder
from viewpass.runs.run_labels import RunLabels

ROWS = 2**18  # of label files, at a time


def summary(run: Any, *, rows: bool = True) -> Summary:
    """The summary of a finished run, from its model and its label file.

    Parameters
    ----------
    run : path of a run folder
    rows : bool, default=True
        Whether it may hold rows (ids, kept columns); False for data that must not leave.

    Returns
    -------
    Summary
        A dict that JSON can hold; `viewpass.report.summary.fields` documents its fields.
    """
    path = Path(run)
    labels, folder = RunLabels(path), RunFolder(path)
    which, model = which_labels(labels.schema), load(folder.model)
    sampler = row_sampler(model._learnt.sample)
    return summarise(model, labels.tables(ROWS), rows=rows, which=which, sampler=sampler)


def run_page(path: Path, found: Summary) -> Page:
    """The report of a finished run, of which this is the summary."""
    return report_page(found, places_of_model(load(RunFolder(path).model)._fitted_model()))


def write_run_page(folder: RunFolder, found: Summary) -> None:
    """Write the report of a finished run into its folder: nothing else is left there, whenever it ends."""
    page = run_page(folder.path, found)
    try:
        folder.reopen()
        page.write(folder.page, folder.growing)
    finally:
        folder.clear()
