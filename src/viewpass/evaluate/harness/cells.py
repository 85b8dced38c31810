"""Cells: a method on a set under a mask, measured once, kept on disk under a name of all they depend on."""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from viewpass.errors import DataWarning, EngineError
from viewpass.evaluate.harness.methods import Given, Method, steps
from viewpass.evaluate.harness.program import THREAD_SETTINGS
from viewpass.evaluate.harness.sets import Removed, draw, hidden, load_set, set_digest, set_title
from viewpass.evaluate.scores import nmi, scores
from viewpass.kernels.threads import available_threads

Result = dict[str, Any]
Report = Callable[[int, int, str], None]  # cells done, cells in all, the last one
FORMAT = 1  # of the files; raise it when what is measured changes
SCORES = ("acc", "nmi", "ari", "purity", "f")
TIMES = ("seconds", "processor", "label_seconds")
ENOUGH_SECONDS = 5.0  # of repeated timings


@dataclass(frozen=True)
class Cell:
    """A set, a protocol, a rate, the seed of the mask, a method, and the seed of the method."""

    set: str
    protocol: str
    rate: float
    seed: int
    method: Method
    start: int | None = None  # seed of the method; by default that of the mask
    n_passes: int = 0  # scored after each, of a method that has passes; 0: as the method is set
    n_rows: int = 0  # of the set; 0: all
    shuffle: bool = True
    n_timings: int = 1  # the fastest counts

    @property
    def name(self) -> str:
        """For people: the beginning of its file's name."""
        seed = f"{self.seed}" if self.start is None else f"{self.seed}.{self.start}"
        return _plain(f"{self.mask_name} {self.method.name} {seed}")

    @property
    def mask_name(self) -> str:
        """The name of its mask's file, without ending: the same for every method."""
        rows = f" {self.n_rows} rows" if self.n_rows else ""
        order = "" if self.shuffle else " in order"
        return _plain(f"{set_title(self.set)}{rows}{order} {self.protocol} {self.rate:g} seed {self.seed}")


def _plain(text: str) -> str:
    return "".join(c if c.isalnum() or c in "=.-" else "_" for c in text)[:150]


