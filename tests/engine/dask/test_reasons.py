"""What reasons rest on, labels and the summary are those of one machine, to the bit, also after a stop."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

import viewpass as vp
from clusters import made_rows, write_files
from viewpass.cluster.runs.run import Run, RunOptions, StoppedError
from viewpass.store.folder import RunFolder

SETTINGS = {"scale": "unit", "warmup": 300, "chunk_size": 300, "random_state": 0}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("files"), made_rows(1500), [700])


def run_here(files, out, settings, *, stopped=False):
    folder = RunFolder(out)
    options = RunOptions(1)
    if stopped:
        begun = Run(vp.OPIMC(4, **settings), files, folder)
        folder.open(resume=False)
        with pytest.raises(StoppedError):
            begun.go(RunOptions(1, stopping=lambda: True))
        folder.close()
    fitting = Run(vp.OPIMC(4, **settings), files, folder)
    folder.open(resume=stopped)
    if stopped:
        fitting.resume()
    fitting.go(options)
    return out


CLUSTERS = [
    {"n_anchors": None},
    {"consensus": "graph", "n_anchors": 24},
    {"consensus": "merge", "n_anchors": 24, "adaptive_anchors": True, "n_passes": 2},
]


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
    assert in_memory.summary() == vp.OPIMC(4, **settings).fit(files).summary()
    np.testing.assert_array_equal(
        in_memory.confidence(files), vp.OPIMC(4, **settings).fit(files).confidence(files)
    )
