"""Files of a table: formats, URLs and their options, folder names that are columns, order, duplicates."""

from __future__ import annotations

import gzip
import json
import os
import pickle
from typing import ClassVar

import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import viewpass as vp
from fixed_lists import needs_nulls
from tables import FORMS, IMAGE, TEXT, WIDE, N, lists, pieces, rows_of, table
from viewpass.sources.arrays import ArraySource

FIXED_LISTS = pytest.param("Parquet, fixed lists", marks=needs_nulls)


def same_rows(source):
    (image, text), _ = rows_of(source, 64)
    np.testing.assert_array_equal(image, IMAGE)
    np.testing.assert_array_equal(text, TEXT)


@pytest.mark.parametrize("form", ["Feather", "IPC stream", "CSV", "Parquet, lists", FIXED_LISTS])
def test_every_format_is_read_from_an_address(tmp_path, form):
    path = FORMS[form](tmp_path)
    address = f"memory://{tmp_path.name}/{path.name}"
    fsspec.filesystem("memory").pipe(f"/{tmp_path.name}/{path.name}", path.read_bytes())
    same_rows(vp.scan(address, views=WIDE if form == "CSV" else ["image", "text"], id="id"))
    same_rows(vp.scan(f"memory://{tmp_path.name}", views=WIDE if form == "CSV" else None, id="id"))


class Guarded(MemoryFileSystem):
    """Files in memory that can be opened only with a token; `tokens` are those of its constructor."""

    protocol = "guarded"
    store: ClassVar = {}
    pseudo_dirs: ClassVar = [""]
    tokens: ClassVar = []

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.replace("guarded://", "memory://"))

    def __init__(self, token=None, **options):
        super().__init__(**options)
        self.tokens.append(token)
        self._token = token

    def _open(self, path, mode="rb", **options):
        if self._token != "secret":
            raise PermissionError("wrong token")
        return super()._open(path, mode, **options)


OPTIONS = {"token": "secret"}


@pytest.fixture
def guarded(tmp_path):
    """The URL of a folder of Parquet files that need a token."""
    fsspec.register_implementation("guarded", Guarded, clobber=True)
    Guarded.clear_instance_cache()
    system = fsspec.filesystem("guarded", **OPTIONS)
    for path in pieces(tmp_path / "local"):
        system.pipe(f"/items/{path.name}", path.read_bytes())
    Guarded.clear_instance_cache()
    Guarded.tokens.clear()
    yield "guarded://items"
    Guarded.store.clear()


@pytest.mark.parametrize("below", ["", "/*.parquet", "/part-{}.parquet"])
def test_storage_options_reach_the_file_system(guarded, below):
    url = [guarded + below.format(n) for n in range(3)] if "{}" in below else guarded + below
    same_rows(vp.scan(url, storage_options=OPTIONS))
    assert set(Guarded.tokens) == {"secret"}
    with pytest.raises(vp.DataError, match=r"part-0.parquet.*wrong token"):
        vp.scan(url)


def test_storage_options_are_used_whenever_files_are_opened(guarded):
    source = vp.scan(guarded, storage_options=OPTIONS)
    settings = {"n_clusters": 3, "chunk_size": 64, "n_passes": 2, "random_state": 0}
    arrays = {"image": IMAGE, "text": TEXT}
    assert vp.OPIMC(**settings).fit(source).statistics_ == vp.OPIMC(**settings).fit(arrays).statistics_
    assert source.span(64, 64).start == 64
    sent = pickle.dumps(source)
    Guarded.clear_instance_cache()  # as in a worker, which constructs the file system from the pickle
    Guarded.tokens.clear()
    same_rows(pickle.loads(sent))
    assert Guarded.tokens == ["secret"]


def test_storage_options_are_not_part_of_the_identity(guarded):
    identity = vp.scan(guarded, storage_options=OPTIONS).identity()
    assert "secret" not in json.dumps(identity)
    assert identity == vp.scan(guarded, storage_options={**OPTIONS, "skip_instance_cache": True}).identity()


