"""Cells: measurements identified by their settings, made once and kept on disk."""

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
FORMAT = 2  # of the files; raise it when what is measured changes


@dataclass(frozen=True)
class Cell:
    """One measurement: a function of measurements.py and its settings."""

    kind: str
    settings: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, kind: str, **settings: Any) -> Cell:
        """A cell with these settings, in any order."""
        return cls(kind, tuple(sorted(settings.items())))

    @property
    def name(self) -> str:
        """The name of its file, without suffix."""
        texts = [
            f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"
            for key, value in self.settings
        ]
        text = " ".join([self.kind, *texts])
        return "".join(c if c.isalnum() or c in "=.-_" else "_" for c in text)


@dataclass
class PaperRun:
    """What to measure, where to write it, and what has been measured already."""

    out: Path
    quick: bool = False
    parts: bool = False  # read only parts of the large sets
    sets: tuple[str, ...] = ()  # of figures 1 to 3; empty: all
    n_seeds: int = 5
    n_jobs: int = 1
    folder: str | None = None
    n_done: int = 0
    began: float = field(default_factory=time.time)
    fresh: dict[str, Result] = field(default_factory=dict)

    @property
    def in_parts(self) -> bool:
        """Whether only parts of the large sets are read."""
        return self.quick or self.parts

    def takes(self, data: str) -> bool:
        """Whether figures 1 to 3 use this set."""
        return not self.sets or data in self.sets

    @property
    def seeds(self) -> range:
        """The seeds of the repetitions."""
        return range(self.n_seeds)

    def results(self, cells: Sequence[Cell], *, alone: bool = False) -> list[Result]:
        """Results of the cells; those not on disk are measured now. `alone`: one after the other."""
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
        """Seconds of all cells, measured in this run or earlier: wall clock, processor time."""
        costs = [result.get("took", {}) for result in self.fresh.values()]
        clock, processor = (sum(c.get(name, 0.0) for c in costs) for name in ("seconds", "processor"))
        return clock, processor

    def runs(self, seconds: float) -> list[dict[str, float]]:
        """All runs that measured cells in this folder; this one is added to the list."""
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
    """Measure a cell; `took` has its seconds of wall clock and of processor time."""
    from viewpass.paper import measurements

    watch = measurements.Stopwatch()
    result = measurements.KINDS[cell.kind](**dict(cell.settings), folder=folder, n_threads=n_threads)
    return {**result, "took": dict(zip(("seconds", "processor"), watch.read(), strict=True))}
