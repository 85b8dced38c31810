"""Errors in files are reported in one line that names file, column and row; nothing else changes."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import scipy.sparse

import viewpass as vp
from fixed_lists import FIXED, needs_nulls
from tables import IMAGE, N, pieces, rows_of, table, with_size


def refused(says, call):
    with pytest.raises(vp.DataError, match=says) as caught:
        call()
    assert "\n" not in str(caught.value)


def read_all(*given, **options):
    return rows_of(vp.scan(*given, **options), 64)


@pytest.fixture
def parts(tmp_path):
    return pieces(tmp_path / "items")


def test_a_file_that_is_removed(parts):
    source = vp.scan(parts)
    parts[2].unlink()
    refused(r"part-2.parquet: the file no longer exists", lambda: list(source.chunks(64)))
    refused(r"part-2.parquet: there is no such file or folder", lambda: vp.scan(parts))


def test_a_file_that_is_replaced(parts):
    source = vp.scan(parts)
    pq.write_table(table("list", 0, 30), parts[2])
    refused(r"part-2.parquet had 329 rows and has 30 now", lambda: list(source.chunks(64)))


def test_a_file_whose_columns_are_replaced(parts):
    source = vp.scan(parts)
    pq.write_table(table("list", 171, N).drop(["image"]), parts[2])
    refused(r"part-2.parquet: there is no column 'image', which it had", lambda: list(source.chunks(64)))


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999])
def test_a_truncated_file(parts, share):
    content = parts[1].read_bytes()
    parts[1].write_bytes(content[: int(share * len(content))])
    refused(r"part-1.parquet cannot be read as Parquet", lambda: vp.scan(parts))


def test_a_damaged_file(parts):
    content = bytearray(parts[2].read_bytes())
    half = len(content) // 2
    content[half - 3000 : half + 3000] = bytes(6000)
    parts[2].write_bytes(content)
    refused(r"part-2.parquet, .*row \d+", lambda: read_all(parts))


def test_a_truncated_feather_file(tmp_path):
    path = tmp_path / "items.feather"
    pyarrow.feather.write_feather(table(), path)
    path.write_bytes(path.read_bytes()[:-100])
    refused(r"items.feather cannot be read as Arrow IPC", lambda: vp.scan(path))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda t: t.drop(["text"]),
            r"part-1.parquet: there is no column 'text', which .*part-0.parquet has",
        ),
        (
            lambda t: t.set_column(2, "image", t["image"].cast(pa.list_(pa.float64()))),
            r"part-1.parquet, column 'image': list<.*double> values where .*part-0.parquet has list<.*float>",
        ),
        (
            lambda t: t.set_column(3, "text", pa.array(["word"], pa.string())),
            r"part-1.parquet, column 'text': string values where",
        ),
    ],
)
def test_a_schema_that_changes_between_files(parts, change, says):
    pq.write_table(change(table("list", 170, 171)), parts[1])
    refused(says, lambda: vp.scan(parts))


def test_fixed_lists_of_another_width_in_another_file(tmp_path):
    paths = [tmp_path / f"{width}.parquet" for width in (3, 4)]
    for width, path in zip((3, 4), paths, strict=True):
        column = pa.array([[1.0] * width] * 5, pa.list_(pa.float32(), width))
        pq.write_table(pa.table({"x": column}), path)
    refused(r"4.parquet, column 'x': fixed_size_list", lambda: vp.scan(paths))


def test_columns_that_are_not_read_may_change(parts):
    pq.write_table(table("list", 170, 171).drop(["note"]), parts[1])
    (image, _), _ = read_all(parts)
    np.testing.assert_array_equal(image, IMAGE)


@pytest.mark.parametrize("kind", ["list", "large list", FIXED])
def test_a_null_within_a_list(tmp_path, kind):
    rows = [[1.0, 2.0], None, [3.0, None], [4.0, 5.0]]
    types = {"list": pa.list_(pa.float32()), "large list": pa.large_list(pa.float32())}
    column = pa.array(rows * 50, types.get(kind, pa.list_(pa.float32(), 2)))
    pq.write_table(pa.table({"x": column.slice(1)}), tmp_path / "x.parquet")
    refused(r"x.parquet, column 'x', row 1: a null within the list", lambda: read_all(tmp_path / "x.parquet"))


@needs_nulls
def test_a_null_within_a_wide_list(tmp_path):
    rows = [[1.0] * 16, None, [2.0] * 16]
    rows.append([None, *[1.0] * 15])
    pq.write_table(pa.table({"x": pa.array(rows, pa.list_(pa.float32(), 16))}), tmp_path / "x.parquet")
    refused(r"x.parquet, column 'x', row 3: a null within the list", lambda: read_all(tmp_path / "x.parquet"))


@pytest.mark.parametrize("where", [0, 70, 130])
def test_ragged_lists(tmp_path, where):
    rows = [[1.0, 2.0]] * 200
    rows[where + 3] = [1.0, 2.0, 3.0]
    pq.write_table(pa.table({"x": rows}), tmp_path / "x.parquet", row_group_size=50)
    says = rf"x.parquet, column 'x', row {where + 3}: a list of 3 values where 2 were expected"
    refused(says, lambda: read_all(tmp_path / "x.parquet"))


@pytest.mark.parametrize("row", [1999, 2999], ids=["of a batch", "of the file"])
@pytest.mark.parametrize("compression", ["none", "snappy"])
def test_a_longer_list_as_the_last_row(tmp_path, row, compression):
    """Batches are of 2,000 rows: as many chunks as fit into 4 MB."""
    rows = [[1.0] * 512] * 3000
    rows[row] = [1.0] * 513
    column = pa.array(rows, pa.list_(pa.float32()))
    settings = {"compression": compression, "use_dictionary": False}
    pq.write_table(pa.table({"x": column}), tmp_path / "x.parquet", **settings)
    says = rf"x.parquet, column 'x', row {row}: a list of 513 values where 512 were expected"
    refused(says, lambda: list(vp.scan(tmp_path / "x.parquet").chunks(1000)))


@pytest.mark.parametrize("codec", ["snappy", "gzip", "brotli"])
def test_a_page_that_unpacks_to_fewer_bytes_than_it_states(tmp_path, codec):
    """What the heap held before must not come out as rows."""
    path = tmp_path / "x.parquet"
    values = np.random.default_rng(0).integers(50, size=60_000).astype(np.float32)
    table = pa.table({"x": pa.FixedSizeListArray.from_arrays(pa.array(values), 3)})
    pq.write_table(table, path, compression=codec, use_dictionary=False, data_page_size=2**22)
    data, chunk = path.read_bytes(), pq.read_metadata(path).row_group(0).column(0)
    sizes, at = [], 7  # where the header of the first page states its two sizes
    for _ in range(2):
        length = next(n for n in range(1, 6) if data[at + n - 1] < 128)
        sizes.append(sum((byte & 127) << 7 * n for n, byte in enumerate(data[at : at + length])) // 2)
        at += length + 1
    full, packed = sizes
    start = 4 + chunk.total_compressed_size - packed
    content = pa.Codec(codec).decompress(data[start : start + packed], full).to_pybytes()
    short = pa.Codec(codec).compress(content[: full // 2]).to_pybytes()
    data = data[:start] + short + data[start + len(short) :]
    data, _ = with_size(data, with_size(data, 7, full)[1] + 1, len(short))
    path.write_bytes(data)
    for _ in range(8):  # plant a number where the heap will be used again
        np.frombuffer(pa.allocate_buffer(full), dtype=np.uint8)[:] = 0x5A
    refused(r"x.parquet, from row 0 on", lambda: list(vp.scan(path).chunks(1000)))


FLIPS = """
import sys
import viewpass as vp

