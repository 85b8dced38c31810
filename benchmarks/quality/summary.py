"""Summarises cells: mean, standard deviation and least over the seeds, per method and set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from benchmarks.quality.cells import Cell
from benchmarks.quality.methods import METHODS
from benchmarks.quality.sets import SETS


@dataclass(frozen=True)
class Figure:
    """Over seeds; the spread is their standard deviation."""

    mean: float
    spread: float
    least: float
    seeds: int


@dataclass(frozen=True)
class Result:
    """A method on a set at a missing rate."""

    set: str
    missing: str
    method: str
    figures: dict[str, Figure]
    failed: str | None = None


Results = dict[tuple[str, str, str], Result]


def results(cells: Iterable[Cell], seeds: int) -> Results:
    """By set, missing and method, of the first `seeds` seeds."""
    together: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        if cell["seed"] < seeds and cell["set"] in SETS and cell["method"] in METHODS:
            together.setdefault((cell["set"], cell["missing"], cell["method"]), []).append(cell)
    return {key: _result(key, some) for key, some in together.items()}


def mean_nmi(found: Results, method: str, names: Iterable[str]) -> tuple[float, int] | None:
    """Mean NMI of a method over sets at their first missing rate, and how many sets; None without any."""
    results = (found.get((name, SETS[name].missing[0], method)) for name in names)
    means = [each.figures["nmi"].mean for each in results if each and each.figures]
    return (float(np.mean(means)), len(means)) if means else None


def _result(key: tuple[str, str, str], cells: list[Cell]) -> Result:
    done = [cell for cell in cells if "failed" not in cell]
    if not done:
        return Result(*key, {}, failed=cells[0]["failed"])
    counts = METHODS[key[2]].labels
    columns = {name: [cell["scores"][counts][name] for cell in done] for name in ("nmi", "acc", "ari")}
    columns |= {name: [cell[name] for cell in done] for name in ("processor_seconds", "bytes_above")}
    return Result(*key, {name: _figure(values) for name, values in columns.items()})


def _figure(values: list[float]) -> Figure:
    return Figure(float(np.mean(values)), float(np.std(values)), min(values), len(values))
