"""`chunk_size="auto"`: where chunks end depends on the clusters and the rows' width alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import viewpass as vp
from clusters import assert_same, made_rows, write_files
from viewpass.engine.schedule import MOST_BYTES, MOST_ROWS, SHARE, Schedule, view_bytes
from viewpass.views.chunk import Chunk


def schedule(n_clusters, row_bytes):
    made = Schedule(n_clusters)
    made.row_bytes = row_bytes
    return made


def edges(cuts, n_rows):
    found = [0]
    while found[-1] < n_rows:
        found.append(cuts.stop(found[-1]))
    return np.array(found)


@given(st.one_of(st.none(), st.integers(1, 20_000)), st.integers(1, 10**6))
def test_sizes(n_clusters, row_bytes):
    cuts = schedule(n_clusters, row_bytes)
    least = max(2000, 10 * (n_clusters or 10))
    ends = edges(cuts, 40 * least)
    sizes = np.diff(ends)
    assert (sizes[:8] == least).all()
    assert (np.diff(sizes) >= 0).all()
    assert (sizes[8:] * SHARE <= ends[8:-1]).all() or (sizes[8:] == least).all()
    assert sizes.max() <= max(least, min(MOST_ROWS, MOST_BYTES // row_bytes))
    assert cuts.largest >= sizes.max()


@given(st.integers(1, 3000), st.integers(1, 10**5), st.integers(0, 10**7))
def test_every_row_of_a_chunk_knows_its_end(n_clusters, row_bytes, row):
    """So that a run resumes, and a source cuts its batches, anywhere."""
    cuts = schedule(n_clusters, row_bytes)
    size = cuts.size(row)
    assert cuts.stop(row) == cuts.stop(row // size * size) == row // size * size + size


def test_the_warmup_is_hit_within_a_first_chunk():
    for n_clusters in (1, 80, 100, 200, 1000, 10_000):
        cuts, wanted = Schedule(n_clusters), max(4000, 50 * n_clusters)
        ends = edges(cuts, wanted)
        assert wanted <= ends[-1] < wanted + cuts.first


def test_width_counts_the_views_that_rows_have():
    dense, words = np.ones((5, 30), dtype=np.float32), scipy.sparse.csr_array(np.eye(5, 3000))
    absent = np.full((5, 700), np.nan)
    assert view_bytes(Chunk.of([dense, words, absent, None])) == [120, 8 * 256, 0, 0]
    assert view_bytes(Chunk.of([dense.astype(np.float64), words[:, :9], absent, None])) == [120, 72, 0, 0]


@pytest.fixture(scope="module")
def rows():
    """More rows than the first eight chunks; a view that shows only after the first."""
    views = made_rows(30_000, widths=(12, 7, 5))
    views[2][:2500] = np.nan
    views[0][-3000:] = np.nan
    return views, np.stack([~np.isnan(x[:, 0]) for x in views], axis=1)


# Nothing is compared first: the matter is the steps.
SETTINGS = {"random_state": 0, "n_threads": 1, "scale": "unit", "n_anchors": None}


@pytest.fixture(scope="module")
def local(rows):
    views, observed = rows
    names = [f"v{v}" for v in range(3)]
    return vp.OPIMC(4, **SETTINGS).fit(dict(zip(names, views, strict=True)), observed=observed)


@pytest.fixture(scope="module")
def table(rows):
    views, _ = rows
    columns = {"item": np.arange(len(views[0]))}
    for v, x in enumerate(views):
        columns[f"v{v}"] = pa.array([None if np.isnan(row[0]) else row for row in x])
    return pa.table(columns)


def test_files_and_streams_of_any_batches_take_the_same_steps(rows, table, local, tmp_path):
    views, _ = rows
    assert (
        len(local.loss_curve_) == 10
    )  # 6,000 rows to start with (some lack all views), 5 x 2,000, 4 x 4,000
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=777))
    for source in (
        write_files(tmp_path / "files", views, cuts=[3100, 3101, 17_000]),
        vp.scan(table, id="item"),
        vp.scan(reader, id="item"),
    ):
        found = vp.OPIMC(4, **SETTINGS).fit(source)
        assert_same(found, local)
        if source.rereadable:
            np.testing.assert_array_equal(found.labels_, local.labels_)


def test_partial_fit_of_a_table_takes_the_same_steps(table, local):
    assert_same(vp.OPIMC(4, **SETTINGS).partial_fit(vp.scan(table, id="item")), local)


def test_several_passes(rows, table):
    views, observed = rows
    two = {**SETTINGS, "n_passes": 2}
    assert_same(
        vp.OPIMC(4, **two).fit(vp.scan(table, id="item")),
        vp.OPIMC(4, **two).fit({f"v{v}": x for v, x in enumerate(views)}, observed=observed),
    )


def test_the_command_line_takes_the_same_steps(commands, rows, local, tmp_path):
    write_files(tmp_path / "files", rows[0], cuts=[3100, 3101, 17_000])
    settings = ["-k", "4", "--id", "item", "--scale", "unit", "--anchors", "none"]
    given = ["fit", tmp_path / "files", *settings, "--out"]
    assert commands.run(*given, tmp_path / "run").code == 0
    found = vp.load(tmp_path / "run" / "model.viewpass")
    assert_same(found, local, labels=False)
    fault = {"step": "chunk", "when": "before", "number": 10, "how": "SIGTERM"}
    assert commands.run(*given, tmp_path / "stopped", fault=fault).code == 143
    assert commands.run(*given, tmp_path / "stopped", "--resume").code == 0
    files = [tmp_path / name / "model.viewpass" for name in ("run", "stopped")]
    assert files[0].read_bytes() == files[1].read_bytes()
