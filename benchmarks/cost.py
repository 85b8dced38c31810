"""A cost model of a fit by W workers: reading, distance pass, reassigning, latency and traffic."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log
from pathlib import Path
from typing import Any

FAN_IN = 8  # as viewpass.engine.dask.worker_pool has it


@dataclass(frozen=True)
class Parts:
    """Measured seconds; those per row are of one worker with one thread."""

    read: float  # per row, from Parquet
    distances: float  # per row: distances to all centres, and its sums
    again: float  # per row, in the first inner iteration
    more: float  # per row, in each further one
    end: float  # per row, to store its label
    update: float  # per inner iteration, at the driver
    latency: float  # of a request to two workers, and their answers
    task: float  # for each further task of an iteration
    byte: float  # sent between processes
    busy: float  # processor time of all processes per request


@dataclass(frozen=True)
class Shape:
    """A fit: rows, chunks of `size` rows for each of `width` workers, inner iterations of a round."""

    n_rows: int
    size: int
    width: int
    n_clusters: int
    n_columns: int
    n_iter: float
    n_read: int | None = None  # rows still to be read: others than these were read during the start
    late: int = 0  # rows that one worker has beyond its share
    decoded: float = 1.0  # rows for each that is wanted, where chunks end within row groups
    processors: float | None = None  # shared by workers and driver; None: one for each of them

    @property
    def n_rounds(self) -> int:
        return ceil(self.n_rows / (self.size * self.width))

    @property
    def state(self) -> int:
        """Bytes of centres, or of sums."""
        return 8 * self.n_clusters * self.n_columns


def seconds(shape: Shape, parts: Parts) -> dict[str, float]:
    """By part; their sum is the time of the fit, without its start.

    A worker reads ahead while it waits for centres, so reading costs what it takes beyond those waits:
    of its own processor's time, or of that which all share.
    """
    n_rounds = shape.n_rounds
    mine = shape.n_rows / shape.width + shape.late  # rows that one worker sees
    requests = n_rounds * (shape.n_iter + 1) + 1  # labels are requested with the next distance pass
    n_tasks = shape.width + (shape.width / (FAN_IN - 1) if shape.width > FAN_IN else 0)
    rows = {
        "distance pass": mine * parts.distances,
        "reassigning": mine * (parts.again + parts.more * max(shape.n_iter - 1, 0)),
        "labels": mine * parts.end,
    }
    waits = {
        "driver": n_rounds * shape.n_iter * parts.update,
        "latency": requests * (parts.latency + parts.task * max(n_tasks - 2, 0)),
        "traffic": n_rounds * (shape.n_iter + 1) * hops(shape) * shape.state * parts.byte,
    }
    # A round that is read, while another is worked on.
    reading = shape.n_rows / n_rounds / shape.width * shape.decoded * parts.read
    on_rows, waiting = sum(rows.values()) / n_rounds, sum(waits.values()) / n_rounds
    if shape.processors is None:
        busy = reading + on_rows
    else:
        others = waits["driver"] + requests * parts.busy
        busy = (shape.width * (reading + on_rows) + others / n_rounds) / shape.processors
    n_read = shape.n_rows if shape.n_read is None else shape.n_read
    beyond = max(reading, busy, on_rows + waiting) - on_rows - waiting
    return {"reading": n_rounds * n_read / shape.n_rows * beyond, **rows, **waits}


def hops(shape: Shape) -> float:
    """How often centres or sums are sent one after the other in an inner iteration."""
    if shape.width <= FAN_IN:  # two stages to the scheduler and to each worker, sums from each
        return 2 * (1 + shape.width) + shape.width
    # Centres go from worker to worker, twice as many having them each time; sums come up a tree.
    return 2 + ceil(log(shape.width, 2)) + FAN_IN * ceil(log(shape.width, FAN_IN))


def draw(found: dict[str, Any], path: Path) -> None:
    """Measured runs beside the model, and the model for many more workers."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    names = [f"{run['width']} x {run['size']:,}" for run in found["runs"]]
    places = range(len(names))
    left.bar([p - 0.2 for p in places], [run["seconds"] for run in found["runs"]], 0.4, label="measured")
    left.bar([p + 0.2 for p in places], [run["model"] for run in found["runs"]], 0.4, label="model")
    left.set_xticks(list(places), names)
    highest = max(max(run["seconds"], run["model"]) for run in found["runs"])
    left.set(xlabel="workers x rows per chunk", ylabel="seconds", title=f"{found['rows']:,} rows")
    left.set_ylim(0, 1.2 * highest)  # room for the legend
    left.legend(frameon=False, loc="upper center", ncols=2)
    bottom = [0.0] * len(found["far"])
    across = [f"{one['width']:,} x {one['size'] // 1000:,}k" for one in found["far"]]
    for part in found["far"][0]["parts"]:
        heights = [one["parts"][part] / 3600 for one in found["far"]]
        right.bar(across, heights, bottom=bottom, label=part)
        bottom = [a + b for a, b in zip(bottom, heights, strict=True)]
    right.set(xlabel="workers x rows per chunk", ylabel="hours", title="the model, 10 billion rows")
    right.legend(frameon=False, fontsize="small")
    figure.savefig(path)
