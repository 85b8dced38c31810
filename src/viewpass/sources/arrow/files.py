"""Files of a table: found by path, pattern, folder or address, and told apart from others."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

END = 2**16


@dataclass(frozen=True)
class File:
    """A file of the table; `system` is the fsspec file system it lies on, if it is not a local one."""

    name: str
    path: str
    label: str  # the name below the folder that was given: where the folder stands does not matter
    system: Any = None

    def source(self) -> Any:
        """What PyArrow opens."""
        return self.path if self.system is None else self.open()

    def open(self) -> Any:
        """A binary stream."""
        return Path(self.path).open("rb") if self.system is None else self.system.open(self.path, "rb")

    def identity(self) -> dict[str, Any]:
        """Size and a hash of both ends, where formats keep what describes them."""
        with self.open() as opened:
            size = opened.seek(0, 2)
            opened.seek(0)
            ends = sha256(opened.read(min(END, size)))
            opened.seek(max(0, size - END))
            ends.update(opened.read())
        return {"file": self.label, "bytes": size, "ends": ends.hexdigest()[:16]}
