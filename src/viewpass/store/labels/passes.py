"""Base class of the label sinks: one growing file per pass, read by the next pass and by a resumed run.

The files of two passes alternate, since each pass needs the labels of the one before.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np

from viewpass.errors import FileError
from viewpass.kernels.grid import Integers
from viewpass.store.container.fields import Fields
from viewpass.store.labels.appended import Appended, Extent, verified


class PassFiles(metaclass=ABCMeta):
    """The file of the current pass, and the extent of the file of the previous one."""

    def __init__(self, n_clusters: int) -> None:
        self._now: Appended | None = None
        self._before: Extent | None = None
        self.number = 0  # passes that have ended
        self.sizes: Integers = np.zeros(n_clusters, dtype=np.int64)  # rows per cluster, in the latest pass

    def _add(self, counts: Integers) -> None:
        """Add rows per cluster; anchors that are born add clusters."""
        if len(counts) > len(self.sizes):
            self.sizes = np.pad(self.sizes, (0, len(counts) - len(self.sizes)))
        self.sizes[: len(counts)] += counts

    @abstractmethod
    def path(self, number: int) -> Path:
        """Return the file of a pass."""

    @abstractmethod
    def _recount(self, number: int, upto: Extent) -> None:
        """Add the rows that a pass has written to `sizes`."""

    def _verify(self, number: int, upto: Extent) -> None:
        verified(self.path(number), upto)

    def begin(self, number: int) -> None:
        """Start a pass, overwriting the file of two passes ago, or continue the pass that was resumed."""
        if self._now is None:
            self.number, self._now = number, Appended(self.path(number))
            self.sizes[:] = 0

    def end(self) -> None:
        """Complete the pass and flush it to disk."""
        assert self._now is not None
        self._now.sync()
        self._now.close()
        self._before, self._now = self._now.extent, None
        self.number += 1

    def sync(self) -> None:
        """Flush what the current pass has written to disk."""
        if self._now is not None:
            self._now.sync()

    def close(self) -> None:
        """Close the file."""
        if self._now is not None:
            self._now.close()

    def packed(self) -> dict[str, Any]:
        """Return what a checkpoint records."""
        extents = {"now": None if self._now is None else self._now.extent, "before": self._before}
        packed = {name: None if extent is None else extent.packed() for name, extent in extents.items()}
        return {"pass": self.number, **packed}

    def _resume(self, stored: Fields) -> None:
        """Restore the state that a checkpoint recorded; what was written after it is cut off."""
        self.number = stored.number("pass")
        if stored.get("before") is not None:
            stored.need(self.number > 0, "before")
            self._before = Extent.unpacked(stored.part("before"))
            self._verify(self.number - 1, self._before)
        latest = self.number - 1, self._before
        if stored.get("now") is not None:
            extent = Extent.unpacked(stored.part("now"))
            self._now = Appended(self.path(self.number), extent)
            latest = self.number, extent
        try:
            if latest[1] is not None:
                self._recount(latest[0], latest[1])
        except (FileError, ValueError):
            self.close()
            raise