def test_storage_options_that_do_not_apply_are_refused(tmp_path):
    path = FORMS["Parquet, lists"](tmp_path)
    np.save(tmp_path / "x.npy", np.eye(4))
    for local in (path, str(path), [path], str(tmp_path / "*.parquet"), path.as_uri(), tmp_path / "x.npy"):
        with pytest.raises(vp.SettingError, match=r"storage_options= was given, but .* is a local path"):
            vp.scan(local, storage_options=OPTIONS)
    for data in (table(), table().to_reader(), pd.DataFrame(IMAGE), {"x": tmp_path / "x.npy"}):
        with pytest.raises(vp.SettingError, match=rf"was given with a {type(data).__name__}"):
            vp.scan(data, storage_options=OPTIONS)
    with pytest.raises(vp.SettingError, match=r"storage_options is a str; expected a dict"):
        vp.scan("memory://items", storage_options="secret")
    same_rows(vp.scan(path, storage_options={}))


def test_storage_options_that_the_file_system_does_not_know(tmp_path):
    with pytest.raises(vp.DataError, match=r"memory://x cannot be opened: .*keywords must be strings"):
        vp.scan("memory://x", storage_options={7: 1})


@pytest.mark.parametrize("name", ["http:items", "s3:", "a::b", "file:x", "x%20y", "C:"])
def test_a_file_whose_name_looks_like_a_url(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    FORMS["Parquet, lists"](tmp_path).rename(tmp_path / f"{name}.parquet")
    for given in (f"{name}.parquet", f"./{name}.parquet", tmp_path / f"{name}.parquet"):
        same_rows(vp.scan(given))


def test_a_folder_whose_name_looks_like_a_url(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items" / "s3:" / "x").mkdir(parents=True)
    FORMS["Parquet, lists"](tmp_path).rename(tmp_path / "items/s3:/x/a.parquet")
    for given in ("items/s3://x/a.parquet", "items/s3:/x", "items"):
        same_rows(vp.scan(given))


def test_pipes_and_devices_are_refused_at_once(tmp_path):
    """A pipe with something in it, so that a reader would go on."""
    (tmp_path / "items").mkdir()
    for path in (tmp_path / "items" / "x.parquet", tmp_path / "pipe", tmp_path / "x.npy", tmp_path / "x.npz"):
        os.mkfifo(path)
        pipe = os.open(path, os.O_RDWR)
        os.write(pipe, b"PAR1 and more")
        for given in (path, path.parent / "*" / path.name, {"x": path}):
            with pytest.raises(vp.DataError, match=r"is a pipe, not an? .*file|no file matches"):
                vp.scan(given if isinstance(given, dict) else str(given))
        os.close(pipe)
    with pytest.raises(vp.DataError, match=r"x.parquet is a pipe, not a file"):
        vp.scan(tmp_path / "items")
    with pytest.raises(vp.DataError, match=r"/dev/zero is a device, not a file"):
        vp.scan("/dev/zero")


def test_a_path_with_a_zero_byte(tmp_path):
    with pytest.raises(vp.DataError, match=r"a path cannot hold a zero byte"):
        vp.scan(f"{tmp_path}/a\0.parquet")


def test_arrays_at_a_url_are_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(4))
    fsspec.filesystem("memory").pipe("/arrays/x.npy", (tmp_path / "x.npy").read_bytes())
    with pytest.raises(vp.DataError, match=r"memory://.*x.npy: npy, npz and mat files must be local files"):
        vp.scan("memory://arrays/x.npy")


def test_a_compressed_csv_file(tmp_path):
    path = FORMS["CSV"](tmp_path)
    (tmp_path / "items.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    same_rows(vp.scan(tmp_path / "items.csv.gz", views=WIDE, id="id"))


def test_a_table_with_tabs(tmp_path):
    path = FORMS["CSV"](tmp_path)
    (tmp_path / "items.tsv").write_text(path.read_text().replace(",", "\t"))
    same_rows(vp.scan(tmp_path / "items.tsv", views=WIDE, id="id"))


def test_folders_with_keys_give_columns(tmp_path):
    folder = FORMS["hive folder"](tmp_path)
    source = vp.scan(folder, id="year")
    years = np.concatenate([chunk.row_ids for chunk in source.chunks(64)])
    assert years.dtype == np.int64
    np.testing.assert_array_equal(years, np.repeat([2020, 2021, 2022], [170, 230, 100]))
    as_view = np.concatenate([chunk.views[0] for chunk in vp.scan(folder, views=["year"]).chunks(64)])
    np.testing.assert_array_equal(as_view[:, 0], years)


def test_keys_of_folders_as_pandas_writes_them(tmp_path):
    frame = pd.DataFrame({"kind": ["b", "a", "a"], "x": [[1.0], [2.0], [3.0]], "id": [7, 8, 9]})
    frame.to_parquet(tmp_path / "items", partition_cols=["kind"])
    source = vp.scan(tmp_path / "items", id="kind")
    assert source.n_rows == 3
    assert [chunk.row_ids.tolist() for chunk in source.chunks(10)] == [["a", "a", "b"]]


def test_a_key_without_a_value_is_null(tmp_path):
    folder = tmp_path / "items" / "kind=__HIVE_DEFAULT_PARTITION__"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"x": [[1.0]]}), folder / "a.parquet")
    with pytest.raises(vp.DataError, match=r"column 'kind', row 0: the id is null"):
        list(vp.scan(tmp_path / "items", id="kind").chunks(10))


