# ruff: noqa: T201
"""`python tests/harm/fuzz_lists.py`: damaged Parquet files, read by viewpass and by PyArrow alone.

Every damaged file must give PyArrow's rows, or an error where PyArrow has one. The work is done in a process
of its own, because PyArrow itself ends the process on some files; those are counted, and left out. Files that
viewpass leaves to PyArrow before the first row are counted and not read any further.
"""

from __future__ import annotations

import argparse
import itertools
import json
import mmap
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from viewpass.kernels.backend import native
from viewpass.sources.arrow import formats
from viewpass.sources.arrow.formats import Parquet
from viewpass.sources.files import find_files

NAMES = ["image", "text"]
N_ROWS = 30
SETTINGS = [
    {"use_dictionary": False, "compression": "none"},
    {"use_dictionary": False, "compression": "none", "data_page_version": "2.0"},
    {"use_dictionary": True, "compression": "none"},
    {"use_dictionary": True, "compression": "none", "dictionary_pagesize_limit": 64},
    {"use_dictionary": False, "compression": "snappy"},
    {"use_dictionary": True, "compression": "snappy", "data_page_version": "2.0"},
    {"use_dictionary": False, "compression": "zstd"},
    {"use_dictionary": True, "compression": "zstd", "write_page_checksum": True},
    {"use_dictionary": False, "compression": "gzip"},
]
MOST_MEMORY = 3 * 2**30
MOST_SECONDS = 60  # for one file, before the process is ended
HARM = {
    "other rows",
    "accepted where PyArrow refuses",
    "error where PyArrow reads",
    "viewpass crashed",
    "viewpass hung",
}
PYARROW, VIEWPASS = 1, 2  # who is reading
PROGRESS = struct.Struct("<qq")  # number of the file, who is reading


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--files", type=int, default=3000, help="how many damaged files to read")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="a folder for files that were read differently")
    parser.add_argument("--seeds", type=Path, help="a folder to fill with inputs for native/fuzz, and end")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--start", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--crashed", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.seeds:
        _write_seeds(options.seeds)
        return 0
    if options.child:
        _child(options)
        return 0
    with tempfile.TemporaryDirectory(prefix="viewpass-fuzz-") as folder:
        counts = _supervise(options, Path(folder))
    print(json.dumps(counts, indent=1, sort_keys=True))
    return int(any(counts[kind] for kind in HARM))


def _supervise(options: argparse.Namespace, folder: Path) -> Counter[str]:
    """Start a child at the first file, and another after each one that a child did not survive."""
    counts: Counter[str] = Counter()
    progress = folder / "progress"
    progress.write_bytes(PROGRESS.pack(0, 0))
    start, crashed = 0, False
    while start < options.files:
        command = [sys.executable, __file__, "--child", str(folder), "--start", str(start)]
        command += ["--files", str(options.files), "--seed", str(options.seed)]
        command += ["--crashed"] if crashed else []
        command += ["--keep", str(options.keep)] if options.keep else []
        with (folder / "found").open("w") as found:
            child = subprocess.Popen(command, stdout=found)
            hung = _wait(child, progress)
        counts.update((folder / "found").read_text().splitlines())
        if child.returncode == 0:
            break
        if child.returncode == 1:
            raise SystemExit("this script has an error")
        start, reader = PROGRESS.unpack(progress.read_bytes())
        crashed = reader == VIEWPASS and not hung  # by PyArrow's doing?
        if not crashed:
            counts[f"{'PyArrow' if reader == PYARROW else 'viewpass'} {'hung' if hung else 'crashed'}"] += 1
            start += 1
    counts["files"] = options.files
    return counts


def _wait(child: subprocess.Popen[bytes], progress: Path) -> bool:
    last, since = b"", time.monotonic()
    while child.poll() is None:
        time.sleep(0.05)
        now = progress.read_bytes()
        if now != last:
            last, since = now, time.monotonic()
        elif time.monotonic() - since > MOST_SECONDS:
            child.kill()
            child.wait()
            return True
    return False


# ---- the child


