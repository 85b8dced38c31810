"""Labels back to tables: join, sample, dedup, frames, and functions of batches."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import viewpass as vp
from clusters import made_rows, write_files
from fixed_lists import NULLS, REASON
from viewpass.runs.duplicates import dedup
from viewpass.runs.folder import RunFolder
from viewpass.runs.labels import RunLabels, RunRows
from viewpass.runs.run import Run, RunOptions
from viewpass.runs.tables import join, sample

N = 700
OWN = ["cluster", "distance", "margin", "views_seen", "has_views", "confidence"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    if not NULLS:
        pytest.skip(REASON)
    folder = tmp_path_factory.mktemp("table")
    views = made_rows(N, widths=(12, 7), seed=1)
    write_files(folder, views, [300])
    whole = pa.concat_tables([pq.read_table(path) for path in sorted(folder.glob("*.parquet"))])
    return whole.append_column("title", pa.array([f"row {i}" for i in range(N)]))


@pytest.fixture(scope="module")
def run(table, tmp_path_factory):
    home = tmp_path_factory.mktemp("run")
    pq.write_table(table, home / "items.parquet")
    folder = RunFolder(home / "run")
    estimator = vp.ViewPass(4, scale="unit", random_state=0)
    fitting = Run(estimator, vp.scan(home / "items.parquet", id="item"), folder)
    folder.open(resume=False)
    fitting.go(RunOptions())
    return home


def joined(run, data, out):
    join(RunLabels(run / "run"), data, out)
    return pq.read_table(out)


# ---- join


def test_a_joined_table_is_the_table_and_its_labels(run, table, tmp_path):
    found = joined(run, vp.scan(run / "items.parquet"), tmp_path / "out.parquet")
    assert found.column_names == [*table.column_names, *OWN]
    assert found.select(table.column_names).equals(table)
    labels = pq.read_table(run / "run" / "labels.parquet")
    assert found["cluster"].equals(labels["cluster"])


def test_rows_in_another_order_are_matched_by_id(run, table, tmp_path):
    order = np.random.default_rng(0).permutation(N)[:500]
    found = joined(run, vp.scan(table.take(pa.array(order))), tmp_path / "out.parquet")
    labels = pq.read_table(run / "run" / "labels.parquet")["cluster"].to_numpy()
    np.testing.assert_array_equal(found["cluster"].to_numpy(), labels[order])


@pytest.fixture(scope="module")
def numbered(run, table, tmp_path_factory):
    """A run without ids."""
    folder = RunFolder(tmp_path_factory.mktemp("numbered") / "run")
    folder.open(resume=False)
    Run(vp.ViewPass(4, scale="unit", random_state=0), vp.scan(run / "items.parquet"), folder).go(RunOptions())
    return folder.path.parent


def test_rows_that_do_not_fit_are_refused(run, numbered, table, tmp_path, monkeypatch):
    """Also after some rows were written: a writer that is left open would complain when it is collected."""
    monkeypatch.setattr("viewpass.runs.labels.ROWS", 100)
    monkeypatch.setattr("viewpass.runs.tables.ROWS", 100)
    out = tmp_path / "out.parquet"
    other = table.set_column(0, "item", pa.array(np.arange(N) + 10**6))
    with pytest.raises(vp.DataError, match="row 0: its id 1000000 was not labelled"):
        joined(run, vp.scan(other), out)
    late = pa.concat_tables((table, other.slice(0, 1)))
    with pytest.raises(vp.DataError, match="row 700: its id 1000000 was not labelled"):
        joined(run, vp.scan(late), out)
    with pytest.raises(vp.SettingError, match="no column 'item'"):
        joined(run, vp.scan(table.drop_columns(["item"])), out)
    with pytest.raises(vp.DataError, match="ids are of type"):
        joined(run, vp.scan(table.set_column(0, "item", table["title"])), out)
    with pytest.raises(vp.SettingError, match="'cluster' is in the data and in the labels"):
        joined(run, vp.scan(table.append_column("cluster", pa.array(np.zeros(N)))), out)
    for n_rows, which in ((N - 1, "fewer"), (N + 1, "more")):
        with pytest.raises(vp.DataError, match=f"those of 700 rows, the data has {which}"):
            joined(numbered, vp.scan(pa.concat_tables((table, table)).slice(0, n_rows)), out)
    assert not out.exists()


@pytest.mark.parametrize("block", [N, 64, 1])
def test_every_table_of_the_rows_finds_its_labels(run, table, monkeypatch, block):
    """Whatever the order, the part, and the blocks in which the table and the labels are read."""
    monkeypatch.setattr("viewpass.runs.labels.ROWS", 100)
    monkeypatch.setattr("viewpass.runs.tables.ROWS", 100)
    labels = RunLabels(run / "run")
    clusters = pq.read_table(run / "run" / "labels.parquet")["cluster"].to_numpy()
    rng = np.random.default_rng(block)
    late = np.concatenate([np.arange(N // 2), N // 2 + rng.permutation(N - N // 2)])
    for order in (np.arange(N), rng.permutation(N), late, np.arange(300), np.arange(300, N), late[::-1][:9]):
        ids = table["item"].combine_chunks().take(pa.array(order))
        rows = RunRows(labels, ["cluster"], once=True)
        for start in range(0, len(order), block):
            some = ids.slice(start, block)
            found = rows.find(some, len(some))
            np.testing.assert_array_equal(found.numbers, order[start : start + block])
            np.testing.assert_array_equal(
                found.labels["cluster"].to_numpy(), clusters[order[start : start + block]]
            )
        rows.end()
    rows = RunRows(labels, [], once=True)
    rows.find(ids, len(ids))
    with pytest.raises(vp.DataError, match="is the id of several rows"):
        rows.find(ids.slice(3, 1), 1)


# ---- sample


def test_a_sample_is_balanced_and_the_same_again(run):
    labels = RunLabels(run / "run")
    found = sample(labels, 9)
    clusters, numbers = np.unique(found["cluster"].to_numpy(), return_counts=True)
    assert clusters.tolist() == [0, 1, 2, 3]
    assert numbers.tolist() == [9] * 4
    assert found.equals(sample(labels, 9))
    assert not found.equals(sample(labels, 9, seed=1))


def test_doubtful_rows_are_the_least_sure_of_each_cluster(run):
    found = sample(RunLabels(run / "run"), 5, doubtful=True).to_pandas()
    whole = pq.read_table(run / "run" / "labels.parquet").to_pandas()
    for cluster, mine in found.groupby("cluster"):
        lowest = np.sort(whole.loc[whole["cluster"] == cluster, "confidence"])[:5]
        np.testing.assert_array_equal(np.sort(mine["confidence"]), lowest)


# ---- dedup


def test_duplicates_are_those_of_all_pairs(run, table, tmp_path):
    """Copies with a little noise, some without one of their views, beside all pairs compared one by one."""
    model, labels = vp.load(run / "run" / "model.viewpass"), RunLabels(run / "run")
    out = tmp_path / "pairs.parquet"
    for threshold in (0.6, 0.8):
        n_pairs, _ = dedup(labels, model, vp.scan(run / "items.parquet"), out, threshold)
        found = pq.read_table(out)
        assert n_pairs == len(found) > 0
        views = [
            np.array([[np.nan] * w if x is None else x for x in table[f"v{v}"].to_pylist()])
            for v, w in enumerate((12, 7))
        ]
        lengths = [np.sqrt((x**2).sum(axis=1, keepdims=True)) for x in views]
        unit = [
            np.where(n > 0, x / np.where(n > 0, n, 1), np.nan) for x, n in zip(views, lengths, strict=True)
        ]
        with warnings.catch_warnings(action="ignore"):  # pairs that share no view
            cosine = np.nanmean([x @ x.T for x in unit], axis=0)
        cluster = pq.read_table(run / "run" / "labels.parquet")["cluster"].to_numpy()
        same = (cluster[:, None] == cluster) & (cluster >= 0)
        expected = np.argwhere(np.triu(same & (cosine >= threshold), 1))
        mine = np.column_stack([found["row_1"].to_numpy(), found["row_2"].to_numpy()])
        np.testing.assert_array_equal(mine[np.lexsort(mine.T[::-1])], expected)
        np.testing.assert_allclose(found["similarity"].to_numpy(), cosine[tuple(mine.T)], atol=1e-6)
        assert found["item_1"].to_pylist() == (2 * mine[:, 0] + 5).tolist()


def test_duplicates_of_sparse_views_are_those_of_all_pairs(tmp_path, monkeypatch):
    """A sparse view beside a dense one; blocks are smaller than clusters."""
    monkeypatch.setattr("viewpass.runs.duplicates.BLOCK", 40)
    monkeypatch.setattr("viewpass.runs.duplicates.ROWS", 64)
    rng = np.random.default_rng(3)
    words = rng.poisson(0.15, size=(150, 30)) * rng.random((150, 30))
    words = np.concatenate([words, words * rng.uniform(0.9, 1.1, size=words.shape)])
    words[rng.random(300) < 0.2] = 0.0
    dense = np.concatenate([rng.normal(size=(150, 5))] * 2) + 0.1 * rng.normal(size=(300, 5))
    column = [
        {"indices": np.flatnonzero(row).tolist(), "values": row[row > 0].tolist()} if row.any() else None
        for row in words
    ]
    kind = pa.struct({"indices": pa.list_(pa.int32()), "values": pa.list_(pa.float64())})
    table = pa.table({"words": pa.array(column, kind), "dense": pa.array(dense.tolist())})
    pq.write_table(table, tmp_path / "items.parquet")
    items = vp.scan(tmp_path / "items.parquet", views={"words": ("words", 30), "dense": "dense"})
    folder = RunFolder(tmp_path / "run")
    folder.open(resume=False)
    settings = {"random_state": 0, "scale": "unit", "consensus": "plain"}
    Run(vp.ViewPass(2, **settings), items, folder).go(RunOptions())
    folder.close()
    out = tmp_path / "pairs.parquet"
    n_pairs, _ = dedup(RunLabels(folder.path), vp.load(folder.model), items, out, 0.9)
    found = pq.read_table(out)
    lengths = [np.sqrt((x**2).sum(axis=1, keepdims=True)) for x in (words, dense)]
    unit = [x / np.where(n > 0, n, np.nan) for x, n in zip((words, dense), lengths, strict=True)]
    with warnings.catch_warnings(action="ignore"):  # pairs that share no view
        cosine = np.nanmean([x @ x.T for x in unit], axis=0)
    cluster = pq.read_table(folder.labels)["cluster"].to_numpy()
    expected = np.argwhere(np.triu((cluster[:, None] == cluster) & (cosine >= 0.9), 1))
    mine = np.column_stack([found["row_1"].to_numpy(), found["row_2"].to_numpy()])
    assert n_pairs == len(expected) > 30
    both = np.array([(~np.isnan(x[:, 0])).astype(int) for x in unit])
    assert (
        found["views_shared"].to_pylist() == (both[:, mine[:, 0]] & both[:, mine[:, 1]]).sum(axis=0).tolist()
    )
    np.testing.assert_array_equal(mine[np.lexsort(mine.T[::-1])], expected)
    np.testing.assert_allclose(found["similarity"].to_numpy(), cosine[tuple(mine.T)], atol=1e-6)


@pytest.mark.parametrize("n_rows", [N, 500])
def test_duplicates_do_not_depend_on_the_order_of_the_table(run, table, tmp_path, n_rows):
    model, labels = vp.load(run / "run" / "model.viewpass"), RunLabels(run / "run")
    some = np.random.default_rng(0).permutation(N)[:n_rows]
    for name, data in (("a", table.take(pa.array(np.sort(some)))), ("b", table.take(pa.array(some)))):
        dedup(labels, model, vp.scan(data), tmp_path / f"{name}.parquet", 0.8)
    one, other = (pq.read_table(tmp_path / f"{name}.parquet") for name in "ab")
    assert len(one) > 0
    assert one.equals(other)
    assert set(one["row_1"].to_pylist()) <= set(some.tolist())
    assert one["item_2"].to_pylist() == (2 * one["row_2"].to_numpy() + 5).tolist()


def test_dedup_shows_its_progress_where_nothing_is_found_and_can_be_stopped(run, tmp_path, monkeypatch):
    monkeypatch.setattr("viewpass.runs.duplicates.BLOCK", 32)
    given = RunLabels(run / "run"), vp.load(run / "run" / "model.viewpass"), vp.scan(run / "items.parquet")
    out, seen = tmp_path / "pairs.parquet", []
    assert dedup(*given, out, 1.0, lambda what, row: seen.append((what, row))) == (0, 0)
    compared = [row for what, row in seen if what == "comparing"]
    assert seen[0] == ("reading", N)
    assert compared == sorted(compared)
    assert len(set(compared)) > 10

    def stop(what, row):
        assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []
        if what == "comparing":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        dedup(*given, tmp_path / "again.parquet", 1.0, stop)
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.parquet"]


def test_dedup_refuses_other_data(run, numbered, table, tmp_path):
    model, labels = vp.load(run / "run" / "model.viewpass"), RunLabels(run / "run")
    with pytest.raises(vp.DataError, match="those of 700 rows"):
        dedup(
            RunLabels(numbered / "run"), model, vp.scan(table.slice(0, 600)), tmp_path / "pairs.parquet", 0.9
        )
    twice = pa.concat_tables((table, table.slice(3, 1)))
    with pytest.raises(vp.DataError, match="11 is the id of several rows"):
        dedup(labels, model, vp.scan(twice), tmp_path / "pairs.parquet", 0.9)
    with pytest.raises(vp.SettingError, match="no column 'item'"):
        dedup(labels, model, vp.scan(table.drop_columns(["item"])), tmp_path / "pairs.parquet", 0.9)
    with pytest.raises(vp.SettingError, match="threshold=0"):
        dedup(labels, model, vp.scan(table), tmp_path / "pairs.parquet", 0.0)
    assert not list(tmp_path.iterdir())


# ---- frames and batches


def test_frames_hold_what_label_files_do(run, table):
    model = vp.load(run / "run" / "model.viewpass")
    rows = vp.scan(run / "items.parquet", id="item")
    frame = model.labels_frame(rows, keep=["title"])
    assert list(frame.columns) == ["item", "title", *OWN]
    whole = pq.read_table(run / "run" / "labels.parquet").to_pandas()
    pd.testing.assert_frame_equal(frame.drop(columns="title"), whole, check_dtype=False)
    assert isinstance(model.labels_frame(rows, kind="polars"), pl.DataFrame)
    with pytest.raises(vp.SettingError, match="choose 'pandas'"):
        model.labels_frame(rows, kind="frame")


def test_a_function_of_batches_gives_the_labels_of_predict(run, table):
    model = vp.load(run / "run" / "model.viewpass")
    label = pickle.loads(pickle.dumps(vp.BatchPredictor(run / "run" / "model.viewpass", keep=["item"])))
    whole = pq.read_table(run / "run" / "labels.parquet")
    parts = list(label.iterate(table.to_batches(max_chunksize=64)))
    assert all(isinstance(part, pa.RecordBatch) for part in parts)
    found = pa.Table.from_batches(parts)
    assert found.column_names == ["item", *OWN]
    assert found["cluster"].to_pylist() == whole["cluster"].to_pylist()
    np.testing.assert_array_equal(found["cluster"].to_numpy(), model.predict(vp.scan(table, id="item")))
    empty = label(table.slice(0, 0))
    assert empty.schema.names == found.schema.names
    assert len(empty) == 0


def test_a_batch_that_cannot_be_labelled_is_refused(run, table):
    model = vp.load(run / "run" / "model.viewpass")
    with pytest.raises(vp.DataError, match="none of the views"):
        vp.BatchPredictor(model)(table.select(["item"]))
    with pytest.raises(vp.DataError, match="a RecordBatch or a Table"):
        vp.BatchPredictor(model)(table.to_pandas())
    with pytest.raises(vp.SettingError, match="no column 'gone'"):
        vp.BatchPredictor(model, keep=["gone"])(table)


def test_duckdb_and_polars_label_rows_batch_by_batch(run, table):
    import duckdb

    label = vp.BatchPredictor(run / "run" / "model.viewpass", keep=["item", "title"])
    schema = label(table.slice(0, 0)).schema
    expected = pq.read_table(run / "run" / "labels.parquet")["cluster"].to_pylist()
    rows = pa.RecordBatchReader.from_stream(duckdb.sql(f"select * from '{run / 'items.parquet'}'"))
    labelled = pa.RecordBatchReader.from_batches(schema, map(label, rows))
    with duckdb.connect() as other:  # one connection does one thing at a time
        sizes = other.from_arrow(labelled).aggregate("cluster, count(*) as n").fetchall()
    assert dict(sizes) == {k: expected.count(k) for k in sorted(set(expected))}
    lazy = pl.scan_parquet(run / "items.parquet")
    made = lazy.map_batches(
        lambda frame: pl.from_arrow(label(frame.to_arrow())),
        schema=pl.Schema(pl.from_arrow(schema.empty_table()).schema),
    )
    assert made.collect()["cluster"].to_list() == expected
