"""Lists read straight from pages: what PyArrow reads from the same file, whoever wrote it and however."""

import itertools
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import viewpass as vp
from viewpass.cluster import base
from viewpass.engine import local
from viewpass.kernels.native import native
from viewpass.sources.arrow import pages, parquet
from viewpass.sources.arrow.files import find_files
from viewpass.sources.arrow.parquet import Parquet

N_ROWS, WIDTHS = 5_000, {"image": 24, "text": 3}
FLOAT = pa.float32()


def made(kind="list", number=FLOAT, n_rows=N_ROWS, missing=0.3, few=False, required=False, seed=0):
    """A table of lists; `few`: of few different values."""
    rng = np.random.default_rng(seed)
    columns, fields = [pa.array(np.arange(n_rows))], [pa.field("item", pa.int64())]
    for name, width in WIDTHS.items():
        values = rng.integers(0, 7, (n_rows, width)) if few else rng.standard_normal((n_rows, width))
        absent = rng.random(n_rows) < missing
        lists = [None if gone else row.tolist() for row, gone in zip(values, absent, strict=True)]
        element = pa.field("element", number, nullable=not required)
        type = {"list": pa.list_(element), "large": pa.large_list(element), "fixed": pa.list_(element, width)}
        fields.append(pa.field(name, type[kind], nullable=not required))
        columns.append(pa.array(lists, type[kind]))
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def batches(path, columns, size=700, start=0, first=0):
    (file,) = find_files(path)
    return list(Parquet().read(file, columns, size, start, first))


@pytest.fixture
def no_arrow(monkeypatch):
    """PyArrow's own reading of rows is out of order."""

    class Closed(pq.ParquetFile):
        def iter_batches(self, *arguments, **names):
            raise AssertionError("PyArrow was asked for rows")

    monkeypatch.setattr(parquet.pq, "ParquetFile", Closed)


WRITTEN = {
    "plain": {"use_dictionary": False},
    "dictionary first": {"dictionary_pagesize_limit": 4096},
    "small pages": {"data_page_size": 512, "write_batch_size": 50},
    "newer pages": {"data_page_version": "2.0", "data_page_size": 4096},
    "newer, as they are": {"data_page_version": "2.0", "compression": "none"},
    "row groups": {"row_group_size": 333},
    "as they are": {"compression": "none", "data_page_size": 4096},
    "zstd": {"compression": "zstd"},
    "gzip": {"compression": "gzip", "use_dictionary": False},
    "with checksums": {"write_page_checksum": True},
}


@pytest.mark.parametrize("how", WRITTEN)
@pytest.mark.parametrize("kind", ["list", "large", "fixed"])
def test_as_pyarrow_reads_them(tmp_path, no_arrow, how, kind):
    for few, number in itertools.product((False, True), (pa.float32(), pa.float64())):
        table = made(kind, number, few=few)
        pq.write_table(table, tmp_path / "a.parquet", **WRITTEN[how])
        found = pa.Table.from_batches([rows for _, rows in batches(tmp_path, list(WIDTHS))])
        assert found.schema.field("image").type == table.schema.field("image").type
        assert found.to_pylist() == table.select(list(WIDTHS)).to_pylist()


@pytest.mark.parametrize("missing", [0.0, 1.0])
def test_all_or_none(tmp_path, missing):
    table = made(missing=missing)
    pq.write_table(table, tmp_path / "a.parquet")
    found = pa.Table.from_batches([rows for _, rows in batches(tmp_path, list(WIDTHS))])
    assert found.to_pylist() == table.select(list(WIDTHS)).to_pylist()


def test_lists_that_must_be_there(tmp_path, no_arrow):
    table = made(missing=0.0, required=True)
    pq.write_table(table, tmp_path / "a.parquet")
    found = pa.Table.from_batches([rows for _, rows in batches(tmp_path, ["text", "image"])])
    assert found.to_pylist() == table.select(["text", "image"]).to_pylist()


def test_batches_end_at_multiples(tmp_path, no_arrow):
    pq.write_table(made(), tmp_path / "a.parquet", row_group_size=1000)
    found = batches(tmp_path, list(WIDTHS), size=700, start=1500, first=250)
    assert [row for row, _ in found] == [1000, *range(1150, N_ROWS, 700)]