def _child(options: argparse.Namespace) -> None:
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    formats.BUFFER, formats.SMALL_FILE = 2**12, 0  # small files are read as large ones are
    formats.pq.ParquetFile = _Watched
    folder = options.child
    sound = [(data, _places(data)) for data in _sound_files(folder)]
    path = folder / "damaged.parquet"
    with (folder / "progress").open("r+b") as opened, mmap.mmap(opened.fileno(), PROGRESS.size) as progress:
        for number in range(options.start, options.files):
            rng = np.random.default_rng([options.seed, number])
            data, places = sound[rng.integers(len(sound))]
            damaged = _damaged(data, places, rng)
            path.write_bytes(damaged)
            size = int(rng.choice([2, 7, 16, 1000]))
            if options.crashed and number == options.start:
                progress[:] = PROGRESS.pack(number, PYARROW)
                _read(path, size, plain=False)
                verdict = "viewpass crashed"
            else:
                progress[:] = PROGRESS.pack(number, VIEWPASS)
                mine = _read(path, size, plain=True)
                verdict = "left to PyArrow at once"
                if not isinstance(mine, _AtOnceError):
                    progress[:] = PROGRESS.pack(number, PYARROW)
                    verdict = _verdict(mine, _read(path, size, plain=False))
            if options.keep and verdict in HARM:
                options.keep.mkdir(parents=True, exist_ok=True)
                kept = f"{verdict.replace(' ', '-')}-{options.seed}-{number}-{size}.parquet"
                (options.keep / kept).write_bytes(damaged)
            os.write(1, f"{verdict}\n".encode())


class _AtOnceError(Exception):
    """PyArrow is to read all rows: there is nothing to compare."""


class _Watched(pq.ParquetFile):
    """Ends a reading in which PyArrow is asked for rows before there are any others."""

    batches: ClassVar[list[pa.RecordBatch] | None] = None

    def iter_batches(self, *arguments, **names):
        if self.batches == []:
            raise _AtOnceError
        return super().iter_batches(*arguments, **names)


def _read(path: Path, size: int, plain: bool) -> pa.Table | Exception:
    """The rows, or an error; not `plain`: by PyArrow alone."""
    real = formats.plain_lists
    batches: list[pa.RecordBatch] = []
    _Watched.batches = batches if plain else None
    if not plain:
        formats.plain_lists = lambda opened, columns: []
    try:
        (file,) = find_files(path)
        for _, rows in Parquet().read(file, NAMES, size, 0):
            batches.append(rows)
        return pa.Table.from_batches(batches) if batches else pa.table({})
    except Exception as problem:
        return problem
    finally:
        formats.plain_lists = real


def _verdict(mine: pa.Table | Exception, theirs: pa.Table | Exception) -> str:
    if isinstance(theirs, MemoryError):
        return "PyArrow lacks memory"
    if isinstance(theirs, Exception):
        return "both refuse" if isinstance(mine, Exception) else "accepted where PyArrow refuses"
    if isinstance(mine, Exception):
        return "error where PyArrow reads"
    return "same rows" if _contents(mine) == _contents(theirs) else "other rows"


def _contents(table: pa.Table) -> list[object]:
    """What is comparable to the last bit: which lists are there, how long, of which numbers."""
    found: list[object] = [table.num_rows, table.schema.names, table.schema.types]
    for column in table.columns:
        lists = column.combine_chunks()
        if not hasattr(lists, "flatten") or pa.types.is_struct(lists.type):
            found.append(repr(lists.to_pylist()))
            continue
        values = lists.flatten()
        lengths = pa.compute.list_value_length(lists)
        found += [lists.is_valid().to_pylist(), lengths.to_pylist(), values.is_valid().to_pylist()]
        simple = pa.types.is_floating(values.type)
        found.append(values.fill_null(0).to_numpy().tobytes() if simple else repr(values.to_pylist()))
    return found


# ---- files


def _sound_files(folder: Path) -> list[bytes]:
    files = []
    for number, settings in enumerate(SETTINGS):
        for kind in ("list", "fixed", "large", "required")[number % 2 :: 2]:
            for item in (pa.float32(), pa.float64()):
                path = folder / "sound.parquet"
                few = bool(settings["use_dictionary"])
                small = {"data_page_size": 100, "write_batch_size": 5, "row_group_size": 17}
                pq.write_table(_table(kind, item, few), path, **small, **settings)
                files.append(path.read_bytes())
    return files


