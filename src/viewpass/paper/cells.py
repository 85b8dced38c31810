"""Measurements as cells: each is a name and a few settings, done once and kept on disk."""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viewpass.kernels.threads import available_threads

logger = logging.getLogger("viewpass")

Result = dict[str, Any]
FORMAT = 1  # of what is kept; raise it when what is measured changes


@dataclass(frozen=True)
class Cell:
    """One measurement: what is done (a function of `work`) and with which settings."""

    kind: str
    settings: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, kind: str, **settings: Any) -> Cell:
        """A cell with these settings, whatever their order."""
        return cls(kind, tuple(sorted(settings.items())))

    @property
    def name(self) -> str:
        """What its file is called."""
        told = [
            f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"
            for key, value in self.settings
        ]
        text = " ".join([self.kind, *told])
        return "".join(c if c.isalnum() or c in "=.-_" else "_" for c in text)


@dataclass
class Plan:
    """How much is measured, where it goes, and what is there already."""

    out: Path
    quick: bool = False
    parts: bool = False  # of the large sets, not all of their rows
    sets: tuple[str, ...] = ()  # of figures 1 to 3; none named: all
    n_seeds: int = 5
    n_jobs: int = 1
    folder: str | None = None
    n_done: int = 0
    began: float = field(default_factory=time.time)
    fresh: dict[str, Result] = field(default_factory=dict)

    @property
    def in_parts(self) -> bool:
        """Whether only a part of the rows of large sets is read."""
        return self.quick or self.parts

    def takes(self, data: str) -> bool:
        """Whether figures 1 to 3 have this set."""
        return not self.sets or data in self.sets

    @property
    def seeds(self) -> range:
        """The seeds of the repetitions."""
        return range(self.n_seeds)

    def results(self, cells: Sequence[Cell], *, alone: bool = False) -> list[Result]:
        """What the cells measured; those not on disk are done now. `alone`: one after the other."""
        todo = [cell for cell in dict.fromkeys(cells) if self._kept(cell) is None]
        if todo:
            n_jobs = 1 if alone else min(self.n_jobs, len(todo))
            self._measure(todo, n_jobs)
        return [self._kept(cell) or {} for cell in cells]

    def _measure(self, todo: list[Cell], n_jobs: int) -> None:
        began = time.perf_counter()
        if n_jobs == 1:
            for cell in todo:
                self._keep(cell, do(cell, self.folder, available_threads()))
        else:
            n_threads = max(1, available_threads() // n_jobs)
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(n_jobs, mp_context=context) as pool:
                running = {pool.submit(do, cell, self.folder, n_threads): cell for cell in todo}
                for done in as_completed(running):
                    self._keep(running[done], done.result())
        logger.info("%d cells (%s ...) in %.0f s", len(todo), todo[0].name, time.perf_counter() - began)

    def took(self) -> tuple[float, float]:
        """Seconds of all cells asked for, in this run or an earlier one: by the clock, of processors."""
        costs = [result.get("took", {}) for result in self.fresh.values()]
        return sum(cost.get("seconds", 0.0) for cost in costs), sum(
            cost.get("processor", 0.0) for cost in costs
        )

    def runs(self, seconds: float) -> list[dict[str, float]]:
        """The runs that have measured cells in this folder, with this one, which is noted there."""
        path = self.out / "runs.json"
        try:
            known = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            known = []
        runs = [run for run in known if run["began"] != self.began]
        if self.n_done:
            here = {"began": self.began, "seconds": seconds, "processes": self.n_jobs, "cells": self.n_done}
            runs.append(here)
            path.write_text(json.dumps(runs, indent=1), encoding="utf-8")
        return runs

    def _path(self, cell: Cell) -> Path:
        return self.out / "cells" / f"{cell.name}.json"

    def _kept(self, cell: Cell) -> Result | None:
        if cell.name in self.fresh:
            return self.fresh[cell.name]
        try:
            kept = json.loads(self._path(cell).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if kept.get("format") != FORMAT:
            return None
        result: Result = kept["result"]
        self.fresh[cell.name] = result
        return result

    def _keep(self, cell: Cell, result: Result) -> None:
        path = self._path(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = {"format": FORMAT, "kind": cell.kind, "settings": dict(cell.settings), "result": result}
        new = path.with_suffix(f".{os.getpid()}.new")
        new.write_text(json.dumps(kept, indent=1, sort_keys=True), encoding="utf-8")
        new.replace(path)
        self.fresh[cell.name] = result
        self.n_done += 1


def do(cell: Cell, folder: str | None, n_threads: int) -> Result:
    """Measure a cell, in whatever process this is; `took` has its seconds, and those of the processors."""
    from viewpass.paper import work

    measure = work.KINDS[cell.kind]
    began, worked = time.perf_counter(), time.process_time()
    result = measure(**dict(cell.settings), folder=folder, n_threads=n_threads)
    took = {"seconds": time.perf_counter() - began, "processor": time.process_time() - worked}
    return {**result, "took": took}
