# ruff: noqa: T201
"""`python -m tests.fuzz`: runs the targets one after the other and reports what misbehaved."""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from tests.fuzz.child import PROGRESS, Progress, run_trials

HERE = Path(__file__).parent
PREPARING = 120  # seconds until the first trial begins
PATIENCE = 15  # how much longer than its processor time a trial may take: the machine has other work, too


def main() -> int:
    targets = sorted(path.stem for path in HERE.glob("*.py") if "\ndef trial(" in path.read_text())
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, help="for all targets together (1, unless --count is given)")
    parser.add_argument("--count", type=int, help="trials of each target")
    parser.add_argument("--only", nargs="+", choices=targets, default=targets, metavar="NAME")
    parser.add_argument("--seed", type=int, help="of the first trial; 0 in CI, else a new one each time")
    parser.add_argument("--keep", type=Path, help="a folder to work in, where the last trial's files stay")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--stop", type=float, default=float("inf"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        run_trials(options.child, options.keep, options.seed, options.count, options.stop)
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # and with it the child
    if options.seed is None:
        options.seed = 0 if os.environ.get("CI") else secrets.randbelow(2**32)
    minutes = options.minutes if options.minutes or options.count else 1.0
    n_findings = 0
    print(f"seed {options.seed}; targets: {', '.join(options.only)}", flush=True)
    for target in options.only:
        stop = time.time() + minutes * 60 / len(options.only) if minutes else float("inf")
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # where files are quick
        with tempfile.TemporaryDirectory(prefix="viewpass-fuzz-", dir=memory) as made:
            folder = options.keep / target if options.keep else Path(made)
            n_trials, found = supervise(target, folder, options.seed, options.count or 2**62, stop)
        print(f"{target}: {n_trials:,} trials, {found:,} findings", flush=True)
        n_findings += found
    return int(n_findings > 0)


def supervise(target: str, folder: Path, first: int, count: int, stop: float) -> tuple[int, int]:
    """Start a child at the first trial, and another after each one that a child did not survive."""
    n_findings, seed = 0, first
    while seed < first + count and time.time() < stop:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / PROGRESS).write_bytes(Progress(seed).packed())
        command = [sys.executable, "-m", "tests.fuzz", "--child", target, "--keep", str(folder)]
        command += ["--seed", str(seed), "--count", str(first + count - seed), "--stop", str(stop)]
        child = subprocess.Popen(command, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"})
        try:
            hung = wait(child, folder / PROGRESS)
        finally:
            child.kill()
            child.wait()
        progress = Progress.unpacked((folder / PROGRESS).read_bytes())
        n_findings += progress.n_findings
        if child.returncode == 0:
            return progress.seed - first, n_findings
        if not progress.prepared:
            raise SystemExit(f"{target}: the fuzzer could not be prepared (exit code {child.returncode}).")
        ended = f"died by {signal.Signals(-child.returncode).name}" if child.returncode < 0 else "ended"
        print(repeat(target, progress.seed, "hung" if hung else f"the process {ended}"), flush=True)
        n_findings += 1
        seed = progress.seed + 1
    return seed - first, n_findings


def wait(child: subprocess.Popen[bytes], path: Path) -> bool:
    """Wait until the child has ended, or end it because its trial takes too long."""
    last, since = None, time.monotonic()
    while child.poll() is None:
        time.sleep(0.05)
        progress = Progress.unpacked(path.read_bytes())
        if progress.seed != last:
            last, since = progress.seed, time.monotonic()
        seconds = time.monotonic() - since
        if not progress.prepared:
            hung = seconds > PREPARING
        else:
            hung = seconds > progress.limit * PATIENCE
            if seconds > progress.limit:
                hung = hung or used(child.pid) - progress.used > progress.limit
        if hung and child.poll() is None and Progress.unpacked(path.read_bytes()).seed == last:
            child.send_signal(signal.SIGABRT)  # shows where it is, by faulthandler
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                child.kill()
            return True
    return False


def used(pid: int) -> float:
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)


def repeat(target: str, seed: int, what: str) -> str:
    return f"FOUND {target}: {what}\n      python -m tests.fuzz --only {target} --seed {seed} --count 1"


if __name__ == "__main__":
    sys.exit(main())
