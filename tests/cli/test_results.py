"""Commands about what a run has found: what they refuse, and what a signal leaves."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from commands import refused
from fixed_lists import NULLS, REASON
from viewpass.cli.app import app


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


def test_fit_says_that_a_view_of_repeated_values_takes_over(commands, tmp_path):
    rng = np.random.default_rng(0)
    volumes, rows = rng.standard_normal((5, 6)), rng.standard_normal((400, 6))
    views = {"title": list(rows), "volume": list(volumes[rng.integers(5, size=400)])}
    pq.write_table(pa.table(views), tmp_path / "papers.parquet")
    ended = commands.run("fit", tmp_path / "papers.parquet", "-k", "5", "--out", tmp_path / "run")
    assert "Try without the view volume (--view-weights volume=0)." in ended.out
    assert "Try without the view volume" in (tmp_path / "run" / "report.html").read_text()


def test_dask_that_is_not_installed_is_named(table, tmp_path, monkeypatch):
    for name in [*sys.modules]:
        if name.partition(".")[0] == "distributed":
            monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "distributed", None)
    words = ["fit", table, "-k", "5", "--engine", "dask", "--out", tmp_path / "run"]
    ended = CliRunner().invoke(app, list(map(str, words)))
    assert ended.exit_code == 1
    assert (
        "the engine 'dask' needs distributed, which is not installed. Run: pip install 'viewpass[dask]'"
        in ended.output
    )
    assert not list(tmp_path.iterdir())
