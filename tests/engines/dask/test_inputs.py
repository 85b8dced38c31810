"""What can be given to vp.dask, what comes out, and what is refused."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import viewpass as vp
from clusters import assert_same, made_rows, write_files

pytestmark = pytest.mark.system

VIEWS = made_rows(1200)
SETTINGS = {"random_state": 0, "scale": "unit", "consensus": "plain", "sample_size": 400}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("table") / "parts", VIEWS, (410, 555))


@pytest.fixture(scope="module")
def local(files):
    return ours().fit(files)


def ours(**settings):
    return vp.ViewPass(4, **{**SETTINGS, **settings})


def test_files_are_read_by_the_workers(client, files, local):
    mine = vp.dask.fit(ours(), files, client=client)
    assert_same(mine, local)
    np.testing.assert_array_equal(mine.row_ids_, local.row_ids_)
    assert (mine.n_features_in_, mine.view_names_in_) == (19, ("v0", "v1"))


def test_dask_arrays_however_they_are_cut(client):
    given = {"v0": VIEWS[0], "v1": VIEWS[1]}
    views = {"v0": da.from_array(VIEWS[0], chunks=(370, 5)), "v1": da.from_array(VIEWS[1], chunks=(1200, 7))}
    local = ours().fit(given)
    assert_same(vp.dask.fit(ours(), views, client=client), local)
    assert_same(
        vp.dask.fit(ours(), dict(zip(views, client.persist([*views.values()]), strict=True)), client), local
    )
    np.testing.assert_array_equal(vp.dask.predict(local, views, client=client), local.labels_)


def test_rows_with_only_a_view_the_model_never_saw(client):
    model = ours().fit([VIEWS[0], None])
    expected = np.where(np.isnan(VIEWS[0][:, 0]), -1, model.predict([VIEWS[0], None]))
    assert (expected == -1).any()
    views = [da.from_array(x, chunks=(370, -1)) for x in VIEWS]
    np.testing.assert_array_equal(vp.dask.predict(model, views, client=client), expected)


def test_sparse_blocks_and_a_mask(client):
    observed = np.random.default_rng(0).random((1200, 2)) < 0.7
    dense = [np.nan_to_num(x) for x in VIEWS]
    views = [da.from_array(x, chunks=(300, -1)).map_blocks(scipy.sparse.csr_array) for x in dense]
    theirs = ours().fit([scipy.sparse.csr_array(x) for x in dense], observed=observed)
    assert_same(vp.dask.fit(ours(), views, client=client, observed=observed), theirs)


def test_a_dask_frame_with_columns_of_lists(client, files, local):
    import dask.dataframe as dd

    lists = {f"v{v}": [None if np.isnan(row[0]) else row for row in x] for v, x in enumerate(VIEWS)}
    frame = pd.DataFrame({"item": local.row_ids_, **lists})
    with dask.config.set({"dataframe.convert-string": False}):
        items = dd.from_pandas(frame, npartitions=4)
        mine = vp.dask.fit(ours(), items, id="item", client=client)
    assert_same(mine, local)
    np.testing.assert_array_equal(mine.row_ids_, local.row_ids_)


def test_gaps_in_dask_arrays(client):
    gaps = VIEWS[0].copy()
    gaps[np.random.default_rng(0).random(gaps.shape) < 0.1] = np.nan
    settings = {"missing_entries": "local", "scale": ["standard", "unit"]}
    arrays = [da.from_array(x, chunks=(250, -1)) for x in (gaps, VIEWS[1])]
    mine = vp.dask.fit(ours(**settings), arrays, client=client)
    assert_same(mine, ours(**settings).fit([gaps, VIEWS[1]]))
    assert mine.n_gaps_["view0"].values > 0


def test_models_of_the_paper_predict(client, files):
    model = vp.OPIMC(4, random_state=0).fit(files)
    np.testing.assert_array_equal(vp.dask.predict(model, files, client=client), model.predict(files))


def test_what_is_refused(client, files):
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
    with pytest.raises(vp.SettingError, match="compute_labels=False"):
        vp.dask.fit(ours(compute_labels=False), files, client=client)
    with pytest.raises(vp.DataError, match="cannot form 4 clusters"):
        vp.dask.fit(model, [x[:3] for x in VIEWS], client=client)
    assert not hasattr(model, "labels_")
