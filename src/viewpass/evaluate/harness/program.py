"""Any program as a method: views in by a MATLAB or npz file, labels out by a file of any usual kind."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from viewpass.errors import DataError, SettingError
from viewpass.kernels.grid import Array
from viewpass.sources.bundle import Bundle
from viewpass.sources.mat import write_mat

if TYPE_CHECKING:
    from viewpass.evaluate.harness.methods import Given

THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
SHOWN = 300  # characters of what a failing program said
ENDINGS = (".npy", ".npz", ".mat", ".txt")  # that libraries append to a name without one


def run_program(command: str, given: Given) -> tuple[Array, float, float, float, int]:
    """Labels of `program {in} {out}`; seconds, processor seconds, 0, and the most bytes it held.

    `{in}` (or `{in.mat}`) is a MATLAB file: `X`, a cell of views (rows x columns, NaN where a row
    lacks the view; sparse ones have empty rows), `observed`, `n_clusters` and `seed`. `{in.npz}` is an
    npz bundle with the same. `{out}` is where the program writes one label per row: as text, or as
    npy, npz or MATLAB file with `labels`. `{k}` and `{seed}` are numbers. Classes are never given.
    """
    if "{out}" not in command or "{in" not in command:
        raise SettingError(f"cmd:{command} needs {{in}} (or {{in.npz}}) and {{out}}, which stand for files.")
    with tempfile.TemporaryDirectory(prefix="viewpass-") as folder:
        out = Path(folder) / "labels"
        places = {"{out}": str(out), "{k}": str(given.n_clusters), "{seed}": str(given.seed)}
        for mark, ending in (("{in.npz}", "npz"), ("{in.mat}", "mat"), ("{in}", "mat")):
            if mark in command:
                places[mark] = _written(Path(folder) / f"in.{ending}", given)
        words = shlex.split(command)
        for mark, text in places.items():
            words = [word.replace(mark, text) for word in words]
        environment = {**os.environ, **dict.fromkeys(THREAD_SETTINGS, str(given.n_threads))}
        began, output = time.perf_counter(), Path(folder) / "output"
        try:
            code, processor, held = _ended(words, environment, output)
        except OSError as problem:
            raise SettingError(f"cmd:{command} cannot be started: {problem}.") from problem
        seconds = time.perf_counter() - began
        written = [path for path in (out, *(out.with_suffix(end) for end in ENDINGS)) if path.exists()]
        if code or not written:
            said = output.read_text(errors="replace").strip()[-SHOWN:]
            raise DataError(f"{words[0]} ended with {code} and wrote no labels: {said}")
        return read_labels(written[0], len(given.observed)), seconds, processor, 0.0, held


def _ended(words: list[str], environment: dict[str, str], output: Path) -> tuple[int, float, int]:
    """Run a program: its exit code, processor seconds, and the most bytes it held (0 on Windows)."""
    with (
        output.open("wb") as file,
        subprocess.Popen(words, env=environment, stdout=file, stderr=subprocess.STDOUT) as process,
    ):
        if not hasattr(os, "wait4"):
            return process.wait(), 0.0, 0
        try:
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
    unit = 1 if sys.platform == "darwin" else 1024
    return process.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss * unit


def _written(path: Path, given: Given) -> str:
    names = given.names or [str(number) for number in range(1, len(given.views) + 1)]
    views = {
        name: _blank(view, seen)
        for name, view, seen in zip(names, given.views, given.observed.T, strict=True)
    }
    bundle = Bundle(views, None, given.observed)
    more = {"n_clusters": given.n_clusters, "seed": given.seed}
    if path.suffix == ".npz":
        bundle.write(path, **more)
    else:
        write_mat(path, bundle, **more)
    return str(path)


def _blank(view: Any, seen: Array) -> Any:
    if scipy.sparse.issparse(view):
        return view
    array = np.array(view, dtype=np.float64)
    array[~seen] = np.nan
    return array


def read_labels(path: Path, n_rows: int) -> Array:
    """One label per row, from text, npy, npz or MATLAB; a DataError for anything else."""
    start = path.read_bytes()[:6]
    try:
        if start == b"MATLAB":
            import scipy.io

            labels = scipy.io.loadmat(path)["labels"]
        elif start[:2] == b"PK":
            with np.load(path, allow_pickle=False) as file:
                labels = file["labels"]
        elif start == b"\x93NUMPY":
            labels = np.load(path, allow_pickle=False)
        else:
            labels = np.loadtxt(path, delimiter="," if "," in path.read_text() else None)
        found = np.asarray(labels, dtype=np.float64).ravel()
    except (ValueError, KeyError, OSError) as problem:
        raise DataError(f"the labels that the program wrote cannot be read: {problem}.") from problem
    if found.shape != (n_rows,) or not (found == np.rint(found)).all():
        raise DataError(
            f"the program wrote {found.size} labels; {n_rows} whole numbers were expected, one per row."
        )
    return found.astype(np.int64)
