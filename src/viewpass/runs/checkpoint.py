"""The checkpoint of a run: its position, its model, and the extents of its staged files; read on resuming.

It is one file, replaced by one rename after everything it refers to has been flushed to disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viewpass.errors import FileError
from viewpass.kernels.grid import Array
from viewpass.runs.folder import RunFolder
from viewpass.store.container import body, frame
from viewpass.store.container.fields import Fields


def write_checkpoint(folder: RunFolder, meta: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write the checkpoint atomically."""
    frame.write(folder.checkpoint, "checkpoint", body.encode(meta, arrays), folder.growing)


def read_checkpoint(folder: RunFolder) -> Fields:
    """Read the latest checkpoint."""
    path = folder.checkpoint
    meta, arrays = body.decode(frame.read(path, "checkpoint"), str(path))
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