def _table(kind: str, item: pa.DataType, few: bool) -> pa.Table:
    rng = np.random.default_rng(0)
    columns, fields = [], []
    for name, width in zip(NAMES, (9, 3), strict=True):
        values = rng.integers(0, 5, (N_ROWS, width)) if few else rng.standard_normal((N_ROWS, width))
        gone = rng.random(N_ROWS) < (0 if kind == "required" else 0.3)
        element = pa.field("element", item, nullable=kind != "required")
        type = pa.list_(element, width) if kind == "fixed" else pa.list_(element)
        type = pa.large_list(element) if kind == "large" else type
        lists = [None if absent else row.tolist() for row, absent in zip(values, gone, strict=True)]
        fields.append(pa.field(name, type, nullable=kind != "required"))
        columns.append(pa.array(lists, type))
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _places(data: bytes) -> list[tuple[int, int]]:
    """Where page headers lie, where the first bytes of pages (their levels), and the footer."""
    size = int.from_bytes(data[-8:-4], "little")
    end = len(data) - 8 - size
    footer = np.frombuffer(data[end:-8], dtype=np.uint8)
    headers, starts = [], []
    for column in range(len(NAMES)):
        for is_double, value_level in itertools.product((False, True), (1, 2, 3)):
            try:
                chunks = native.column_chunks(footer, end, column, is_double, value_level)
            except ValueError:
                continue
            for chunk in chunks:
                at = chunk.first
                while at < chunk.first + chunk.length:
                    header = native.page_header(np.frombuffer(data, dtype=np.uint8)[at:end])
                    headers.append((at, at + header.length))
                    at += header.length + header.packed_size
                    starts.append((at - header.packed_size, min(at, at - header.packed_size + 40)))
    return [(4, end), (end, len(data)), *headers, *starts]


def _write_seeds(folder: Path) -> None:
    """Columns of sound files and what the footer says of them, in the form that native/fuzz reads."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(_sound_files(folder)):
        (folder / "sound.parquet").write_bytes(data)
        with pq.ParquetFile(folder / "sound.parquet") as opened:
            lists = formats.plain_lists(opened, NAMES)
            about = [opened.metadata.row_group(0).column(column.leaf) for column in lists]
        end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
        footer = bytes([7 << 5, 0, 0, 255, 255, 1]) + data[end:-8]
        (folder / f"footer-{number}").write_bytes(footer)
        for column, chunk in zip(lists, about, strict=True):
            if chunk.compression != "UNCOMPRESSED":
                continue
            first = chunk.dictionary_page_offset or chunk.data_page_offset
            flags = (column.dtype.itemsize == 8) | column.nullable << 1 | column.value_level << 2
            claims = struct.pack("<BBBHB", flags, 0, 17, chunk.num_values, 3)
            pages = data[first : first + chunk.total_compressed_size]
            (folder / f"pages-{number}-{column.leaf}").write_bytes(claims + pages)
    (folder / "sound.parquet").unlink()


def _damaged(sound: bytes, places: list[tuple[int, int]], rng: np.random.Generator) -> bytes:
    data = bytearray(sound)
    if rng.random() < 0.02:
        return bytes(data[: rng.integers(len(data))])
    for _ in range(1 + rng.poisson(0.5)):
        choice = rng.random()
        first, end = places[0 if choice < 0.2 else 1 if choice < 0.4 else rng.integers(len(places))]
        if first >= len(data):
            continue
        end = min(end, len(data))
        at = int(rng.integers(first, end))
        match rng.integers(6):
            case 0 | 1:
                data[at] ^= 1 << rng.integers(8)
            case 2:
                data[at] = rng.integers(256)
            case 3:
                data[at] = (data[at] + rng.choice([-2, -1, 1, 2])) % 256
            case 4:  # bytes of another place
                other = places[rng.integers(len(places))]
                length = int(rng.integers(1, 12))
                part = data[other[0] : other[0] + length]
                data[at : at + len(part)] = part
            case 5:  # bytes moved: one more, one less
                length = int(rng.integers(1, 4))
                stop = max(end - length, at)
                if rng.random() < 0.5:
                    data[at:end] = data[at + length : end] + bytes(min(length, end - at))
                else:
                    data[at : at + length], data[stop:end] = bytes(length), b""
    return bytes(data)


if __name__ == "__main__":
    sys.exit(main())
