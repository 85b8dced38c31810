"""Memory is the chunk and the state, never the data: the same for a small table and one ten times as long."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import write_table


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A table of 40,000 rows, and ten times the same rows in one file."""
    folder = tmp_path_factory.mktemp("tables")
    rows = pq.read_table(write_table(folder / "rows.parquet", 40_000, widths=(64, 32)))
    for name, times in (("one", 1), ("ten", 10)):
        with pq.ParquetWriter(folder / f"{name}.parquet", rows.schema) as writer:
            for _ in range(times):
                writer.write_table(rows, row_group_size=20_000)
    return folder / "one.parquet", folder / "ten.parquet"


def peak(commands, table, out, *more):
    argv = ["fit", table, "-k", "8", "--out", out, "--threads", "1", "--chunk-size", "4096", *more]
    ended = commands.run(*argv, "--json")
    assert ended.code == 0, ended.err
    return json.loads(ended.out.splitlines()[-1])["peak_memory"]


def test_fit_of_ten_times_the_rows_takes_no_more_memory(commands, tables, tmp_path):
    small, large = (peak(commands, table, tmp_path / table.stem, "--id", "item") for table in tables)
    size = 400_000 * (64 + 32) * 4
    assert large - small < size / 8  # where ten tables in memory would be nine tenths of it


def test_the_label_file_is_written_in_row_groups(commands, tables, tmp_path):
    peak(commands, tables[1], tmp_path / "run")
    file = pq.ParquetFile(tmp_path / "run" / "labels.parquet")
    groups = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    assert groups == [2**17] * 3 + [400_000 - 3 * 2**17]
    assert file.schema_arrow.field("id").type == pa.int64()
