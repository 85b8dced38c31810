"""Labels of a Dask run in files that the workers write: none of them passes through the driver."""

from __future__ import annotations

from typing import Any

from viewpass.engine.dask import tasks
from viewpass.store.labels.parts import PartSink


class WorkerPartSink(PartSink):
    """The sink of a run in a folder that every worker can write to."""

    task = staticmethod(tasks.write_labels)

    def packed(self) -> dict[str, Any]:
        """What a checkpoint stores; ids are in the parts."""
        return {"labels": super().packed(), "ids": None}