def test_other_columns_beside_them(tmp_path):
    table = made()
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1234)
    found = batches(tmp_path, ["text", "item", "image"], size=700, first=100)
    assert [rows.num_rows for _, rows in found][:2] == [600, 700]
    rows = pa.Table.from_batches([rows for _, rows in found])
    assert rows.to_pylist() == table.select(["text", "item", "image"]).to_pylist()


@pytest.mark.parametrize("row", [0, 3210])
@pytest.mark.parametrize("odd", [[1.0, 2.0], [1.0, None, 3.0], [1.0] * 4, []])
def test_odd_lists_are_read_by_pyarrow(tmp_path, row, odd):
    lists = [[float(n), 1.0, 2.0] if n % 3 else None for n in range(N_ROWS)]
    lists[row] = odd
    table = pa.table({"text": pa.array(lists, pa.list_(pa.float32()))})
    pq.write_table(table, tmp_path / "a.parquet", data_page_size=1024)
    found = batches(tmp_path, ["text"])
    assert [first for first, _ in found] == sorted({first for first, _ in found})
    want = [None if each == [] else each for each in lists]
    rows = pa.Table.from_batches([rows for _, rows in found]).column("text").to_pylist()
    assert [None if each == [] else each for each in rows] == want


def test_clusters_are_the_same_as_through_pyarrow(tmp_path, monkeypatch):
    for number in range(3):
        pq.write_table(made(seed=number), tmp_path / f"{number}.parquet", row_group_size=1300)
    mine = vp.OPIMC(4, chunk_size=512, random_state=0).fit(vp.scan(tmp_path))
    monkeypatch.setattr(parquet, "plain_lists", lambda opened, columns: [])
    theirs = vp.OPIMC(4, chunk_size=512, random_state=0).fit(vp.scan(tmp_path))
    assert (mine.loss_curve_ == theirs.loss_curve_).all()
    assert (mine.labels_ == theirs.labels_).all()
    for one, other in zip(mine.cluster_centers_, theirs.cluster_centers_, strict=True):
        assert (one == other).all()


def test_damaged_pages_do_no_harm(tmp_path):
    """Whatever the bytes are: rows as PyArrow reads them, or its error; never another."""
    path = tmp_path / "a.parquet"
    options = {"data_page_size": 2048, "row_group_size": 600, "dictionary_pagesize_limit": 512}
    pq.write_table(made(n_rows=1200), path, **options)
    sound = path.read_bytes()
    end = len(sound) - int.from_bytes(sound[-8:-4], "little") - 8
    rng = np.random.default_rng(1)
    n_read = 0
    for _ in range(300):
        damaged = bytearray(sound)
        for place in rng.integers(4, end, rng.integers(1, 4)):
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged)
        with suppress(pa.ArrowException, OSError):
            n_read += sum(rows.num_rows for _, rows in batches(path, list(WIDTHS)))
    assert n_read > 0


def test_damaged_headers_are_refused():
    with pytest.raises(ValueError):
        native.page_header(np.zeros(40, dtype=np.uint8))
    rng = np.random.default_rng(2)
    for _ in range(2000):
        with suppress(ValueError):
            found = native.page_header(rng.integers(256, size=60, dtype=np.uint8))
            assert 0 < found.length <= 60


def test_large_pages_are_left_to_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "MOST_PAGE", 1000)
    table = made()
    pq.write_table(table, tmp_path / "a.parquet")
    found = pa.Table.from_batches([rows for _, rows in batches(tmp_path, list(WIDTHS))])
    assert found.to_pylist() == table.select(list(WIDTHS)).to_pylist()


def test_rows_labelled_together_get_the_same_labels(tmp_path, monkeypatch):
    for number in range(2):
        pq.write_table(made(seed=number), tmp_path / f"{number}.parquet")
    model = vp.OPIMC(4, chunk_size=300, random_state=0).fit(vp.scan(tmp_path))
    monkeypatch.setattr(base, "PREDICT_BLOCK", 300)
    together = model.predict(vp.scan(tmp_path))
    monkeypatch.setattr(local, "READ_TOGETHER", 0)
    assert (together == model.predict(vp.scan(tmp_path))).all()