def test_paths_keep_the_order_they_are_given_in(tmp_path):
    paths = pieces(tmp_path)
    (image, _), _ = rows_of(vp.scan(paths[::-1]), 64)
    np.testing.assert_array_equal(image, np.concatenate([IMAGE[171:], IMAGE[170:171], IMAGE[:170]]))


def test_a_file_given_twice_is_refused(tmp_path):
    paths = pieces(tmp_path)
    with pytest.raises(vp.DataError, match=r"part-1.parquet is given twice"):
        vp.scan([str(tmp_path / "*.parquet"), paths[1]])


def test_files_of_temporary_folders_and_hidden_ones_are_passed_over(tmp_path):
    paths = pieces(tmp_path / "items")
    for name in ("_temporary/part-9.parquet", ".part-9.parquet.crc", ".hidden.parquet"):
        path = tmp_path / "items" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(paths[0].read_bytes())
    same_rows(vp.scan(tmp_path / "items"))


def test_empty_files_add_nothing(tmp_path):
    paths = pieces(tmp_path)
    pq.write_table(table("list", 0, 0), tmp_path / "part-1a.parquet")
    same_rows(vp.scan([paths[0], tmp_path / "part-1a.parquet", *paths[1:]]))
    with pytest.raises(vp.DataError, match=r"no rows"):
        vp.OPIMC(2).fit(vp.scan(tmp_path / "part-1a.parquet"))


def test_names_of_columns_may_hold_anything(tmp_path):
    odd = pa.table({"a.b": lists(IMAGE), "a b": lists(TEXT), 'say "x", ü': range(N)})
    pq.write_table(odd, tmp_path / "odd.parquet")
    views = {"image": "a.b", "text": "a b"}
    same_rows(vp.scan(tmp_path / "odd.parquet", views=views, id='say "x", ü'))


def test_the_identity_does_not_depend_on_where_the_folder_is(tmp_path):
    paths = pieces(tmp_path / "here")
    identity = vp.scan(tmp_path / "here").identity()
    (tmp_path / "here").rename(tmp_path / "there")
    assert vp.scan(tmp_path / "there").identity() == identity
    assert str(tmp_path) not in json.dumps(identity)
    pq.write_table(table("list", 1, 171), tmp_path / "there" / paths[0].name, row_group_size=60)
    assert vp.scan(tmp_path / "there").identity() != identity


@pytest.mark.parametrize("make", ["arrays", "frames"])
def test_sources_in_memory_follow_the_same_contract(make):
    frames = {
        "image": pd.DataFrame(IMAGE).dropna(),
        "text": pd.DataFrame(TEXT).dropna(),
    }
    source = ArraySource({"image": IMAGE, "text": TEXT}) if make == "arrays" else vp.frames(frames)
    assert source.rereadable
    whole = list(source.chunks(64))
    late = list(source.chunks(64, 100))
    assert [chunk.start for chunk in late] == [100, *range(128, source.n_rows, 64)]
    np.testing.assert_array_equal(late[0].views[0], whole[1].views[0][36:])
    identity = source.identity()
    assert json.loads(json.dumps(identity)) == identity
    other = {name: frame[:-1] for name, frame in frames.items()}
    changed = ArraySource({"image": IMAGE[:-1], "text": TEXT[:-1]}) if make == "arrays" else vp.frames(other)
    assert changed.identity() != identity
