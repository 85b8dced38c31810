"""Files in an S3 bucket, of a server on this machine: the same bits, and credentials that stay secret."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import viewpass as vp
from clusters import assert_same, content, made_rows, write_files
from viewpass.runs.folder import RunFolder
from viewpass.runs.run import Run, RunOptions, StoppedError

pytestmark = [
    pytest.mark.system,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

KEY, SECRET = "AKIATHISISNOKEY00000", "a-secret-that-nobody-may-read"
SETTINGS = {"random_state": 0, "sample_size": 500}


@pytest.fixture(scope="module")
def bucket(tmp_path_factory):
    """The address of a folder in a bucket, what is needed to read it, and the same files here."""
    server = pytest.importorskip("moto.server", reason="moto is not installed: make test-engines")
    s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed: make test-engines")
    here = tmp_path_factory.mktemp("items") / "files"
    local = write_files(here, made_rows(2000), (900,))
    running = server.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    endpoint = {"client_kwargs": {"endpoint_url": f"http://{host}:{port}"}}
    options = {"key": KEY, "secret": SECRET, **endpoint}
    there = s3fs.S3FileSystem(**options)
    there.call_s3("create_bucket", Bucket="items")
    there.put(str(here), "items/files", recursive=True)
    yield "s3://items/files/*.parquet", options, local
    running.stop()


def scanned(bucket):
    address, options, _ = bucket
    return vp.scan(address, id="item", storage_options=options)


def test_the_bits_of_local_files(bucket):
    mine, theirs = (vp.ViewPass(4, **SETTINGS).fit(one) for one in (scanned(bucket), bucket[2]))
    assert_same(mine, theirs)
    np.testing.assert_array_equal(mine.row_ids_, theirs.row_ids_)


def test_workers_have_the_credentials(bucket, client):
    mine = vp.dask.fit(vp.ViewPass(4, **SETTINGS), scanned(bucket), client=client)
    assert_same(mine, vp.ViewPass(4, **SETTINGS).fit(bucket[2]))


def test_credentials_are_neither_stored_nor_logged(bucket, tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG, "viewpass")
    path, stopped = tmp_path / "run", iter([False, True])
    run = Run(vp.ViewPass(4, verbose=1, **SETTINGS), scanned(bucket), RunFolder(path))
    run.folder.open(resume=False)
    run.begin()
    with pytest.raises(StoppedError):
        run.go(RunOptions(stopping=lambda: next(stopped, True)))
    check_secret(path, caplog, capfd)
    run.folder.close()
    again = Run(vp.ViewPass(4, verbose=1, **SETTINGS), scanned(bucket), RunFolder(path))
    again.folder.open(resume=True)
    again.resume()
    again.go(RunOptions())
    check_secret(path, caplog, capfd)
    assert content(vp.load(path / "model.viewpass")) == content(
        vp.ViewPass(4, verbose=1, **SETTINGS).fit(bucket[2])
    )


def check_secret(path, caplog, capfd):
    files = [file for file in path.rglob("*") if file.is_file()]
    assert files
    told = [file.read_bytes() for file in files] + [
        part.encode() for part in (caplog.text, *capfd.readouterr())
    ]
    assert not any(word.encode() in text for text in told for word in (KEY, SECRET))


def test_errors_keep_the_secret(bucket):
    _, options, _ = bucket
    for address in (
        "s3://items/nothing/*.parquet",
        "s3://nowhere/items.parquet",
        f"s3://{KEY}:{SECRET}@items/x",
    ):
        with pytest.raises(vp.DataError) as problem:
            vp.scan(address, storage_options=options)
        assert SECRET not in str(problem.value)
