"""Runs the missing cells: small sets first, and a few seeds of the large ones before the rest."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from threading import Lock
from typing import Any

from benchmarks.quality import job
from benchmarks.quality.cells import Cells, Key
from benchmarks.quality.methods import METHODS
from benchmarks.quality.sets import NATURAL, RATES, SETS

LARGE_ROWS = 3000
FIRST_SEEDS = 3  # of every large set, before further seeds of any


@dataclass(frozen=True)
class Wanted:
    """Which cells."""

    sets: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: int
    threads: int = 1
    rates: tuple[str, ...] = RATES

    def all(self) -> Iterator[Key]:
        """All of them, finished or not, in the order of the run."""
        sets = sorted((SETS[name] for name in self.sets), key=lambda real: real.n_rows)
        large = [real for real in sets if real.n_rows >= LARGE_ROWS]
        first, later = range(min(FIRST_SEEDS, self.seeds)), range(FIRST_SEEDS, self.seeds)
        rounds = [(real, range(self.seeds)) for real in sets if real not in large]
        rounds += [(real, seeds) for seeds in (first, later) for real in large]
        for real, seeds in rounds:
            for name in self.methods:
                if METHODS[name].refuses(real) is None:
                    for missing in real.missing:
                        if missing in (NATURAL, *self.rates):
                            yield from (Key(real.name, missing, seed, name) for seed in seeds)


def fill(cells: Cells, wanted: Wanted, n_jobs: int = 1) -> None:
    """Run the wanted cells that are missing, `n_jobs` processes at a time."""
    lock = Lock()

    def work(todo: dict[str, Any]) -> None:
        for cell in job.start({**todo, "threads": wanted.threads}):
            with lock:
                cells.add(cell)
                print(_line(cell), file=sys.stderr, flush=True)

    with ThreadPoolExecutor(n_jobs) as pool:
        list(pool.map(work, _unknown(cells, wanted)))


def _unknown(cells: Cells, wanted: Wanted) -> list[dict[str, Any]]:
    """Jobs: neighbouring cells of one set and one method."""
    keys = (key for key in wanted.all() if key not in cells.known)
    return [
        {"set": name, "method": method, "cells": [(key.missing, key.seed) for key in some]}
        for (name, method), some in groupby(keys, lambda key: (key.set, key.method))
    ]


def _line(cell: dict[str, Any]) -> str:
    said = cell.get("failed")
    if said is None:
        scores = cell["scores"][METHODS[cell["method"]].labels]
        said = f"NMI {scores['nmi']:.3f}, {cell['seconds']:.2f} s"
    return f"{cell['set']}, {cell['missing']}, {cell['method']}, seed {cell['seed']}: {said}"
