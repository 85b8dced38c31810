"""What can be given to vp.dask, what comes out, and what is refused."""

from __future__ import annotations

import json

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import scipy.sparse

import viewpass as vp
from clusters import assert_same, made_rows, write_files

VIEWS = made_rows(1200)
SETTINGS = {"random_state": 0, "max_iter": 3, "warmup": 0}
SETTINGS |= {"scale": "unit", "n_anchors": None}  # nothing is compared first


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("table") / "parts", VIEWS, (410, 555))


@pytest.fixture(scope="module")
def local(files):
    return vp.OPIMC(4, chunk_size=400, **SETTINGS).fit(files)


def ours(**settings):
    return vp.OPIMC(4, chunk_size=400, **{**SETTINGS, **settings})


def test_files_are_read_by_the_workers(client, files, local):
    mine = vp.dask.fit(ours(), files, client=client)
    assert_same(mine, local)
    np.testing.assert_array_equal(mine.labels_, local.labels_)
    np.testing.assert_array_equal(mine.row_ids_, local.row_ids_)
    assert (mine.n_features_in_, mine.view_names_in_) == (19, ("v0", "v1"))


@pytest.mark.parametrize("clusters", [{}, {"consensus": "graph", "n_anchors": 24}], ids=str)
def test_labels_in_parts_and_a_manifest(client, files, tmp_path, clusters):
    settings = {"n_passes": 2, **clusters}
    local = ours(**settings).fit(files)
    mine = vp.dask.fit(ours(**settings), files, client=client, out=tmp_path / "run")
    assert_same(mine, local, labels=False)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "labels",
        "model.viewpass",
        "run.json",
        "sample.json",
    ]
    home = tmp_path / "run" / "labels"
    manifest = json.loads((home / "_manifest.json").read_text())
    assert manifest["rows"] == 1200
    assert [part["first_row"] for part in manifest["parts"]] == list(range(0, 1200, 200))
    assert {path.name for path in home.iterdir()} == {
        "_manifest.json",
        *(part["file"] for part in manifest["parts"]),
    }
    rows = pq.read_table(home).sort_by("row")
    np.testing.assert_array_equal(rows["row"].to_numpy(), np.arange(1200))
    np.testing.assert_array_equal(rows["item"].to_numpy(), local.row_ids_)
    np.testing.assert_array_equal(rows["cluster"].to_numpy(), local.labels_)
    again = vp.load(tmp_path / "run" / "model.viewpass")
    np.testing.assert_array_equal(again.predict(files), local.labels_)
    with pytest.raises(vp.SettingError, match="holds a finished run"):
        vp.dask.fit(ours(), files, client=client, out=tmp_path / "run")


def test_labels_of_the_stream_follow_anchors_that_merge(client, files, tmp_path):
    settings = {"n_passes": 2, "consensus": "graph", "n_anchors": 30, "adaptive_anchors": True}
    local = ours(**settings, warmup=100).set_params(chunk_size=100).fit(files)
    assert local._learnt.model.n_recorded > len(local.anchors_)  # there were births and merges
    mine = ours(**settings, warmup=100).set_params(chunk_size=100)
    vp.dask.fit(mine, files, client=client, out=tmp_path / "run", stream_labels=True)
    assert_same(mine, local, labels=False)
    rows = pq.read_table(tmp_path / "run" / "labels").sort_by("row")
    np.testing.assert_array_equal(rows["cluster"].to_numpy(), local.stream_labels_)


def test_dask_arrays_however_they_are_cut(client, local):
    views = {"v0": da.from_array(VIEWS[0], chunks=(370, 5)), "v1": da.from_array(VIEWS[1], chunks=(1200, 7))}
    assert_same(vp.dask.fit(ours(compute_labels=False), views, client=client), local)
    np.testing.assert_array_equal(vp.dask.predict(local, views, client=client, chunk_size=500), local.labels_)


def test_rows_with_only_a_view_the_model_never_saw(client):
    model = vp.OPIMC(4, **SETTINGS).fit([VIEWS[0], None])
    expected = np.where(np.isnan(VIEWS[0][:, 0]), -1, model.predict([VIEWS[0], None]))
    assert (expected == -1).any()
    views = [da.from_array(x, chunks=(370, -1)) for x in VIEWS]
    np.testing.assert_array_equal(vp.dask.predict(model, views, client=client, chunk_size=500), expected)