path, sound = sys.argv[1], open(sys.argv[1], "rb").read()
end = len(sound) - 8 - int.from_bytes(sound[-8:-4], "little")
n_refused = 0
for place in range(end, len(sound) - 8):
    for bit in (1, 2):
        changed = bytearray(sound)
        changed[place] ^= bit
        open(path, "wb").write(changed)
        try:
            list(vp.scan(path).chunks(10))
        except vp.DataError:
            n_refused += 1
print(n_refused)
"""


@pytest.mark.system
def test_no_bit_of_a_footer_ends_the_process(tmp_path):
    """PyArrow's description of a column chunk ends the process on some footers."""
    path = tmp_path / "x.parquet"
    plain = {"compression": "none", "use_dictionary": False, "store_schema": False, "write_statistics": False}
    pq.write_table(pa.table({"x": pa.array([[1.0, 2.0]] * 8, pa.list_(pa.float32()))}), path, **plain)
    done = subprocess.run([sys.executable, "-c", FLIPS, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]
    assert int(done.stdout) > 100


def test_a_footer_that_states_too_many_rows(tmp_path):
    """Nothing is allocated for rows that are not there."""
    path = tmp_path / "x.parquet"
    plain = {"compression": "none", "use_dictionary": False, "store_schema": False, "write_statistics": False}
    pq.write_table(pa.table({"x": pa.array([[1.0, 2.0]] * 8, pa.list_(pa.float32()))}), path, **plain)
    sound = path.read_bytes()
    end = len(sound) - 8 - int.from_bytes(sound[-8:-4], "little")
    eight, many = b"\x16\x10", b"\x16" + b"\x80" * 7 + b"\x01"  # 8 and 2^48, as the footer states numbers
    footer = sound[end:-8].replace(eight + b"\x19", many + b"\x19").replace(eight + b"&", many + b"&")
    path.write_bytes(sound[:end] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    assert vp.scan(path).n_rows == 2**48
    refused(r"x.parquet", lambda: vp.OPIMC(2).fit(vp.scan(path)))


@pytest.mark.parametrize("stated", [[0, 2, 2**30], [-(2**30), 0, 2], [0, 5, 4]])
@pytest.mark.parametrize("column", ["x", "id"])
@pytest.mark.parametrize("begin", [pa.ipc.new_file, pa.ipc.new_stream])
def test_offsets_of_an_arrow_file_that_point_elsewhere(tmp_path, stated, column, begin):
    """PyArrow trusts them, and would read the memory they point to."""
    table = pa.table({"x": [[1.0, 2.0], [3.0, 4.0]], "id": ["abc", "def"]})
    with begin(tmp_path / "x.arrow", table.schema) as writer:
        writer.write_table(table)
    sound = np.array({"x": [0, 2, 4], "id": [0, 3, 6]}[column], dtype=np.int32).tobytes()
    data = (tmp_path / "x.arrow").read_bytes()
    assert data.count(sound) == 1
    (tmp_path / "x.arrow").write_bytes(data.replace(sound, np.array(stated, dtype=np.int32).tobytes()))
    source = vp.scan(tmp_path / "x.arrow", id="id")
    refused(r"x.arrow, from row 0 on: it cannot be read", lambda: list(source.chunks(10)))
    opened = (pa.ipc.open_file if begin is pa.ipc.new_file else pa.ipc.open_stream)(tmp_path / "x.arrow")
    items = opened.read_all()
    refused(r"the table, from row 0 on: it cannot be read", lambda: list(vp.scan(items, id="id").chunks(10)))
    reader = pa.RecordBatchReader.from_batches(items.schema, items.to_batches())
    refused(r"failed at row 0", lambda: list(vp.scan(reader, id="id").chunks(10)))


def test_a_column_name_that_is_no_text(tmp_path):
    with pa.ipc.new_file(tmp_path / "x.arrow", pa.schema([("namename", pa.list_(pa.float32()))])):
        pass
    data = (tmp_path / "x.arrow").read_bytes()
    (tmp_path / "x.arrow").write_bytes(data.replace(b"namename", b"name\xffame"))
    refused(r"x.arrow cannot be read as Arrow IPC", lambda: vp.scan(tmp_path / "x.arrow"))


@pytest.mark.parametrize("width", [2**26, 2**31 - 1, 2**45])
def test_sparse_views_wider_than_memory_are_refused_at_once(tmp_path, monkeypatch, width):
    monkeypatch.setattr("viewpass.estimators.validation.memory_bytes", lambda: 2**34)
    entries = [{"indices": [3 * row, width - 1], "values": [1.0, 2.0]} for row in range(100)]
    kind = pa.struct({"indices": pa.list_(pa.int64()), "values": pa.list_(pa.float32())})
    field = pa.field("x", kind, metadata={"width": str(width)})
    pq.write_table(pa.table([pa.array(entries, kind)], pa.schema([field])), tmp_path / "x.parquet")
    says = rf"view 'x' has {width:,} columns: .* 3 clusters would need about [\d,]+ GiB of memory"
    refused(says, lambda: vp.OPIMC(3).fit(vp.scan(tmp_path / "x.parquet")))
    rows = scipy.sparse.csr_array((100, width))
    for estimator in (vp.OPIMC(3), vp.IMC(3), vp.ONMF(3)):
        refused(says, lambda: estimator.fit({"x": rows}))  # noqa: B023
    assert sum(chunk.n_rows for chunk in vp.scan(tmp_path / "x.parquet").chunks(10)) == 100


@pytest.mark.parametrize("note", ["9" * 25, "9" * 5000])
def test_a_width_that_no_matrix_has(tmp_path, note):
    kind = pa.struct({"indices": pa.list_(pa.int64()), "values": pa.list_(pa.float32())})
    field = pa.field("x", kind, metadata={"width": note})
    column = pa.array([{"indices": [1], "values": [1.0]}], kind)
    pq.write_table(pa.table([column], pa.schema([field])), tmp_path / "x.parquet")
    refused(r"view 'x', column 'x' is sparse", lambda: vp.scan(tmp_path / "x.parquet"))
    with pytest.raises(vp.SettingError, match=r"a view cannot have 1e.30 columns"):
        vp.scan(tmp_path / "x.parquet", views={"x": ("x", 10**30)})


def test_ids_that_are_no_text(tmp_path):
    broken = pa.Array.from_buffers(pa.string(), 2, [None, *pa.array([b"\xff", b"b"]).buffers()[1:]])
    pq.write_table(pa.table({"id": broken, "x": [[1.0], [2.0]]}), tmp_path / "x.parquet")
    source = vp.scan(tmp_path / "x.parquet", id="id")
    refused(r"x.parquet, column 'id', row 0 on: ids cannot be read", lambda: list(source.chunks(10)))


def test_a_partly_missing_row_names_the_file_and_its_row(parts):
    spoilt = table("list", 171, N).to_pydict()
    row = next(i for i, image in enumerate(spoilt["image"]) if image is not None and i > 100)
    spoilt["image"][row][3] = float("nan")
    pq.write_table(pa.table(spoilt, schema=table().schema), parts[2])
    says = (
        rf"view 'image', row {171 + row} \(row {row} of .*part-2.parquet, id 'item{171 + row}'\): "
        "1 of 8 values are NaN"
    )
    refused(says, lambda: vp.OPIMC(3, random_state=0).fit(vp.scan(parts, id="id")))


def test_a_failed_fit_leaves_the_model_as_it_was(parts):
    model = vp.OPIMC(3, chunk_size=50, random_state=0).fit(vp.scan(parts))
    before, labels, curve = model.statistics_, model.labels_, model.loss_curve_
    source = vp.scan(parts)
    parts[2].unlink()
    refused(r"the file no longer exists", lambda: model.fit(source))
    refused(r"the file no longer exists", lambda: model.partial_fit(source))
    assert model.statistics_ == before
    assert model.labels_ is labels
    assert len(model.loss_curve_) == len(curve)


def test_a_column_of_another_type_is_named_with_its_file(parts):
    refused(
        r"part-0.parquet: view 'note', column 'note' holds string values",
        lambda: vp.scan(parts, views="note"),
    )


@pytest.mark.parametrize("value", ["word", "1.5.2", "--"])
def test_a_word_where_a_csv_file_had_numbers(tmp_path, value):
    lines = ["a,b", *["1,2"] * 400_000, f"3,{value}"]
    (tmp_path / "x.csv").write_text("\n".join(lines))
    refused(rf"x.csv, from row \d+ on: .*{value}", lambda: read_all(tmp_path / "x.csv", views={"x": "*"}))


def test_whole_numbers_that_become_fractions_in_a_csv_file(tmp_path):
    lines = ["a,b", *["1,2"] * 400_000, "3,2.5", "4,"]
    (tmp_path / "x.csv").write_text("\n".join(lines))
    *_, last = vp.scan(tmp_path / "x.csv", views={"x": ["a", "b"]}).chunks(1000)
    np.testing.assert_array_equal(last.views[0], [[3, 2.5], [4, np.nan]])


def test_paths_that_do_not_exist(tmp_path):
    refused(r"none.parquet: there is no such file or folder", lambda: vp.scan(tmp_path / "none.parquet"))
    refused(r"\*.parquet: no file matches this pattern", lambda: vp.scan(str(tmp_path / "*.parquet")))
    refused(r"the folder holds no file with one of the endings .parquet", lambda: vp.scan(tmp_path))
    refused(r"memory://none: there is no such file or folder", lambda: vp.scan("memory://none"))
    refused(r"unknown://x cannot be opened", lambda: vp.scan("unknown://x"))


def test_files_of_several_kinds(tmp_path):
    pieces(tmp_path)
    pyarrow.feather.write_feather(table(), tmp_path / "items.feather")
    refused(r"items.feather is of format ipc, .*part-0.parquet of parquet", lambda: vp.scan(tmp_path))


def test_a_file_without_an_ending_is_known_by_its_first_bytes(tmp_path):
    (path,) = pieces(tmp_path)[:1]
    path.rename(tmp_path / "items")
    assert vp.scan(tmp_path / "items").n_rows == 170
    (tmp_path / "words").write_text("words")
    refused(r"words: unknown file format", lambda: vp.scan(tmp_path / "words"))


def test_a_stream_that_breaks_off():
    def batches():
        yield from table().to_batches(max_chunksize=100)[:2]
        raise RuntimeError("the line went dead")

    reader = pa.RecordBatchReader.from_batches(table().schema, batches())
    refused(r"RecordBatchReader failed at row 200: .*the line went dead", lambda: read_all(reader))


def test_only_the_columns_asked_for_are_read(tmp_path):
    path = tmp_path / "items.parquet"
    pq.write_table(table(), path, row_group_size=100)
    _spoil(path, "text")
    images = [chunk.views[0] for chunk in vp.scan(path, views=["image"]).chunks(64)]
    assert sum(map(len, images)) == N
    refused(r"items.parquet, from row \d+ on", lambda: list(vp.scan(path, views=["text"]).chunks(64)))


def test_row_groups_before_the_start_are_not_read(tmp_path):
    path = tmp_path / "items.parquet"
    pq.write_table(table(), path, row_group_size=100)
    _spoil(path, "image", groups=[0, 1])
    (chunk, *_) = vp.scan(path).chunks(64, 250)
    expected = IMAGE[250:256]
    np.testing.assert_array_equal(chunk.views[0][chunk.wanted(0)], expected[~np.isnan(expected[:, 0])])
    refused(r"items.parquet, from row \d+ on", lambda: list(vp.scan(path).chunks(64, 150)))


def _spoil(path, column, groups=None):
    about = pq.read_metadata(path)
    content = bytearray(path.read_bytes())
    for g in range(about.num_row_groups) if groups is None else groups:
        for c in range(about.num_columns):
            leaf = about.row_group(g).column(c)
            if leaf.path_in_schema.startswith(column):
                first = leaf.dictionary_page_offset or leaf.data_page_offset
                content[first : first + leaf.total_compressed_size] = b"\xff" * leaf.total_compressed_size
    path.write_bytes(content)


@pytest.mark.system
def test_without_pyarrow_the_extra_is_named(tmp_path):
    (tmp_path / "x.parquet").touch()
    np.save(tmp_path / "x.npy", np.eye(4))
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import viewpass as vp\n"
        f"print(vp.scan({str(tmp_path / 'x.npy')!r}).n_rows)\n"
        "try:\n"
        f"    vp.scan({str(tmp_path / 'x.parquet')!r})\n"
        "except vp.MissingExtraError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert re.search(r"^4\nvp.scan needs pyarrow.*pip install 'viewpass\[arrow\]'$", done.stdout.strip())
