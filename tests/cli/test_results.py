"""Commands about what a run has found: what they refuse, and what a signal leaves."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from commands import refused
from fixed_lists import NULLS, REASON


@pytest.mark.skipif(not NULLS, reason=REASON)
def test_a_refused_join_is_one_line_and_no_file(commands, run, table, tmp_path):
    other = pq.read_table(table).slice(0, 1).set_column(0, "item", [["another"]])
    pq.write_table(other, tmp_path / "other.parquet")
    argv = ["join", run[0], table, tmp_path / "other.parquet", "--out", tmp_path / "out.parquet"]
    refused(commands.run(*argv), "row 6000: its id 'another' was not labelled")
    assert [path.name for path in tmp_path.iterdir()] == ["other.parquet"]


@pytest.mark.parametrize(("how", "code"), [("SIGINT", 130), ("SIGKILL", -9)])
def test_a_dedup_that_is_ended_leaves_no_folder(commands, run, table, tmp_path, how, code):
    fault = {"step": "chunk", "when": "before", "number": 1, "how": how}
    argv = ["dedup", run[0], table, "--threshold", "0.999", "--out", tmp_path / "pairs.parquet"]
    ended = commands.run(*argv, fault=fault)
    assert ended.code == code
    assert not [path for path in tmp_path.iterdir() if path.is_dir() or path.name == "pairs.parquet"]
    if how == "SIGINT":
        assert ended.err == "viewpass: stopped; no existing file was changed.\n"
