"""Memory is the chunk and the state, never the data: the same for a table and one three times as long."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import viewpass as vp
from commands import write_table

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A table longer than a row group of the label file, and one three times as long."""
    folder = tmp_path_factory.mktemp("tables")
    rows = pq.read_table(write_table(folder / "rows.parquet", 50_000, widths=(64, 32)))
    for name, times in (("once", 3), ("often", 9)):
        with pq.ParquetWriter(folder / f"{name}.parquet", rows.schema) as writer:
            for _ in range(times):
                writer.write_table(rows, row_group_size=25_000)
    return folder / "once.parquet", folder / "often.parquet"


def peak(commands, table, out, *more):
    argv = ["fit", table, "-k", "8", "--out", out, "--threads", "1", *more]
    ended = commands.run(*argv, "--json")
    assert ended.code == 0, ended.err
    return json.loads(ended.out.splitlines()[-1])["peak_memory"]


def test_fit_of_more_rows_takes_no_more_memory(commands, tables, tmp_path):
    small, large = (peak(commands, table, tmp_path / table.stem, "--id", "item") for table in tables)
    more = 300_000 * (64 + 32) * 4
    assert large - small < more / 2  # ids, and full instead of partly filled buffers of labels


def test_labels_are_held_once():
    rows = np.tile(np.eye(2, dtype=np.float32), (500_000, 1))
    model = vp.ViewPass(2, scale="unit", consensus="plain")
    model.fit([rows[:50_000]])  # loads and allocates what a first fit does
    tracemalloc.start()
    try:
        model.fit([rows])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * model.labels_.nbytes


def test_the_label_file_is_written_in_row_groups(commands, tables, tmp_path):
    peak(commands, tables[0], tmp_path / "run", "--scale", "unit", "--consensus", "plain")
    file = pq.ParquetFile(tmp_path / "run" / "labels.parquet")
    groups = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    assert groups == [2**17, 150_000 - 2**17]
    assert file.schema_arrow.field("id").type == pa.int64()
