"""What reasons rest on, labels and the summary are those of one machine, to the bit, also after a stop."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import viewpass as vp
from clusters import made_rows, write_files
from viewpass.cluster.runs.run import Run, RunOptions, StoppedError
from viewpass.store.folder import RunFolder

SETTINGS = {"scale": "unit", "warmup": 300, "chunk_size": 200, "random_state": 0}
N_SAMPLED = 300


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("files"), made_rows(900), [500])


@pytest.fixture(autouse=True)
def _fewer_sampled_rows(monkeypatch):
    monkeypatch.setattr("viewpass.cluster.runs.sampled_rows.SAMPLE", N_SAMPLED)
    monkeypatch.setattr("viewpass.cluster.summary.gatherer.SAMPLE", N_SAMPLED)


def run_here(files, out, settings, *, stopped=False, **more):
    folder = RunFolder(out)
    options = RunOptions(1)
    if stopped:
        begun = Run(vp.OPIMC(4, **settings), files, folder, **more)
        folder.open(resume=False)
        with pytest.raises(StoppedError):
            begun.go(RunOptions(1, stopping=lambda: True))
        folder.close()
    fitting = Run(vp.OPIMC(4, **settings), files, folder, **more)
    folder.open(resume=stopped)
    if stopped:
        fitting.resume()
    fitting.go(options)
    return out


CLUSTERS = [
    {"n_anchors": None},
    {"consensus": "graph", "n_anchors": 24, "adaptive_anchors": False},
    {"consensus": "merge", "n_anchors": 24, "adaptive_anchors": True, "n_passes": 2},
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("clusters", CLUSTERS, ids=str)
def test_local_dask_and_resumed_runs_agree(client, files, tmp_path, clusters):
    settings = SETTINGS | clusters
    here = run_here(files, tmp_path / "here", settings)
    again = run_here(files, tmp_path / "again", settings, stopped=True)
    vp.dask.fit(vp.OPIMC(4, **settings), files, client=client, n_workers=2, out=tmp_path / "there")
    there = tmp_path / "there"
    expected = (here / "model.viewpass").read_bytes()
    assert expected == (again / "model.viewpass").read_bytes()
    assert expected == (there / "model.viewpass").read_bytes()
    assert (here / "labels.parquet").read_bytes() == (again / "labels.parquet").read_bytes()
    mine, theirs = pq.read_table(here / "labels.parquet"), pq.read_table(there / "labels").sort_by("row")
    for name in mine.column_names:
        assert mine[name].to_pylist() == theirs[name].to_pylist(), name
    assert vp.summary(here) == vp.summary(again) == vp.summary(there)
    in_memory = vp.dask.fit(vp.OPIMC(4, **settings), files, client=client, n_workers=2)
    alone = vp.OPIMC(4, **settings).fit(files)
    assert in_memory.summary() == alone.summary()
    np.testing.assert_array_equal(in_memory.confidence(files), alone.confidence(files))


@pytest.mark.every_value
@pytest.mark.parametrize("scale", ["unit", "auto"])
@pytest.mark.parametrize("clusters", CLUSTERS, ids=str)
def test_sampled_rows_of_runs_with_labels_of_the_stream_agree(client, files, tmp_path, clusters, scale):
    """Rows are taken while they are read, once; what they show is that of a run that reads them again."""
    settings, more = SETTINGS | clusters | {"scale": scale}, {"stream_labels": True}
    here = run_here(files, tmp_path / "here", settings, **more)
    again = run_here(files, tmp_path / "again", settings, stopped=True, **more)
    there = tmp_path / "there"
    vp.dask.fit(vp.OPIMC(4, **settings), files, client=client, n_workers=2, out=there, **more)
    final = run_here(files, tmp_path / "final", settings)
    expected = json.loads((here / "sample.json").read_text())
    assert len(expected["rows"]) == N_SAMPLED
    for folder in (again, there):
        assert (folder / "sample.json").read_bytes() == (here / "sample.json").read_bytes()
    assert vp.summary(here) == vp.summary(again) == vp.summary(there)
    for row, reasons in json.loads((final / "sample.json").read_text())["rows"].items():
        assert reasons | {"outlier": None} == expected["rows"][row] | {"outlier": None}  # not yet calibrated
    assert all("reasons" in row for row in vp.summary(here)["sample"])


def test_kept_columns_and_names_are_those_of_one_machine(client, tmp_path):
    rows = made_rows(900)
    topics = np.nan_to_num(rows[0]).argmax(axis=1)
    table = pa.table(
        {
            "item": np.arange(900),
            "topic": [f"topic {t}; item {i}" for i, t in enumerate(topics)],
            "size": topics * 1.5 + np.arange(900) % 7,
            **{
                f"v{v}": [None if np.isnan(row[0]) else row.tolist() for row in x] for v, x in enumerate(rows)
            },
        }
    )
    pq.write_table(table, tmp_path / "items.parquet", row_group_size=250)
    files = vp.scan(tmp_path / "items.parquet", views=["v0", "v1"], id="item")
    settings = SETTINGS | {"n_anchors": None}
    options = {"keep": ["size"], "name_by": ["topic", "size"]}
    folder = RunFolder(tmp_path / "here")
    folder.open(resume=False)
    Run(vp.OPIMC(4, **settings), files, folder, **options).go(RunOptions(1))
    folder.close()
    there = tmp_path / "there"
    vp.dask.fit(vp.OPIMC(4, **settings), files, client=client, n_workers=2, out=there, **options)
    mine, theirs = pq.read_table(folder.labels), pq.read_table(there / "labels").sort_by("row")
    assert theirs.column_names == ["row", *mine.column_names]
    for name in mine.column_names:
        assert mine[name].to_pylist() == theirs[name].to_pylist(), name
    assert len(set(mine["cluster_name"].to_pylist()) - {None}) == 4
    assert vp.summary(folder.path) == vp.summary(there)
    with pytest.raises(vp.SettingError, match="need out="):
        vp.dask.fit(vp.OPIMC(4), files, client=client, keep=["size"])
