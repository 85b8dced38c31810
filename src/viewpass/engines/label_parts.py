"""Labels as Parquet parts, one per partition, written by the workers that read its rows."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from viewpass.engines.interface import Engine
from viewpass.engines.partitions import added, light
from viewpass.labels.columns import Wanted, label_rows
from viewpass.labels.parts import Part, write_part
from viewpass.model.model import Model
from viewpass.sums.rules import Workspace
from viewpass.tally.tally import Tally, tally_rows
from viewpass.views.chunk import Chunk


class Written(NamedTuple):
    """A part of a label file, and what its rows add up to by their labels."""

    part: Part
    tally: Tally


def write(engine: Engine, model: Model, folder: str, id_name: str | None) -> tuple[Tally, list[Part]]:
    """Have all rows labelled, and their labels written into a folder by those who read them."""
    engine.n_readings += 1
    tallies, parts = list[Tally](), list[Part]()
    task = partial(write_rows, model=light(model, reasons=True), folder=folder, id_name=id_name)
    for found in engine.each(task):
        tallies = [added([*tallies, found.tally])]
        parts.append(found.part)
    return tallies[0], parts


def write_rows(chunks: Iterable[Chunk], model: Model, folder: str, id_name: str | None) -> Written:
    """Write the rows of a partition."""
    workspace = Workspace(1)
    tallies, tables = list[Tally](), list[Any]()
    for chunk in chunks:
        found, table = label_rows(chunk, model, workspace, Wanted(), id_name, numbered=True)
        tallies.append(tally_rows(chunk, found.rows, found.clusters, model.n_clusters, workspace))
        tables.append(table)
    part = write_part(Path(folder), pa.concat_tables(tables), id_name, model.n_clusters)
    return Written(part, added(tallies))
