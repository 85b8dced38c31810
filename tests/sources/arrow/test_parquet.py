"""Parquet files with a list column a view: the same rows as arrays of them, however they are cut."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import viewpass as vp

N = 500
rng = np.random.default_rng(0)
IMAGE = rng.normal(size=(N, 8)).astype(np.float32)
TEXT = rng.normal(size=(N, 5))
IMAGE[rng.random(N) < 0.3] = np.nan
TEXT[rng.random(N) < 0.3] = np.nan
IDS = [f"item{i}" for i in range(N)]
KINDS = ("list", "large list", "fixed")


def lists(x, kind="list"):
    """A column of lists, null where the row is NaN."""
    values = [None if np.isnan(row).all() else row.tolist() for row in x]
    element = pa.float32() if x.dtype == np.float32 else pa.float64()
    types = {"list": pa.list_(element), "large list": pa.large_list(element)}
    return pa.array(values, types.get(kind, pa.list_(element, x.shape[1])))


def table(kind="list", rows=slice(None)):
    ids = IDS[rows]
    views = {"image": lists(IMAGE[rows], kind), "text": lists(TEXT[rows], kind)}
    return pa.table({"id": ids, "note": ["x"] * len(ids), **views})


def written(folder, kind="list", row_group_size=120):
    path = folder / "items.parquet"
    pq.write_table(table(kind), path, row_group_size=row_group_size)
    return path


def rows_of(source, size, start=0):
    """Every view as one array (NaN where it is missing), and the chunks."""
    chunks = list(source.chunks(size, start))
    views = []
    for v, width in enumerate((8, 5)):
        parts = []
        for chunk in chunks:
            part = np.full((chunk.n_rows, width), np.nan)
            if chunk.views[v] is not None:
                part[chunk.wanted(v)] = chunk.views[v][chunk.wanted(v)]
            parts.append(part)
        views.append(np.concatenate(parts))
    return views, chunks


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [7, 64, 120, 1000])
@pytest.mark.parametrize("start", [0, 64, 119, 121, 499])
def test_rows_come_as_they_are(tmp_path, kind, size, start):
    source = vp.scan(written(tmp_path, kind), id="id")
    (image, text), chunks = rows_of(source, size, start)
    np.testing.assert_array_equal(image, IMAGE[start:])
    np.testing.assert_array_equal(text, TEXT[start:])
    assert [chunk.start for chunk in chunks] == [start, *range((start // size + 1) * size, N, size)]
    assert np.concatenate([chunk.row_ids for chunk in chunks]).tolist() == IDS[start:]


@pytest.mark.parametrize("kind", KINDS)
def test_fit_equals_fit_of_arrays(tmp_path, kind):
    source = vp.scan(written(tmp_path, kind), id="id")
    settings = {"n_clusters": 4, "chunk_size": 64, "warmup": 100, "random_state": 0, "n_passes": 2}
    model = vp.OPIMC(**settings).fit(source)
    arrays = vp.OPIMC(**settings).fit({"image": IMAGE, "text": TEXT})
    assert model.statistics_ == arrays.statistics_
    np.testing.assert_array_equal(model.labels_, arrays.labels_)
    np.testing.assert_array_equal(model.stream_labels_, arrays.stream_labels_)
    np.testing.assert_array_equal(model.predict(source), arrays.labels_)
    np.testing.assert_array_equal(model.transform(source), arrays.transform({"image": IMAGE, "text": TEXT}))
    assert model.row_ids_.tolist() == IDS
    assert model.n_features_in_ == 13
    assert model.view_names_in_ == ("image", "text")
