"""The benchmark of files: what it writes, and that every job reads all rows. No timings."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks import files
from fixed_lists import FIXED

N_ROWS = 3000


@pytest.fixture(params=["list", FIXED])
def folder(request, tmp_path):
    files.write(tmp_path, N_ROWS, request.param)
    return tmp_path


def test_the_table_has_the_shape_it_claims(folder):
    table = pq.read_table(folder)
    assert table["item"].to_pylist() == list(range(N_ROWS))
    for name, width in files.WIDTHS.items():
        lengths = np.array([0 if row is None else len(row) for row in table[name].to_pylist()])
        assert set(lengths) == {0, width}
        assert (lengths == 0).mean() == pytest.approx(files.MISSING, abs=0.05)


def test_every_job_reads_every_row(folder):
    runs = [{name: job(folder) for name, job in files.JOBS.items()}]
    assert {numbers["rows"] for numbers in runs[0].values()} == {N_ROWS}
    found = files.summary(runs, 1, "list")
    assert found["rows"] == N_ROWS
    assert "| predict " in files.text(found)
