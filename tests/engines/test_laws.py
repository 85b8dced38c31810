"""The bits of one process, on every engine: any partitions, rows of any kind, a worker that is lost."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

import viewpass as vp
from clusters import assert_same, made_rows, write_files
from everywhere import MARKS, Deadly
from viewpass.engines import partitions, parts
from viewpass.labels.columns import Wanted, cluster_rows, reason_columns
from viewpass.sums.rules import Workspace

pytestmark = MARKS

ROWS = 6000
SETTINGS = {"random_state": 0, "sample_size": 900}


@pytest.fixture(scope="module")
def views():
    found = made_rows(ROWS)
    found[1][:2500] = np.nan  # a view that the first partitions lack
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory, views):
    return write_files(tmp_path_factory.mktemp("files"), views, (1100, 3700))


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr(parts, "BLOCK", 1000)  # of this process, which divides the rows: six partitions


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"consensus": "neighbours"},
        {"consensus": "graph", "scale": "standard", "projection": 5},
        {"consensus": "graph", "n_anchors": 20},  # moved by 2,000 rows
        {"robust": True},
        {"robust": True, "consensus": "graph", "n_anchors": 20},
    ],
    ids=str,
)
def test_files(opened, files, settings):
    theirs = vp.ViewPass(4, **SETTINGS, **settings).fit(files)
    mine = vp.distributed.fit(vp.ViewPass(4, **SETTINGS, **settings), files, opened)
    assert_same(mine, theirs)
    np.testing.assert_array_equal(mine.row_ids_, theirs.row_ids_)
    np.testing.assert_array_equal(vp.distributed.predict(mine, files, opened), theirs.labels_)


@pytest.mark.parametrize("settings", [{"window": 1500}, {"window": "8h", "time": "when"}], ids=str)
def test_streams_that_change(opened, views, settings, tmp_path):
    minutes = np.datetime64("2026-01-01T00:00", "s") + 60 * np.arange(ROWS)
    files = write_files(tmp_path, views, (1100, 3700), when=minutes)
    expected = vp.ViewPass(4, **SETTINGS, **settings).fit(files)
    mine = vp.distributed.fit(vp.ViewPass(4, **SETTINGS, **settings), files, opened)
    assert mine.events_ == expected.events_
    np.testing.assert_array_equal(mine.stream_labels_, expected.stream_labels_)
    np.testing.assert_array_equal(mine.stream_ids_, expected.stream_ids_)
    np.testing.assert_array_equal(mine.row_ids_, expected.row_ids_)


@pytest.mark.parametrize("block", [700, 8192])
def test_arrays_in_any_partitions(opened, views, monkeypatch, block):
    monkeypatch.setattr(parts, "BLOCK", block)
    mine = vp.distributed.fit(vp.ViewPass(4, **SETTINGS), views, opened)
    assert_same(mine, vp.ViewPass(4, **SETTINGS).fit(views))


def test_a_lost_worker(opened, files, monkeypatch, tmp_path):
    expected = vp.ViewPass(4, **SETTINGS).fit(files)
    monkeypatch.setattr(partitions, "tally", Deadly("tally", tmp_path / "was killed"))
    assert_same(vp.distributed.fit(vp.ViewPass(4, **SETTINGS), files, opened), expected)
    assert (tmp_path / "was killed").exists()


def test_a_faulty_row_is_named_and_the_model_as_it_was(opened, views):
    views = [x.copy() for x in views]
    views[1][4777] = 1.0
    views[1][4777, 2] = np.nan
    model = vp.ViewPass(4, **SETTINGS)
    with pytest.raises(vp.DataError, match=r"view 'view1', row 4777: 1 of 7 values are NaN"):
        vp.distributed.fit(model, views, opened)
    assert not hasattr(model, "labels_")


def test_a_callback_sees_the_rows(opened, files):
    seen = []
    vp.distributed.fit(vp.ViewPass(4, **SETTINGS), files, opened, callback=seen.append)
    assert {one.n_rows for one in seen} == {ROWS}
    ends = [one.pass_number for one in seen if one.n_rows_read == ROWS]
    assert ends == list(range(seen[-1].pass_number + 1))


def test_labels_in_parts(opened, files, tmp_path):
    model = vp.ViewPass(4, **SETTINGS).fit(files)
    assert vp.distributed.predict(model, files, opened, out=tmp_path / "labels") is None
    rows = pq.read_table(tmp_path / "labels").sort_by("row")
    np.testing.assert_array_equal(rows["cluster"].to_numpy(), model.labels_)
    np.testing.assert_array_equal(rows["item"].to_numpy(), model.row_ids_)
    given = model._fitted_model(), Workspace(1)
    found = cluster_rows(files.span(0, ROWS), *given)
    expected = reason_columns(files.span(0, ROWS), found, *given, Wanted())
    for name in expected.column_names:
        assert rows[name].to_pylist() == expected[name].to_pylist()
    with pytest.raises(vp.SettingError, match="not empty"):
        vp.distributed.predict(model, files, opened, out=tmp_path / "labels")
