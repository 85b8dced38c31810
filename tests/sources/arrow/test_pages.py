"""The fast list reader returns what PyArrow reads from the same file, however it was written."""

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import viewpass as vp
from fixed_lists import FIXED
from tables import with_size
from viewpass.estimators import base
from viewpass.kernels.backend import native
from viewpass.sources import source
from viewpass.sources.arrow import formats, pages
from viewpass.sources.arrow.formats import Parquet
from viewpass.sources.files import find_files
from zipped import zipped

compiled = pytest.mark.skipif(native is None, reason="the module is not compiled: PyArrow reads the lists")
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


def assert_read(path, table, columns=tuple(WIDTHS), **how):
    """What is read from the file has the rows and types of the table; returns the numbers of rows."""
    found = [rows for _, rows in batches(path, list(columns), **how)]
    expected = table.select(list(columns))
    assert [field.type for field in found[0].schema] == [field.type for field in expected.schema]
    assert pa.Table.from_batches(found).to_pylist() == expected.to_pylist()
    return [rows.num_rows for rows in found]


@pytest.fixture
def no_arrow(monkeypatch):
    """Make PyArrow fail to read rows."""

    class Closed(pq.ParquetFile):
        def iter_batches(self, *arguments, **names):
            raise AssertionError("rows were read by PyArrow")

    monkeypatch.setattr(formats.pq, "ParquetFile", Closed)


WRITTEN = {
    "plain": {"use_dictionary": False},
    "dictionary first": {"dictionary_pagesize_limit": 4096},
    "small pages": {"data_page_size": 512, "write_batch_size": 50},
    "newer pages": {"data_page_version": "2.0", "data_page_size": 4096},
    "newer, as they are": {"data_page_version": "2.0", "compression": "none"},
    "row groups": {"row_group_size": 333},
    "as they are": {"compression": "none", "data_page_size": 4096},
    "zstd": {"compression": "zstd"},
    "with checksums": {"write_page_checksum": True},
}


@compiled
@pytest.mark.parametrize("how", WRITTEN)
@pytest.mark.parametrize("kind", ["list", "large", FIXED])
def test_rows_and_types_are_those_of_pyarrow(tmp_path, no_arrow, how, kind):
    for few, number in itertools.product((False, True), (pa.float32(), pa.float64())):
        table = made(kind, number, few=few)
        pq.write_table(table, tmp_path / "a.parquet", **WRITTEN[how])
        assert_read(tmp_path, table)


@compiled
@pytest.mark.parametrize("writer", ["polars", "duckdb"])
def test_files_of_other_writers(tmp_path, no_arrow, writer):
    path = str(tmp_path / "a.parquet")
    table = made()
    if writer == "polars":
        pytest.importorskip("polars").from_arrow(table).write_parquet(path)
    else:
        pytest.importorskip("duckdb").from_arrow(table).write_parquet(path)
    found = pa.Table.from_batches([rows for _, rows in batches(path, list(WIDTHS))])
    assert found.to_pylist() == table.select(list(WIDTHS)).to_pylist()  # their types may differ


@pytest.mark.parametrize("missing", [0.0, 1.0])
def test_all_rows_present_or_all_missing(tmp_path, missing):
    table = made(missing=missing)
    pq.write_table(table, tmp_path / "a.parquet")
    assert_read(tmp_path, table)


@compiled
def test_lists_that_cannot_be_null(tmp_path, no_arrow):
    table = made(missing=0.0, required=True)
    pq.write_table(table, tmp_path / "a.parquet")
    assert_read(tmp_path, table, ["text", "image"])


@compiled
def test_batches_end_at_multiples_of_their_size(tmp_path, no_arrow):
    pq.write_table(made(), tmp_path / "a.parquet", row_group_size=1000)
    found = batches(tmp_path, list(WIDTHS), size=700, start=1500, first=250)
    assert [row for row, _ in found] == [1000, *range(1150, N_ROWS, 700)]


