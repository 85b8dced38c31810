"""Temporary folders of local clusters: one whose process was killed is removed by the next that starts."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from viewpass.store.container.files import Lock

PREFIX = "viewpass-engine-"


@contextmanager
def temporary_folder() -> Iterator[str]:
    """A folder that is locked as long as this process lives, and removed afterwards."""
    _remove_abandoned(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock = Lock(folder / "new")
    lock.take()
    (folder / "new").rename(folder / "lock")  # only now can others try to take it
    try:
        yield str(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.release()


def _remove_abandoned(home: Path) -> None:
    """Remove the folders whose locks nobody holds; those of other users stay."""
    for folder in home.glob(f"{PREFIX}*"):
        lock = Lock(folder / "lock")
        with suppress(OSError):
            if (folder / "lock").exists() and lock.take():
                shutil.rmtree(folder, ignore_errors=True)
        lock.release()
