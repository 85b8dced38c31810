"""Summarises cells: mean and standard deviation over the seeds, per method and set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.quality.cells import Cell
from benchmarks.quality.methods import METHODS, QUARTER, same_as_whole
from benchmarks.quality.sets import SETS

OTHER = {"labels_": "stream_labels_", "stream_labels_": "labels_"}


@dataclass(frozen=True)
class Figure:
    """Over seeds; the spread is their standard deviation."""

    mean: float
    spread: float
    seeds: int


@dataclass(frozen=True)
class Result:
    """A method on a set at a missing rate."""

    set: str
    missing: str
    method: str
    figures: dict[str, Figure]
    other_nmi: Figure | None = None  # of the labels that do not count
    failed: str | None = None


Results = dict[tuple[str, str, str], Result]


def results(cells: Iterable[Cell], seeds: int) -> Results:
    """By set, missing and method, of the first `seeds` seeds."""
    together: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        if cell["seed"] < seeds and cell["set"] in SETS and cell["method"] in METHODS:
            together.setdefault((cell["set"], cell["missing"], cell["method"]), []).append(cell)
    found = {key: _result(key, some) for key, some in together.items()}
    for (name, missing, method), result in list(found.items()):
        key = (name, missing, method + QUARTER)
        if key[-1] in METHODS and key not in found and same_as_whole(SETS[name].n_rows, 0):
            found[key] = replace(result, method=key[-1])
    return found


def _result(key: tuple[str, str, str], cells: list[Cell]) -> Result:
    done = [cell for cell in cells if "failed" not in cell]
    if not done:
        return Result(*key, {}, failed=cells[0]["failed"])
    counts = METHODS[key[2]].labels
    columns = {name: [cell["scores"][counts][name] for cell in done] for name in ("nmi", "acc", "ari")}
    columns |= {name: [cell[name] for cell in done] for name in ("processor_seconds", "bytes_above")}
    other = [cell["scores"][OTHER[counts]]["nmi"] for cell in done if OTHER[counts] in cell["scores"]]
    figures = {name: _figure(values) for name, values in columns.items()}
    return Result(*key, figures, _figure(other) if other else None)


def _figure(values: list[float]) -> Figure:
    return Figure(float(np.mean(values)), float(np.std(values)), len(values))