@compiled
def test_other_columns_in_the_same_batches(tmp_path):
    table = made()
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1234)
    lengths = assert_read(tmp_path, table, ["text", "item", "image"], size=700, first=100)
    assert lengths[:2] == [600, 700]


@compiled
def test_columns_of_any_type_may_be_in_the_file(tmp_path, no_arrow):
    """Whatever the footer states of other columns, lists are read by the fast reader."""
    table = made(n_rows=300)
    number = table.column("item")
    others = {
        "text_id": number.cast(pa.string()),
        "when": number.cast(pa.timestamp("us")),
        "price": number.cast(pa.decimal128(25, 2)),
        "flag": pa.array([True, None, False] * 100),
        "tags": pa.array([["a", "b"], [], None] * 100),
        "about": pa.array([{"colour": "red", "sizes": [1, 2]}] * 300),
        "nothing": pa.nulls(300),
    }
    for name, column in others.items():
        table = table.append_column(name, column)
    for settings in ({}, {"write_page_index": True}, {"sorting_columns": [pq.SortingColumn(0)]}):
        pq.write_table(table, tmp_path / "a.parquet", **settings)
        assert_read(tmp_path, table)


@pytest.mark.parametrize("row", [0, 3210])
@pytest.mark.parametrize("odd", [[1.0, 2.0], [1.0, None, 3.0], [1.0] * 4, []])
def test_lists_of_another_length_are_read_by_pyarrow(tmp_path, row, odd):
    lists = [[float(n), 1.0, 2.0] if n % 3 else None for n in range(N_ROWS)]
    lists[row] = odd
    table = pa.table({"text": pa.array(lists, pa.list_(pa.float32()))})
    pq.write_table(table, tmp_path / "a.parquet", data_page_size=1024)
    assert_read(tmp_path, table, ["text"])
    found = batches(tmp_path, ["text"])
    assert [first for first, _ in found] == sorted({first for first, _ in found})


