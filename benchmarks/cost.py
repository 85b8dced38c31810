"""What a fit by W workers costs, from its parts: reading, looks, looks again, latency and traffic."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log
from pathlib import Path
from typing import Any

FAN_IN = 8  # as viewpass.engine.dask.crew has it


@dataclass(frozen=True)
class Parts:
    """Seconds measured; rows are those of one worker of one thread."""

    read: float  # a row, from Parquet
    look: float  # a row, at all centres, with its sums
    again: float  # a row and inner iteration
    end: float  # a row, its label to where it goes
    update: float  # an inner iteration, at the driver
    latency: float  # of asking one worker, and its answer
    task: float  # more, for each further task of an iteration
    byte: float  # between processes


@dataclass(frozen=True)
class Shape:
    """A fit: rows, chunks of `size` rows for each of `width` workers, inner iterations of a round."""

    n_rows: int
    size: int
    width: int
    n_clusters: int
    n_columns: int
    n_iter: float
    cores: float = 1.0  # processors for each worker: below 1 they take turns
    n_read: int | None = None  # rows still to be read: others than these were read during the start

    @property
    def n_rounds(self) -> int:
        return ceil(self.n_rows / (self.size * self.width))


def seconds(shape: Shape, parts: Parts) -> dict[str, float]:
    """By part; their sum is the time of the fit, without its start.

    A worker reads ahead while it waits for centres, so reading costs what it takes beyond those waits.
    """
    mine = shape.n_rows / shape.width / shape.cores  # rows that one worker sees
    read = (shape.n_rows if shape.n_read is None else shape.n_read) / shape.width / shape.cores
    asked = shape.n_rounds * (shape.n_iter + 2)  # the first look and the labels are asked for, too
    n_tasks = shape.width + (shape.width / (FAN_IN - 1) if shape.width > FAN_IN else 0)
    state = 8 * shape.n_clusters * shape.n_columns
    # Centres go from worker to worker, twice as many having them each time; sums come up a tree.
    hops = 2 + ceil(log(max(shape.width, 2), 2)) + min(shape.width, FAN_IN)
    if shape.width > FAN_IN:
        hops += FAN_IN * (ceil(log(shape.width, FAN_IN)) - 1)
    waits = {
        "driver": shape.n_rounds * shape.n_iter * parts.update,
        "latency": asked * (parts.latency + parts.task * (n_tasks - 1)),
        "traffic": shape.n_rounds * (shape.n_iter + 1) * hops * state * parts.byte,
    }
    return {
        "reading": max(read * parts.read - sum(waits.values()), 0.0),
        "first look": mine * parts.look,
        "looks again": mine * parts.again * shape.n_iter,
        "labels": mine * parts.end,
        **waits,
    }


def draw(found: dict[str, Any], path: Path) -> None:
    """Measured runs beside what the model says, and what it says of far more workers."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    names = [f"{run['width']} x {run['size']:,}" for run in found["runs"]]
    places = range(len(names))
    left.bar([p - 0.2 for p in places], [run["seconds"] for run in found["runs"]], 0.4, label="measured")
    left.bar([p + 0.2 for p in places], [run["model"] for run in found["runs"]], 0.4, label="from its parts")
    left.set_xticks(list(places), names)
    highest = max(max(run["seconds"], run["model"]) for run in found["runs"])
    left.set(xlabel="workers x rows of a chunk", ylabel="seconds", title=f"{found['rows']:,} rows")
    left.set_ylim(0, 1.2 * highest)  # room for the legend
    left.legend(frameon=False, loc="upper center", ncols=2)
    bottom = [0.0] * len(found["far"])
    across = [f"{one['width']:,} x {one['size'] // 1000:,}k" for one in found["far"]]
    for part in found["far"][0]["parts"]:
        heights = [one["parts"][part] / 3600 for one in found["far"]]
        right.bar(across, heights, bottom=bottom, label=part)
        bottom = [a + b for a, b in zip(bottom, heights, strict=True)]
    right.set(xlabel="workers x rows of a chunk", ylabel="hours", title="the model, 10 billion rows")
    right.legend(frameon=False, fontsize="small")
    figure.savefig(path)
