"""Reading ahead changes when items are produced, not which; and no thread outlives its use."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import viewpass as vp
from viewpass.sources.arrow import chunks
from viewpass.sources.arrow.tables import TableReader
from viewpass.sources.source import ahead


def readers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("viewpass-reader")]


@pytest.fixture(autouse=True)
def _no_thread_is_left():
    yield
    assert readers() == []


@pytest.mark.parametrize("n_items", [0, 1, 2, 3, 50])
@pytest.mark.parametrize("depth", [1, 2, 7])
def test_the_same_items_in_the_same_order(n_items, depth):
    assert list(ahead(iter(range(n_items)), depth)) == list(range(n_items))


def test_no_more_than_a_few_items_wait():
    made = []

    def items():
        for item in range(100):
            made.append(item)
            yield item

    for item in ahead(items(), depth=2):
        assert len(made) <= item + 3
        time.sleep(0.001)


def test_items_are_made_while_others_are_used():
    begun = threading.Event()

    def items():
        yield 0
        begun.set()
        yield 1

    for item in ahead(items()):
        if item == 0:
            assert begun.wait(timeout=300)


def test_rows_that_are_not_wanted_are_not_decoded(tmp_path, monkeypatch):
    table = pa.table({"v": pa.FixedSizeListArray.from_arrays(np.arange(4000.0), 4)})
    pq.write_table(table, tmp_path / "rows.parquet")
    decoded = []
    reader = TableReader.batches

    def counted(*given):
        for batch in reader(*given):
            decoded.append(len(batch))
            yield batch

    monkeypatch.setattr(TableReader, "batches", counted)
    monkeypatch.setattr(chunks, "DECODED_BYTES", 1)
    source = vp.scan(tmp_path / "rows.parquet")
    assert sum(chunk.n_rows for chunk in source.until(300).chunks(100, 100)) == sum(decoded) == 200


def test_an_error_comes_in_its_place():
    def items():
        yield 1
        raise ValueError("broken")

    read = ahead(items())
    assert next(read) == 1
    with pytest.raises(ValueError, match="broken"):
        next(read)


@pytest.mark.parametrize("way", ["closed", "forgotten", "left by an error"])
def test_the_thread_ends_when_reading_stops_early(way):
    ended = threading.Event()

    def items():
        try:
            yield from range(1000)
        finally:
            ended.set()

    read = ahead(items())
    next(read)
    if way == "closed":
        read.close()
    elif way == "left by an error":
        with pytest.raises(RuntimeError):
            read.throw(RuntimeError("stop"))
    del read
    gc.collect()
    assert ended.wait(timeout=300)


ENDS = {"": 0, "raise SystemExit(3)": 3, "raise RuntimeError('x')": 1, "import os; os._exit(3)": 3}


@pytest.mark.system
@pytest.mark.parametrize("end", ENDS)
def test_the_interpreter_exits_with_items_still_to_come(end):
    program = (
        "from viewpass.sources.source import ahead\n"
        "import itertools\n"
        "read = ahead(itertools.count())\n"
        "assert next(read) == 0\n" + end
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert done.returncode == ENDS[end], done.stderr