ENDS = {
    "file": (N_ROWS - 1, {}),
    "batch": (1399, {"data_page_size": 1024}),
    "row group": (999, {"row_group_size": 1000}),
    "batch and row group": (699, {"row_group_size": 700, "use_dictionary": False}),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("compression", ["none", "snappy"])
def test_a_longer_list_at_an_end(tmp_path, end, compression):
    row, settings = ENDS[end]
    lists = [[float(n), 1.0, 2.0] if n % 3 else None for n in range(N_ROWS)]
    lists[row] = [1.0, 2.0, 3.0, 4.0, 5.0]
    table = pa.table({"text": pa.array(lists, pa.list_(pa.float32()))})
    pq.write_table(table, tmp_path / "a.parquet", compression=compression, **settings)
    assert_read(tmp_path, table, ["text"])


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_a_longer_list_at_the_end_of_a_page(tmp_path, version):
    """Pages of a few rows: one of them ends with each of the rows, or within its list."""
    settings = {"data_page_size": 60, "write_batch_size": 5, "use_dictionary": False}
    for row in range(40):
        lists = [[float(n), 1.0, 2.0] for n in range(40)]
        lists[row] = [1.0, 2.0, 3.0, 4.0]
        table = pa.table({"text": pa.array(lists, pa.list_(pa.float32()))})
        pq.write_table(table, tmp_path / "a.parquet", data_page_version=version, **settings)
        for size in (1, 7, row + 1):
            assert_read(tmp_path, table, ["text"], size=size)


def test_clusters_are_the_same_as_through_pyarrow(tmp_path, monkeypatch):
    for number in range(3):
        pq.write_table(made(seed=number), tmp_path / f"{number}.parquet", row_group_size=1300)
    mine = vp.OPIMC(4, chunk_size=512, random_state=0).fit(vp.scan(tmp_path))
    monkeypatch.setattr(formats, "plain_lists", lambda opened, columns: [])
    theirs = vp.OPIMC(4, chunk_size=512, random_state=0).fit(vp.scan(tmp_path))
    assert (mine.loss_curve_ == theirs.loss_curve_).all()
    assert (mine.labels_ == theirs.labels_).all()
    for one, other in zip(mine.cluster_centers_, theirs.cluster_centers_, strict=True):
        assert (one == other).all()


def rows_or_error(path, monkeypatch, *, fast, size=700):
    """The rows as text (NaN equals itself), or None if they are refused; `fast`: not by PyArrow alone."""
    with monkeypatch.context() as patch:
        if not fast:
            patch.setattr(formats, "plain_lists", lambda opened, columns: [])
        try:
            return repr([row for _, rows in batches(path, list(WIDTHS), size) for row in rows.to_pylist()])
        except (pa.ArrowException, OSError):
            return None


@compiled
@pytest.mark.parametrize("compression", ["none", "snappy"])
def test_damaged_pages_give_the_rows_of_pyarrow_or_an_error(tmp_path, monkeypatch, compression):
    path = tmp_path / "a.parquet"
    options = {"data_page_size": 512, "row_group_size": 60, "dictionary_pagesize_limit": 256}
    pq.write_table(made(n_rows=120), path, compression=compression, **options)
    sound, sound_rows = path.read_bytes(), rows_or_error(path, monkeypatch, fast=True)
    end = len(sound) - int.from_bytes(sound[-8:-4], "little") - 8
    by_pyarrow = []

    class Counting(pq.ParquetFile):
        def iter_batches(self, *arguments, **names):
            by_pyarrow.append(path)
            return super().iter_batches(*arguments, **names)

    rng = np.random.default_rng(1)
    n_refused = n_changed = n_fast = 0
    for _ in range(150):
        damaged = bytearray(sound)
        for place in rng.integers(4, end, rng.integers(1, 4)):
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged)
        by_pyarrow.clear()
        with monkeypatch.context() as patch:
            patch.setattr(formats.pq, "ParquetFile", Counting)
            found = rows_or_error(path, monkeypatch, fast=True)
        n_fast += found is not None and not by_pyarrow
        assert found == rows_or_error(path, monkeypatch, fast=False)
        if found is None:
            n_refused += 1
            with pytest.raises(vp.DataError, match=r"a\.parquet"):
                list(vp.scan(path, views=list(WIDTHS)).chunks(700))
        n_changed += found not in (None, sound_rows)
    assert n_refused > 15
    assert n_changed > 15  # damage that shows in the rows, and in the same way in PyArrow's
    assert n_fast > 15  # and of files that the fast reader read alone


def test_damaged_footers_give_the_rows_of_pyarrow_or_an_error(tmp_path, monkeypatch):
    """The same for each byte of the footer, on some of which PyArrow's description of a column crashes."""
    path = tmp_path / "a.parquet"
    pq.write_table(made(n_rows=40), path, row_group_size=25)
    sound = path.read_bytes()
    end = len(sound) - int.from_bytes(sound[-8:-4], "little") - 8
    schema = sound.index(b"ARROW:schema")  # the rest is text
    answers = []
    for place in range(end, schema):
        damaged = bytearray(sound)
        damaged[place] ^= 0x10
        path.write_bytes(damaged)
        try:
            names = pq.read_schema(path).names
        except (pa.ArrowException, OSError):
            continue
        if set(WIDTHS) <= set(names):
            answers.append(rows_or_error(path, monkeypatch, fast=True, size=7))
            assert answers[-1] == rows_or_error(path, monkeypatch, fast=False, size=7)
    assert answers.count(None) > 10
    assert len(answers) - answers.count(None) > 10


