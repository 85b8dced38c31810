"""Labels as Parquet parts, one per partition, written by the workers that read its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from viewpass.engines.interface import Engine
from viewpass.engines.partitions import added, light
from viewpass.labels.columns import Labelled, cluster_rows, label_table
from viewpass.labels.parts import Part, write_part
from viewpass.model.model import Model
from viewpass.sums.rules import Workspace
from viewpass.tally.tally import Tally, tally_rows
from viewpass.views.chunk import Chunk


@dataclass(frozen=True)
class PartOrder:
    """How the parts of a label file are to be written."""

    folder: str
    id_name: str | None
    columns: Callable[[Labelled, Model], Any]  # about the labels, as an Arrow table


class Written(NamedTuple):
    """A part of a label file, and what its rows add up to by their labels."""

    part: Part
    tally: Tally


def write(engine: Engine, model: Model, order: PartOrder) -> tuple[Tally, list[Part]]:
    """Have all rows labelled, and their labels written by those who read them."""
    engine.n_readings += 1
    tallies, parts = list[Tally](), list[Part]()
    for found in engine.each(partial(write_rows, model=light(model, reasons=True), order=order)):
        tallies = [added([*tallies, found.tally])]
        parts.append(found.part)
    return tallies[0], parts


def write_rows(chunks: Iterable[Chunk], model: Model, order: PartOrder) -> Written:
    """Write the rows of a partition."""
    workspace = Workspace(1)
    tallies, tables = list[Tally](), list[Any]()
    for chunk in chunks:
        found = cluster_rows(chunk, model, workspace)
        tallies.append(tally_rows(chunk, found.rows, found.clusters, model.n_clusters, workspace))
        more = order.columns(found, model)
        tables.append(label_table(chunk, found.columns, more, order.id_name, numbered=True))
    part = write_part(Path(order.folder), pa.concat_tables(tables), order.id_name, model.n_clusters)
    return Written(part, added(tallies))
