"""The folder of a run: what it holds when finished, and what it holds until then."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from viewpass.errors import FileError, SettingError
from viewpass.store.container.files import naming, sync_folder


class RunFolder:
    """Paths of a run, and which state it is in."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.model = path / "model.viewpass"
        self.labels = path / "labels.parquet"
        self.parts = path / "labels"  # of a run by many machines
        self.report = path / "run.json"
        self.staging = path / "staging"
        self.checkpoint = self.staging / "checkpoint.viewpass"
        self.ids = self.staging / "ids"
        self.growing = self.staging / "growing"  # a file before it has its name
        self._lock: Any = None

    @property
    def finished(self) -> bool:
        """Whether everything has been written: the report comes last."""
        return self.report.exists()

    @property
    def begun(self) -> bool:
        """Whether there is a checkpoint to go on from."""
        return self.checkpoint.exists()

    def open(self, *, resume: bool) -> None:
        """Make the folder ready for a run, or refuse it before anything in it is touched."""
        self._check(resume=resume)
        with naming(self.path):
            self.staging.mkdir(parents=True, exist_ok=True)
        self._take()
        if not self.begun and not self.finished:  # what is there was never vouched for
            for leftover in [*self.staging.iterdir(), self.parts]:
                if leftover.is_dir():
                    shutil.rmtree(leftover)
                elif leftover.name not in ("lock", self.parts.name):
                    leftover.unlink()
        with naming(self.path):
            sync_folder(self.path)

    def _check(self, *, resume: bool) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise SettingError(f"--out {self.path}: a file is in the way. Name a folder.")
        try:
            held = sorted(entry.name for entry in self.path.iterdir()) if self.path.exists() else []
        except NotADirectoryError:
            raise SettingError(f"--out {self.path}: a file is in the way. Name a folder.") from None
        if not held:
            return
        ours = self.finished or self.staging.is_dir()
        if resume and not ours:
            raise SettingError(
                f"--out {self.path}: there is no run to go on with, but {held[0]!r}. Name another folder."
            )
        if not resume:
            kind = "a finished run" if self.finished else "an unfinished run" if ours else repr(held[0])
            hint = "Use --resume to go on, or name" if ours and not self.finished else "Name"
            raise SettingError(f"--out {self.path}: the folder holds {kind}. {hint} another folder.")

    def _take(self) -> None:
        """Keep other processes off this run for as long as this one lives."""
        try:
            import fcntl
        except ImportError:  # a system without such locks
            return
        with naming(self.staging / "lock"):
            self._lock = (self.staging / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise FileError(f"{self.path}: another process is working on this run.") from None

    def close(self) -> None:
        """Let others have the run."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def clear(self) -> None:
        """Remove what a finished run needs no longer."""
        self.close()
        shutil.rmtree(self.staging, ignore_errors=True)
        if os.path.isdir(self.path):
            sync_folder(self.path)