@dataclass
class Results:
    """A folder of measured cells and their masks; what is not there is measured."""

    out: Path
    n_jobs: int = 1
    folder: str | None = None  # of data sets
    masks: Path | None = None  # of masks to use where they are there
    report: Report = lambda done, total, name: None
    fresh: dict[str, Result] = field(default_factory=dict)
    n_done: int = 0
    began: float = field(default_factory=time.time)

    def results(self, cells: Sequence[Cell], *, alone: bool = False) -> list[Result]:
        """Results of the cells; those not on disk are measured now. `alone`: one after the other."""
        paths = {cell: self._path(cell) for cell in dict.fromkeys(cells)}
        todo = [cell for cell, path in paths.items() if self._kept(path) is None]
        local = [cell for cell in todo if alone or cell.method.made_by is not None or self.n_jobs == 1]
        far = [cell for cell in todo if cell not in local]
        done = len(paths) - len(todo)
        self.report(done, len(paths), "")
        for cell, result in chain(self._here(local), self._elsewhere(far)):
            self._keep(paths[cell], cell, result)
            done += 1
            self.report(done, len(paths), cell.name)
        return [self.fresh[paths[cell].name] for cell in cells]

    def removed(self, cell: Cell) -> Removed:
        """The mask of a cell: given, known from before, or drawn and written."""
        name = f"{cell.mask_name}.npz"
        for folder in (self.masks, self.out / "masks"):
            if folder is not None and (folder / name).exists():
                found = Removed.read(folder / name)
                break
        else:
            bundle = load_set(cell.set, self.folder)
            found = draw(bundle, cell.protocol, cell.rate, cell.seed, cell.n_rows, shuffle=cell.shuffle)
        if not (self.out / "masks" / name).exists():
            found.write(self.out / "masks" / name)
        return found

    def took(self) -> tuple[float, float]:
        """Seconds of all cells, measured in this run or earlier: wall clock, processor time."""
        costs = [result.get("took", (0.0, 0.0)) for result in self.fresh.values()]
        return sum(cost[0] for cost in costs), sum(cost[1] for cost in costs)

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
        depends = {
            **{name: value for name, value in asdict(cell).items() if name != "method"},
            "spec": cell.method.spec,
            "method": cell.method.digest,
            "data": set_digest(cell.set, self.folder),
            "mask": self.removed(cell).sha256,
            "format": FORMAT,
        }
        digest = sha256(json.dumps(depends, sort_keys=True).encode()).hexdigest()[:12]
        return self.out / "cells" / f"{cell.name}-{digest}.json"

    def _kept(self, path: Path) -> Result | None:
        if path.name not in self.fresh:
            try:
                kept: Result = json.loads(path.read_text(encoding="utf-8"))["result"]
            except (OSError, ValueError, KeyError, TypeError):
                return None
            if "failed" in kept:  # may have been mended
                return None
            self.fresh[path.name] = kept
        return self.fresh[path.name]

    def _keep(self, path: Path, cell: Cell, result: Result) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        about = {**asdict(cell), "method": cell.method.name, "spec": cell.method.spec}
        new = path.with_suffix(f".{os.getpid()}.new")
        new.write_text(json.dumps({"cell": about, "result": result}, indent=1), encoding="utf-8")
        new.replace(path)
        self.fresh[path.name] = result
        self.n_done += 1

    def _here(self, cells: Iterable[Cell]) -> Iterator[tuple[Cell, Result]]:
        for cell in cells:
            yield cell, measured(cell, self.removed(cell), self.folder, available_threads())

    def _elsewhere(self, cells: list[Cell]) -> Iterator[tuple[Cell, Result]]:
        if not cells:
            return
        n_threads = max(1, available_threads() // self.n_jobs)
        context = multiprocessing.get_context("spawn")
        with _few_threads(n_threads), ProcessPoolExecutor(self.n_jobs, context, end_with_parent) as pool:
            waiting, running = iter(cells), dict[Future[Result], Cell]()
            try:
                while True:
                    for cell in waiting:  # no more than are soon run: a mask is in memory for each
                        task = cell, self.removed(cell), self.folder, n_threads
                        running[pool.submit(measured, *task)] = cell
                        if len(running) > 2 * self.n_jobs:
                            break
                    if not running:
                        return
                    for done in wait(running, return_when=FIRST_COMPLETED).done:
                        yield running.pop(done), done.result()
            except BrokenProcessPool:
                names = ", ".join(cell.name for cell in running.values())
                raise EngineError(
                    f"a process ended while it measured one of {names}; it may have needed too much memory. "
                    "Finished cells are kept: run the same again with fewer jobs."
                ) from None
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


@contextmanager
def _few_threads(n_threads: int) -> Iterator[None]:
    """Processes started inside get that many threads for BLAS and OpenMP."""
    before = {name: os.environ.get(name) for name in THREAD_SETTINGS}
    os.environ.update(dict.fromkeys(THREAD_SETTINGS, str(n_threads)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def end_with_parent() -> None:
    """End this worker when the process that started it is killed: nobody else would."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def measured(cell: Cell, removed: Removed, folder: str | None, n_threads: int) -> Result:
    """Scores and costs after every pass (of the one fit, for methods without passes), or what failed."""
    began = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # given when the cells were planned
        bundle = load_set(cell.set, folder)
    assert bundle.labels is not None
    seen = removed.observed.any(axis=1)  # rows without any view are given to no method
    kept = Removed(removed.rows[seen], removed.observed[seen])
    views = hidden(bundle, kept)  # refuses the mask of another set
    truth, n_clusters = bundle.labels[kept.rows], len(np.unique(bundle.labels))
    seed = cell.seed if cell.start is None else cell.start
    given = Given(views, kept.observed, n_clusters, seed, n_threads, list(bundle.views))
    runs: list[Result] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            while len(runs) < cell.n_timings and sum(sum(run["seconds"]) for run in runs) < ENOUGH_SECONDS:
                runs.append(_scored(cell, given, truth))
        fastest = {name: np.min([run[name] for run in runs], axis=0).tolist() for name in TIMES}
        out: Result = {**runs[-1], **fastest, "n_timings": len(runs)}
    except Exception as problem:  # a method may refuse a set
        lines = str(problem).splitlines() or [""]
        out = {"failed": f"{type(problem).__name__}: {lines[0]}"}
    took = time.perf_counter() - began[0], time.process_time() - began[1]
    return {**out, "mask": removed.sha256, "took": took}


def _scored(cell: Cell, given: Given, truth: Any) -> Result:
    columns = (*SCORES, "presence", *TIMES, "memory")
    out: Result = {name: [] for name in columns}
    for step in steps(cell.method, given, cell.n_passes):
        found = {**scores(truth, step.labels), **asdict(step)}
        # Clusters should not follow what is missing: the largest NMI with the presence of a view.
        found["presence"] = max(nmi(there, step.labels) for there in given.observed.T)
        for name in columns:
            out[name].append(found[name])
        out |= step.figures or {}
    return out
