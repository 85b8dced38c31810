"""The folder of a run: its paths, its lock, whether the run is finished, and its checkpoint.

The checkpoint has the position, the model, and the extents of the staged files; it is read on resuming. It is
one file, replaced by one rename after everything it refers to has been flushed to disk.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from viewpass.errors import FileError, SettingError
from viewpass.kernels.grid import Array
from viewpass.store.container import frame
from viewpass.store.container.fields import Fields
from viewpass.store.container.files import Lock, naming, opened, sync_folder


class RunFolder:
    """The paths of a run and its state."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.model = path / "model.viewpass"
        self.labels = path / "labels.parquet"
        self.parts = path / "labels"  # of a Dask run
        self.report = path / "run.json"
        self.page = path / "report.html"
        self.staging = path / "staging"
        self.checkpoint = self.staging / "checkpoint.viewpass"
        self.growing = self.staging / "growing"  # a file that is being written, before it is renamed
        self.lock = self.staging / "lock"
        self._lock = Lock(self.lock)

    @property
    def finished(self) -> bool:
        """Whether the run is complete: the report is written last."""
        return self.report.exists()

    @property
    def begun(self) -> bool:
        """Whether there is a checkpoint to resume from."""
        return self.checkpoint.exists()

    def figures(self) -> dict[str, Any]:
        """What is known of a finished run: its report, which has its settings at least."""
        try:
            with opened(self.report) as file:
                found = json.loads(file.read())
            return {**found, "settings": found["settings"]}
        except (ValueError, KeyError, TypeError, RecursionError):
            raise FileError(f"{self.report} is damaged. Start over in a new folder.") from None

    def open(self, *, resume: bool) -> None:
        """Prepare and lock the folder, or refuse it before anything in it is changed."""
        if self.lock.exists():  # a run that another process works on is not one to resume
            self._take()
        try:
            self._check(resume=resume)
        except BaseException:
            self.close()
            raise
        self._take()
        if not self.begun and not self.finished:  # no checkpoint refers to these files
            for leftover in [*self.staging.iterdir(), self.parts]:
                if leftover.is_dir():
                    shutil.rmtree(leftover)
                elif leftover not in (self.lock, self.parts):
                    leftover.unlink()
        with naming(self.path):
            sync_folder(self.path)

    def _check(self, *, resume: bool) -> None:
        try:
            names = sorted(entry.name for entry in self.path.iterdir()) if self.path.exists() else []
        except NotADirectoryError:
            raise SettingError(f"--out {self.path}: this is a file. Name a folder.") from None
        if not names:
            return
        ours = self.finished or self.staging.is_dir()
        if resume and not ours:
            raise SettingError(
                f"--out {self.path}: there is no run to resume, but {names[0]!r}. Name another folder."
            )
        if not resume:
            kind = "a finished run" if self.finished else "an unfinished run" if ours else repr(names[0])
            hint = "Use --resume to continue it, or name" if ours and not self.finished else "Name"
            raise SettingError(f"--out {self.path}: the folder holds {kind}. {hint} another folder.")

    def _take(self) -> None:
        """Lock the run against other processes for as long as this process lives."""
        with naming(self.path):
            self.staging.mkdir(parents=True, exist_ok=True)
            taken = self._lock.take()
        if not taken:
            raise FileError(
                f"{self.path}: another process is working on this run. Wait until it has ended, or name "
                "another folder."
            )

    def reopen(self) -> None:
        """Make place for a file that is written after the run has ended; `clear` removes it."""
        with naming(self.path):
            self.staging.mkdir(exist_ok=True)

    def close(self) -> None:
        """Release the lock."""
        self._lock.release()

    def clear(self) -> None:
        """Remove what a finished run no longer needs."""
        self.close()
        shutil.rmtree(self.staging, ignore_errors=True)
        if os.path.isdir(self.path):
            sync_folder(self.path)


def write_checkpoint(folder: RunFolder, meta: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write the checkpoint atomically."""
    frame.write(folder.checkpoint, "checkpoint", frame.encode(meta, arrays), folder.growing)


def read_checkpoint(folder: RunFolder) -> Fields:
    """Read the latest checkpoint."""
    path = folder.checkpoint
    meta, arrays = frame.decode(frame.read(path, "checkpoint"), str(path))
    return Fields(meta, arrays)


def check_same(begun: Any, now: Any, what: str, folder: RunFolder) -> None:
    """Refuse to resume a run with other settings or another source, and name the difference."""
    difference = _difference(begun, now, "")
    if difference is None:
        return
    where, old, new = difference
    raise FileError(
        f"{folder.path} was begun with another {what}: {where or what} was {old!r}, now it is {new!r}. "
        "Give what it was begun with, or start over in a new folder."
    )


def _difference(old: Any, new: Any, where: str) -> tuple[str, Any, Any] | None:
    """Find the first place where two JSON values differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            at = f"{where}.{key}" if where else str(key)
            if key not in old or key not in new:
                return at, old.get(key), new.get(key)
            found = _difference(old[key], new[key], at)
            if found is not None:
                return found
        return None
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (a, b) in enumerate(zip(old, new, strict=True)):
            found = _difference(a, b, f"{where}[{place}]")
            if found is not None:
                return found
        return None
    return None if old == new else (where, old, new)
