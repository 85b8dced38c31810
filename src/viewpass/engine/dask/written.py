"""Labels in files that the workers write: none of them passes through the driver."""

from __future__ import annotations

from typing import Any

from viewpass.engine.dask import tasks
from viewpass.store.parts import PartSink


class Written(PartSink):
    """The sink of a run in a folder that every worker can write to."""

    task = staticmethod(tasks.write_labels)

    @property
    def labels(self) -> Written:
        """What a run asks for the sizes of the clusters."""
        return self

    def packed(self) -> dict[str, Any]:
        """What a checkpoint must know; ids lie beside the labels."""
        return {"labels": super().packed(), "ids": None}
