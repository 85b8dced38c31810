# ruff: noqa: T201
"""The process that runs the trials of one target; what it is at stands in a small file, should it die."""

from __future__ import annotations

import faulthandler
import gc
import importlib
import mmap
import os
import resource
import shutil
import struct
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

PROGRESS = ".progress"
LAYOUT = struct.Struct("<q?qdd")  # of a Progress
SECONDS = 2.0
MEMORY = 100 * 2**20
ADDRESSES = 4 * 2**30  # beyond it, memory is refused
MOST_ALIKE = 3  # findings of one kind that are printed


class Progress(NamedTuple):
    """What the parent needs to know of a child."""

    seed: int  # of the trial that runs
    prepared: bool = False
    n_findings: int = 0
    used: float = 0.0  # processor time when the trial began
    limit: float = SECONDS

    def packed(self) -> bytes:
        return LAYOUT.pack(*self)

    @classmethod
    def unpacked(cls, content: bytes) -> Progress:
        return cls(*LAYOUT.unpack(content))


def run_trials(target: str, folder: Path, seed: int, count: int, stop: float) -> None:
    """Run trials until `count` are done or the clock shows `stop`."""
    faulthandler.enable()
    sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest has it
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    os.fsync = lambda file: None  # a trial shows nothing by waiting for the disk
    module: Any = importlib.import_module(f"tests.fuzz.{target}")
    seconds, memory = getattr(module, "SECONDS", SECONDS), getattr(module, "MEMORY", MEMORY)
    if hasattr(module, "prepare"):
        module.prepare(folder)
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    stays = set(os.listdir(folder))
    alike: Counter[str] = Counter()
    with (folder / PROGRESS).open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as progress:
        for number in range(seed, seed + count):
            if time.time() > stop:
                break
            for _ in range(2):
                for name in {*os.listdir(folder)} - stays:
                    remove(folder / name)
                begun = time.process_time()
                progress[:] = Progress(number, True, alike.total(), begun, seconds).packed()
                what, grown = one_trial(module, number, folder)
                if grown <= memory:
                    break
                gc.collect()  # and once more: what is imported by a first trial does not count
            if what is None and grown > memory:
                what = f"took {grown / 2**20:,.0f} MB"
            if what is None and time.process_time() - begun > seconds:
                what = f"took {time.process_time() - begun:.1f} s"
            if what is not None:
                kind = what.split("\n")[0]
                alike[kind] += 1
                if alike[kind] <= MOST_ALIKE:
                    print(f"FOUND {target}: {what}")
                    print(f"      python -m tests.fuzz --only {target} --seed {number} --count 1", flush=True)
            progress[:] = Progress(number + 1, True, alike.total(), time.process_time(), seconds).packed()
    for kind, times in alike.items():
        if times > MOST_ALIKE:
            print(f"      {times:,} times: {kind}", flush=True)


def one_trial(module: Any, seed: int, folder: Path) -> tuple[str | None, int]:
    """Run one trial; describe what was wrong, if anything, and how much memory it took."""
    before = start_measuring()
    try:
        module.trial(np.random.default_rng(seed), folder)
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        if isinstance(problem, AssertionError) and str(problem):
            return str(problem), 0
        where = traceback.extract_tb(problem.__traceback__)[-1]
        said = f"{type(problem).__name__}: {problem}".split("\n")[0]
        return f"{said} ({Path(where.filename).name}:{where.lineno})\n{traceback.format_exc()}", 0
    return None, peak() - before


def start_measuring() -> int:
    """Forget the highest memory so far, where the system can, and return the memory in use."""
    if sys.platform == "linux":
        Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak() -> int:
    """The most memory this process has held since then, in bytes."""
    if sys.platform == "linux":
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def remove(path: Path) -> None:
    """Remove a file or a folder."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
