"""What is written pass by pass: two files take turns, since a pass needs what the one before it left."""

from __future__ import annotations

from typing import Any

import numpy as np

from viewpass.kernels.grid import Integers
from viewpass.store.labels.appended import Appended, Extent


class PassFiles:
    """The file of the pass that is being written, and how far that of the pass before goes."""

    def __init__(self, n_clusters: int) -> None:
        self._now: Appended | None = None
        self._before: Extent | None = None
        self.number = 0  # passes that have ended
        self.sizes: Integers = np.zeros(n_clusters, dtype=np.int64)  # of the clusters, in the last pass

    def end(self) -> None:
        """The pass is complete, and on the disk."""
        assert self._now is not None
        self._now.sync()
        self._now.close()
        self._before, self._now = self._now.extent, None
        self.number += 1

    def sync(self) -> None:
        """Have what was written of this pass on the disk."""
        if self._now is not None:
            self._now.sync()

    def close(self) -> None:
        """Let go of the file."""
        if self._now is not None:
            self._now.close()

    def packed(self) -> dict[str, Any]:
        """What a checkpoint must know."""
        extents = {"now": None if self._now is None else self._now.extent, "before": self._before}
        told = {name: None if extent is None else extent.packed() for name, extent in extents.items()}
        return {"pass": self.number, **told}