def test_sparse_blocks_and_a_mask(client):
    observed = np.random.default_rng(0).random((1200, 2)) < 0.7
    dense = [np.nan_to_num(x) for x in VIEWS]
    views = [da.from_array(x, chunks=(300, -1)).map_blocks(scipy.sparse.csr_array) for x in dense]
    theirs = vp.OPIMC(4, chunk_size=500, **SETTINGS).fit(
        [scipy.sparse.csr_array(x) for x in dense], observed=observed
    )
    mine = vp.OPIMC(4, chunk_size=500, **SETTINGS, compute_labels=False)
    assert_same(vp.dask.fit(mine, views, client=client, observed=observed), theirs)


def test_a_dask_frame_with_columns_of_lists(client, files, local):
    import dask.dataframe as dd

    lists = {f"v{v}": [None if np.isnan(row[0]) else row for row in x] for v, x in enumerate(VIEWS)}
    frame = pd.DataFrame({"item": local.row_ids_, **lists})
    with dask.config.set({"dataframe.convert-string": False}):
        items = dd.from_pandas(frame, npartitions=4)
        mine = vp.dask.fit(ours(compute_labels=False), items, id="item", client=client)
    assert_same(mine, local)
    np.testing.assert_array_equal(mine.row_ids_, local.row_ids_)


def test_labels_of_predict_in_parts(client, files, local, tmp_path):
    assert vp.dask.predict(local, files, client=client, chunk_size=500, out=tmp_path / "labels") is None
    rows = pq.read_table(tmp_path / "labels").sort_by("row")
    np.testing.assert_array_equal(rows["cluster"].to_numpy(), local.labels_)


def test_what_is_refused(client, files, local, tmp_path):
    model = ours()
    with pytest.raises(vp.DataError, match="one array per view"):
        vp.dask.fit(model, da.zeros((10, 2)), client=client)
    unknown = da.from_array(VIEWS[0])
    with pytest.raises(vp.DataError, match="compute_chunk_sizes"):
        vp.dask.fit(model, [unknown[unknown[:, 0] > 0]], client=client)
    with pytest.raises(vp.DataError, match="every view as a Dask array"):
        vp.dask.fit(model, [da.zeros((10, 2)), np.zeros((10, 2))], client=client)
    with pytest.raises(vp.SettingError, match="n_workers=True"):
        vp.dask.fit(model, files, client=client, n_workers=True)
    with pytest.raises(vp.SettingError, match="out= needs"):
        vp.dask.fit(model, VIEWS, client=client, out=tmp_path / "x")
    with pytest.raises(vp.SettingError, match="centres of shape"):
        vp.dask.fit(ours(init=[np.zeros((4, 3)), np.zeros((4, 7))], scale="unit"), files, client=client)
    with pytest.raises(vp.SettingError, match="scale='unit'"):
        vp.dask.fit(ours(init=[np.zeros((4, 12)), np.zeros((4, 7))], scale="standard"), files, client=client)
    assert not hasattr(model, "stream_labels_")


@pytest.mark.parametrize("settings", [{"view_weights": "auto"}, {"view_weights": [1, 2]}, {"reservoir": 50}])
def test_what_needs_rows_of_other_chunks_is_refused_before_anything_starts(files, tmp_path, settings):
    (name,) = settings
    model = ours(**settings)
    for out in (None, tmp_path / "run"):  # without a client: a cluster would be started
        with pytest.raises(vp.SettingError, match=f"^{name}= is not for a cluster"):
            vp.dask.fit(model, files, n_workers=2, out=out)
    assert not (tmp_path / "run").exists()
    assert not hasattr(model, "stream_labels_")


def test_a_faulty_row_is_named_and_the_model_as_it_was(client):
    views = [x.copy() for x in VIEWS]
    views[1][777] = 1.0
    views[1][777, 2] = np.nan
    model = ours()
    with pytest.raises(vp.DataError, match=r"view 'view1', row 777: 1 of 7 values are NaN"):
        vp.dask.fit(model, views, client=client)
    assert not hasattr(model, "stream_labels_")


def test_a_callback_sees_every_round_and_can_stop(client, files):
    seen = []
    whole = vp.dask.fit(ours(), files, client, callback=seen.append)
    assert seen[-1].n_rows_read == seen[-1].n_rows == whole.n_samples_seen_ == 1200
    stopped = vp.dask.fit(ours(), files, client, callback=lambda progress: True)
    n_rows = stopped.n_samples_seen_
    assert n_rows == seen[0].n_rows_read < 1200
    assert len(stopped.stream_labels_) == len(stopped.labels_) == n_rows
    local = vp.OPIMC(4, chunk_size=400, **SETTINGS).fit(files, callback=lambda progress: True)
    assert_same(stopped, local)
