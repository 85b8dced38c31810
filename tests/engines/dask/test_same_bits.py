"""Any workers, partitions and order of partitions: the bits of one process."""

from __future__ import annotations

from itertools import pairwise

import dask.array as da
import numpy as np
import pytest

import viewpass as vp
from clusters import assert_same, made_rows, write_files
from viewpass.engines import parts
from viewpass.engines.dask.engine import DaskEngine

pytestmark = pytest.mark.system

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


@pytest.fixture
def _small_parts(monkeypatch):
    monkeypatch.setattr(parts, "BLOCK", 500)  # of the driver, which divides the rows: 12 partitions


@pytest.mark.usefixtures("_small_parts")
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"consensus": "plain", "n_clusters": 9},
        {"consensus": "graph"},
        {"consensus": "graph", "scale": "standard", "projection": 5},
        {"scale": ["euclidean", "unit"], "view_weights": [1.0, 0.5]},
        {"sample_size": "auto"},
        {"n_clusters": "auto"},
    ],
    ids=str,
)
def test_settings(client, files, settings):
    settings = {"n_clusters": 4, **SETTINGS, **settings}
    theirs = vp.ViewPass(**settings).fit(files)
    mine = vp.dask.fit(vp.ViewPass(**settings), files, client=client)
    assert_same(mine, theirs)
    np.testing.assert_array_equal(mine.row_ids_, theirs.row_ids_)
    assert mine.summary() == theirs.summary()
    np.testing.assert_array_equal(mine.confidence(files), theirs.confidence(files))


def test_partitions_in_another_order_with_ids(client, tmp_path, views):
    """Files renamed, so that they come in another order: the same clusters of the same ids."""
    edges, order = [0, 1500, 2300, 4100, ROWS], [2, 0, 3, 1]
    rows = [np.arange(*pair) for pair in pairwise(edges)]
    one = write_files(tmp_path / "one", views, edges[1:-1])
    ids = np.concatenate([rows[number] for number in order])
    (tmp_path / "other").mkdir()
    for place, number in enumerate(order):
        (tmp_path / "one" / f"{number}.parquet").rename(tmp_path / "other" / f"{place}.parquet")
    other = vp.scan(str(tmp_path / "other"), id="item")
    mine = vp.dask.fit(vp.ViewPass(4, **SETTINGS), other, client=client)
    for number, place in enumerate(order):
        (tmp_path / "other" / f"{number}.parquet").rename(tmp_path / "one" / f"{place}.parquet")
    theirs = vp.ViewPass(4, **SETTINGS).fit(one)
    assert mine.statistics_ == theirs.statistics_
    np.testing.assert_equal(mine.cluster_centers_, theirs.cluster_centers_)
    np.testing.assert_array_equal(mine.row_ids_, theirs.row_ids_[ids])
    np.testing.assert_array_equal(mine.labels_, theirs.labels_[ids])


def test_few_barriers_however_many_partitions(client, views, monkeypatch):
    seen = []
    run = DaskEngine._run

    def counted(engine, *given):
        seen.append(len(engine.parts))
        return run(engine, *given)

    monkeypatch.setattr(DaskEngine, "_run", counted)
    arrays = [da.from_array(x, chunks=(60, -1)) for x in views]
    mine = vp.dask.fit(vp.ViewPass(4, **SETTINGS), arrays, client=client)
    assert 3 <= len(seen) <= 5
    assert set(seen) == {100}
    assert_same(mine, vp.ViewPass(4, **SETTINGS).fit(views))


def test_rows_that_share_their_ids(client, tmp_path, views):
    """Few distinct keys: the first guess of how low they are misses."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    for number in range(3):
        mine = slice(2000 * number, 2000 * (number + 1))
        lists = [None if np.isnan(row[0]) else row for row in views[0][mine]]
        table = pa.Table.from_pandas(pd.DataFrame({"item": np.arange(2000) // 400, "v0": lists}))
        pq.write_table(table, tmp_path / f"{number}.parquet")
    files = vp.scan(str(tmp_path), id="item")
    assert_same(
        vp.dask.fit(vp.ViewPass(4, **SETTINGS), files, client=client), vp.ViewPass(4, **SETTINGS).fit(files)
    )


def test_many_patterns_of_views(client):
    rng = np.random.default_rng(0)
    views = made_rows(3000, widths=(3,) * 12, missing=0.5)
    views = [np.where(rng.random((3000, 1)) < 0.5, np.nan, x).astype(np.float32) for x in views]
    arrays = [da.from_array(x, chunks=(700, -1)) for x in views]
    mine = vp.dask.fit(vp.ViewPass(4, **SETTINGS), arrays, client=client)
    theirs = vp.ViewPass(4, **SETTINGS).fit(views)
    assert theirs._learnt.solved.census.n_other > 0
    assert_same(mine, theirs)