@compiled
@pytest.mark.parametrize(
    ("version", "codec"), zipped(["1.0", "2.0"], ["snappy", "zstd", "gzip", "brotli", "snappy, lying"])
)
def test_pages_that_are_shorter_than_stated(tmp_path, monkeypatch, codec, version):
    """Memory that was never written to must not be returned as rows."""
    lying, codec = codec.endswith("lying"), codec.split(",")[0]
    n_rows, path = 20_000, tmp_path / "a.parquet"
    rows = np.random.default_rng(0).integers(50, size=(n_rows, 3)).astype(np.float32)
    table = pa.table({"text": pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 3)})
    settings = {"use_dictionary": False, "data_page_size": 2**22, "data_page_version": version}
    pq.write_table(table, path, compression=codec, **settings)
    data = path.read_bytes()
    header = native.page_header(np.frombuffer(data, dtype=np.uint8)[4:1000])
    levels_end = 4 + header.length + header.levels_size
    body = data[levels_end : 4 + header.length + header.packed_size]
    content = pa.Codec(codec).decompress(body, header.full_size - header.levels_size).to_pybytes()
    short = pa.Codec(codec).compress(content[: len(content) // 2]).to_pybytes()
    if lying:  # the stream's own length is the full one
        short = body[:3] + short[3:]
    data = data[:levels_end] + short + data[levels_end + len(short) :]
    _, at = with_size(data, 7, header.full_size)
    data, _ = with_size(data, at + 1, header.levels_size + len(short))
    path.write_bytes(data)
    changed = native.page_header(np.frombuffer(data, dtype=np.uint8)[4:1000])
    assert (changed.full_size, changed.packed_size) == (header.full_size, header.levels_size + len(short))
    for n_bytes in [header.full_size, len(content)] * 4:
        np.frombuffer(pa.allocate_buffer(n_bytes), dtype=np.uint8)[:] = 0x5A
    reading = (
        batch.column(0).flatten() for _, batch in Parquet().read(find_files(path)[0], ["text"], 1000, 0)
    )
    seen = []
    with pytest.raises((pa.ArrowException, OSError)):
        seen.extend(reading)
    assert not any((part.to_numpy().view(np.uint32) == 0x5A5A5A5A).any() for part in seen)


@compiled
@pytest.mark.parametrize("codec", ["gzip", "brotli"])
def test_codecs_that_cannot_prove_their_length_are_left_to_pyarrow(tmp_path, codec):
    table = made(n_rows=500)
    pq.write_table(table, tmp_path / "a.parquet", compression=codec)
    opened = pq.ParquetFile(tmp_path / "a.parquet")
    with pytest.raises(pages.UnsupportedError):
        pages.PlainRows(str(tmp_path / "a.parquet"), opened, pages.plain_lists(opened, list(WIDTHS)), [0])
    assert_read(tmp_path, table)


def test_without_the_native_core(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "native", None)
    table = made(n_rows=500)
    pq.write_table(table, tmp_path / "a.parquet")
    assert_read(tmp_path, table)


@compiled
def test_damaged_headers_are_refused():
    with pytest.raises(ValueError):
        native.page_header(np.zeros(40, dtype=np.uint8))
    rng = np.random.default_rng(2)
    n_refused = 0
    for _ in range(2000):
        try:
            found = native.page_header(rng.integers(256, size=60, dtype=np.uint8))
        except ValueError:
            n_refused += 1
            continue
        assert 0 < found.length <= 60
        assert 0 <= found.levels_size <= min(found.packed_size, found.full_size)
    assert n_refused > 1900


def test_large_pages_are_left_to_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "MOST_PAGE", 1000)
    table = made()
    pq.write_table(table, tmp_path / "a.parquet")
    assert_read(tmp_path, table)


def test_rows_labelled_together_get_the_same_labels(tmp_path, monkeypatch):
    for number in range(2):
        pq.write_table(made(seed=number), tmp_path / f"{number}.parquet")
    model = vp.OPIMC(4, chunk_size=300, random_state=0).fit(vp.scan(tmp_path))
    monkeypatch.setattr(base, "PREDICT_BLOCK", 300)
    together = model.predict(vp.scan(tmp_path))
    monkeypatch.setattr(source, "READ_ROWS", 0)
    assert (together == model.predict(vp.scan(tmp_path))).all()
